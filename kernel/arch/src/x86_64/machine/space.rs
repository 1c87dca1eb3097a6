// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The address space of a program: page tables made from a list of segments before the program starts.
//!
//! The host makes one per process, changes rights where a program asks for it, and gives memory to addresses that a
//! program had reserved without it. User mode reaches only memory that a
//! segment names and that lies in [`Ram`]: the kernel's memory is never mapped for it.

use super::super::paging::Entries;
use super::directory::{Directory, Mapping, Pages, Refused, Run, Segment, Stretch, user_range};
use super::locked::Locked;
use super::view::Machine;
use super::ram::Ram;
use super::settings;
use super::state::STATE;
use super::tables::{copy_upper_half, entry, fill, zero};
use core::sync::atomic::Ordering;
use tacet_logic::paging::{Attributes, Encoding, Entry, Leaf, PageSize, Protection};

const PAGE_BYTES: u64 = 4096;

/// Pages for page tables. All CPUs may take some at once.
#[derive(Clone, Copy)]
pub struct Tables {
    pool: &'static Locked<Pool>,
}

/// Pages from `next` to `end` were never used; the others form a list: a free page begins with the next one's address.
struct Pool {
    next: u64,
    end: u64,
    list: u64,
    free: u32,
}

impl Tables {
    pub(super) fn make(machine: &mut Machine, pages: u32) -> Option<Self> {
        let next = machine.take(u64::from(pages) * PAGE_BYTES, PAGE_BYTES)?;
        let mut pool = Some(Pool { next, end: next + u64::from(pages) * PAGE_BYTES, list: 0, free: pages });
        let pools = machine.keep(1, |_| pool.take().map(Locked::new))?;
        Some(Self { pool: pools.first()?.as_ref()? })
    }

    /// How many pages nobody uses.
    pub fn free(&self) -> u32 {
        self.pool.with(|pool| pool.free)
    }
}

impl Pages for Tables {
    fn load(&self, table: u64, index: usize) -> u64 {
        entry(table, index).load(Ordering::Acquire)
    }

    fn store(&mut self, table: u64, index: usize, value: u64) {
        entry(table, index).store(value, Ordering::Release);
    }

    fn fill(&mut self, table: u64, first: usize, run: Run) -> Result<(), u64> {
        fill(table, first, run)
    }

    fn allocate(&mut self) -> Option<u64> {
        let page = self.pool.with(|pool| {
            let page = match pool.list {
                0 if pool.next == pool.end => return None,
                0 => {
                    pool.next += PAGE_BYTES;
                    pool.next - PAGE_BYTES
                }
                page => {
                    pool.list = entry(page, 0).load(Ordering::Relaxed);
                    page
                }
            };
            pool.free -= 1;
            Some(page)
        })?;
        zero(page, PAGE_BYTES);
        Some(page)
    }

    fn free(&mut self, table: u64) {
        self.pool.with(|pool| {
            entry(table, 0).store(pool.list, Ordering::Relaxed);
            pool.list = table;
            pool.free += 1;
        });
    }
}

/// One program's page tables. Given back by [`Space::end`].
pub struct Space {
    root: u64,
    tables: Tables,
}

impl Space {
    /// Maps the segments. An address outside of them faults.
    pub fn new(tables: Tables, ram: Ram, segments: impl IntoIterator<Item = Segment>) -> Result<Self, Refused> {
        let mut pages = tables;
        let root = pages.allocate().ok_or(Refused::NoTable)?;
        copy_upper_half(STATE.with(|state| state.root), root);
        let mut space = Self { root, tables };
        for segment in segments {
            if let Err(refused) = space.map(ram, segment) {
                space.end();
                return Err(refused);
            }
        }
        Ok(space)
    }

    /// Maps one more segment. After an error some of it may be mapped.
    pub fn map(&mut self, ram: Ram, segment: Segment) -> Result<(), Refused> {
        let Segment { address, physical, bytes, page, rights } = segment;
        user_range(address, bytes)?;
        if !ram.has(physical, bytes) {
            return Err(Refused::NotRam(physical));
        }
        let largest = if settings::has_gib_pages() { page } else { page.min(PageSize::Mib2) };
        let attributes = Attributes { protection: rights, policy: 0, eager: true, small: false, undumped: false };
        let leaf = |at: u64, size| {
            Entries::encode(Entry::Leaf(Leaf { frame: at >> 12, attributes, mirrored: false, pending: false }), size)
        };
        self.directory().map(Mapping { address, physical, bytes, largest }, leaf)
    }

    fn directory(&mut self) -> Directory<'_, Tables> {
        Directory { root: self.root, pages: &mut self.tables }
    }

    /// The root, for [`Processor::load_space`](crate::Processor::load_space) and `flush`.
    pub fn root(&self) -> u64 {
        self.root
    }

    /// Gives the pages other rights: large pages that are only partly meant are split. After an error nothing that the
    /// program sees has changed. The caller then flushes (`Processor::flush`).
    pub fn protect(&mut self, address: u64, bytes: u64, rights: Protection) -> Result<(), Refused> {
        self.directory().protect(address, bytes, rights)
    }

    /// Where `address` is mapped: the physical address, how many bytes follow in the same page (at least 1), and the
    /// rights. Rights may be none.
    pub fn find(&self, address: u64) -> Option<(u64, u64, Protection)> {
        let mut pages = self.tables;
        Directory { root: self.root, pages: &mut pages }.find(address)
    }

    /// What is at `address`, and how far it goes on before `end`, which is a program's and larger.
    pub fn stretch(&self, address: u64, end: u64) -> Stretch {
        let mut pages = self.tables;
        Directory { root: self.root, pages: &mut pages }.stretch(address, end)
    }

    /// Takes pages out of the space. The caller then flushes, before it gives the memory to anybody.
    pub fn unmap(&mut self, address: u64, bytes: u64) -> Result<(), Refused> {
        self.directory().unmap(address, bytes)
    }

    /// Gives the tables back. No CPU has them loaded: each has left the space (`Processor::leave_space`), or has
    /// loaded another.
    pub fn end(mut self) {
        self.directory().end();
    }
}
