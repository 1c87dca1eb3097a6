// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The address space of a program: page tables made once from a list of segments.
//!
//! The host makes one per process and changes rights where a program asks for it. What user mode can reach is what the
//! segments say and lies in [`Ram`]: the kernel's memory is never mapped for it.

use super::ram::Ram;
use core::fmt;
use tacet_logic::paging::{PageSize, Protection};

/// A contiguous part of an address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub address: u64,
    pub physical: u64,
    pub bytes: u64,
    /// The largest pages to use; smaller ones are used where the addresses are not aligned for it.
    pub page: PageSize,
    pub rights: Protection,
}

/// Pages for page tables. All CPUs may take some at once.
#[derive(Clone, Copy)]
pub struct Tables {
    _private: (),
}

impl Tables {
    /// How many pages nobody uses.
    pub fn free(&self) -> u32 {
        0
    }
}

/// The reason why an address space cannot be so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// An address or a length is not a multiple of 4 KiB, or the length is 0.
    Misaligned(u64),
    /// Not an address of programs.
    Outside(u64),
    /// Not in the RAM of programs: the physical address.
    NotRam(u64),
    /// Two segments have this address.
    Overlap(u64),
    /// Nothing is mapped there.
    Unmapped(u64),
    /// No page is left for a page table.
    NoTable,
}

impl fmt::Display for Refused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Misaligned(at) => write!(to, "{at:#x} is not a multiple of a page"),
            Self::Outside(at) => write!(to, "{at:#x} is not an address of programs"),
            Self::NotRam(at) => write!(to, "physical address {at:#x} is not RAM for programs"),
            Self::Overlap(at) => write!(to, "{at:#x} is mapped twice"),
            Self::Unmapped(at) => write!(to, "{at:#x} is not mapped"),
            Self::NoTable => to.write_str("no memory is left for page tables"),
        }
    }
}

/// One program's page tables. Given back by [`Space::end`].
pub struct Space {
    root: u64,
}

impl Space {
    /// Maps the segments. An address outside of them faults.
    pub fn new(tables: Tables, ram: Ram, segments: impl IntoIterator<Item = Segment>) -> Result<Self, Refused> {
        let _ = (tables, ram, segments.into_iter().count());
        Err(Refused::NoTable)
    }

    /// The root, for [`Processor::load_space`](crate::Processor::load_space) and `flush`.
    pub fn root(&self) -> u64 {
        self.root
    }

    /// Gives the pages other rights: large pages that are only partly meant are split. After an error nothing that the
    /// program sees has changed. The caller then flushes (`Processor::flush`).
    pub fn protect(&mut self, address: u64, bytes: u64, rights: Protection) -> Result<(), Refused> {
        let _ = (address, bytes, rights);
        Err(Refused::NoTable)
    }

    /// Where `address` is mapped: the physical address, how many bytes follow in the same page (at least 1), and the
    /// rights. Rights may be none.
    pub fn find(&self, address: u64) -> Option<(u64, u64, Protection)> {
        let _ = address;
        None
    }

    /// Gives the tables back. No CPU has them loaded: each has left the space (`Processor::leave_space`), or has
    /// loaded another.
    pub fn end(self) {}
}
