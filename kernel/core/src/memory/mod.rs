// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process's own memory: anonymous memory from the partition, in a range of
//! addresses that Linux set aside, served without Linux.
//!
//! The range's page table is the only truth (`tacet_logic::paging`). One lock for
//! each of its pieces lets one core at a time change that, and Linux read it. What a call takes
//! away is gone from every TLB before the lock is free again. What Linux maps of it
//! on its side ("mirrors", `linux/own.c`) is never changed here: the call goes to
//! Linux first, which unmaps that and sends the thread to try again. What cannot be
//! done here at all goes to Linux too, and then the memory becomes Linux's for good.

mod change;
mod fault;
mod place;
mod question;

pub use fault::{Fate, touch};
pub use question::answer;

use tacet_abi::{
    TACET_RANGE_BREAK_PAGES, TACET_RANGE_BYTES, TACET_RANGE_EXECUTABLE, TACET_RANGE_INEXECUTABLE,
    TACET_RANGE_READ_ONLY, TACET_REFUSAL_BEYOND, TACET_REFUSAL_CLOSED, TACET_REFUSAL_MIRRORED, TACET_REFUSAL_RIGHTS,
};
use tacet_logic::paging::{AddressSpace, Error, Protection, Span};
use tacet_metal::{Context, Core, Frames, Leaving, Own, OwnHeld};

/// Errors as a call gives them.
const IO_ERROR: u64 = -5i64 as u64;
const NO_MEMORY: u64 = -12i64 as u64;
const BAD_ADDRESS: u64 = -14i64 as u64;
const EXISTS: u64 = -17i64 as u64;
const INVALID: u64 = -22i64 as u64;

/// The pages of an address and what is behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// None is in the range.
    Outside,
    /// All are.
    Inside(Span),
    /// Some are, or it is not a run of whole pages.
    Across,
}

/// Pieces of a range, by number.
type Pieces = core::ops::Range<u32>;

/// Why a call goes to Linux.
#[derive(Debug, Clone, Copy)]
pub enum Refusal {
    /// It is nothing to do with the range.
    Elsewhere,
    /// Linux maps some of these pages.
    Mirrored(Span),
    /// The range is on its way to Linux.
    Closed,
    /// The process may not have such pages yet (`TACET_RANGE_*`).
    Rights(u32),
    /// It cannot be done here.
    Beyond,
}

/// What a call about the range comes to: its result, or why it is Linux's.
pub type Outcome = Result<u64, Refusal>;

/// A process's range, seen from one core.
pub struct Range<'a> {
    core: &'a Core,
    frames: &'a mut Frames,
    own: Own,
    /// Its number.
    number: u32,
    /// The address space that cores load.
    root: u64,
}

/// One operation on some pieces of a range, under their locks.
struct Work<'w> {
    held: &'w OwnHeld,
    space: AddressSpace<'w, Frames>,
    leaving: Leaving,
    /// A TLB may have what is not so any more, besides what leaves.
    stale: bool,
}

impl<'a> Range<'a> {
    /// None: the process has none.
    pub fn of(core: &'a Core, frames: Option<&'a mut Frames>, context: &Context<'_>) -> Option<Self> {
        let frames = frames?;
        let number = context.own()?;
        let own = frames.own(number)?;
        let (policy, allowed) = context.policy();
        frames.begin(Some(own), policy, allowed);
        Some(Self { core, frames, own, number, root: context.root() })
    }

    /// Where `bytes` bytes at `address` are; `bytes` is rounded up to pages, as Linux does.
    pub fn extent(&self, address: u64, bytes: u64) -> Extent {
        let (first, end) = (self.own.base(), self.own.base() + TACET_RANGE_BYTES);
        if address >= end || address.saturating_add(bytes) <= first || bytes == 0 {
            return Extent::Outside;
        }
        let Some(bytes) = bytes.checked_next_multiple_of(4096) else { return Extent::Across };
        match Span::of_bytes(first, address, bytes) {
            Ok(span) => Extent::Inside(span),
            Err(Error::Misaligned) => Extent::Outside, // an error, which Linux finds first
            Err(_) => Extent::Across,
        }
    }

    /// The nodes of the partition's memory, as bits.
    pub fn nodes(&self) -> u32 {
        self.frames.nodes()
    }

    /// The least number of nodes that get_mempolicy(2) wants room for.
    pub fn node_ids(&self) -> u32 {
        self.frames.node_ids()
    }

    /// More than all of the partition: what is promised so cannot be kept.
    pub fn is_too_much(&self, pages: u32) -> bool {
        pages > self.frames.most()
    }

    /// Pages come with the call that maps them.
    pub fn eager(&self) -> bool {
        self.own.eager()
    }

    /// Pages of the process may be so, at `extent`. What guards a heap from being executed
    /// asks for more than an address: that is Linux's.
    pub fn permits(&self, protection: Protection, extent: Extent) -> Result<(), Refusal> {
        let Protection { read, write, execute } = protection;
        let needed = match (read && !write, execute) {
            (_, true) => TACET_RANGE_READ_ONLY | TACET_RANGE_EXECUTABLE,
            (true, false) => TACET_RANGE_READ_ONLY,
            (false, false) => return Ok(()),
        };
        let rights = self.own.rights();
        let heap = matches!(extent, Extent::Inside(span) if span.first() < TACET_RANGE_BREAK_PAGES);
        match needed & !rights {
            _ if execute && (heap || rights & TACET_RANGE_INEXECUTABLE != 0) => Err(Refusal::Beyond),
            0 => Ok(()),
            missing => Err(Refusal::Rights(missing)),
        }
    }

    /// Where a page of the range is.
    fn address(&self, page: u32) -> u64 {
        self.own.base() + (u64::from(page) << 12)
    }

    /// Does `work` on these pieces of the range while nobody else is at them.
    fn change<T>(
        &mut self,
        pieces: Pieces,
        work: impl FnOnce(&mut Work<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let held = self.own.hold(self.core, pieces);
        if !held.is_open() {
            return Err(Refusal::Closed);
        }
        let leaving = self.frames.leaving();
        let space = AddressSpace::new(self.own.root(), self.frames);
        let mut work_on = Work { held: &held, space, leaving, stale: false };
        let done = work(&mut work_on);
        let Work { leaving, stale, .. } = work_on;
        let tables = self.frames.tables_left();
        if stale || tables || leaving.any() {
            self.core.flush(self.root);
        }
        if tables || leaving.any() {
            self.frames.free_left(leaving);
        }
        done
    }

    /// Tells Linux why it gets what the thread asked for.
    pub fn refuse(&self, context: &Context<'_>, refusal: Refusal) {
        match refusal {
            Refusal::Elsewhere => {}
            Refusal::Mirrored(span) => {
                context.refuse(TACET_REFUSAL_MIRRORED, self.address(span.first()), self.address(span.end()));
            }
            Refusal::Rights(rights) => context.refuse(TACET_REFUSAL_RIGHTS, u64::from(rights), 0),
            Refusal::Closed => context.refuse(TACET_REFUSAL_CLOSED, 0, 0),
            Refusal::Beyond => context.refuse(TACET_REFUSAL_BEYOND, 0, 0),
        }
    }
}
