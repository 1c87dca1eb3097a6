// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process's range as one CPU sees it, and the frame of every operation on it: locks, work, flush.

use crate::base::escape::Reason;
use crate::cpu::Cpu;
use crate::host::left::Unmapped;
use crate::host::partition::{BREAK_PAGES, HeldRange, PartitionMemory, RANGE_BYTES, RangeName, SharedRange, rights};
use crate::host::{Host, Thread};
use tacet_arch::Processor;
use tacet_logic::paging::{AddressSpace, Error, Protection, Span, Tables};

/// Errors as a call gives them.
pub const IO_ERROR: u64 = -5i64 as u64;
pub const NO_MEMORY: u64 = -12i64 as u64;
pub const BAD_ADDRESS: u64 = -14i64 as u64;
pub const EXISTS: u64 = -17i64 as u64;
pub const INVALID: u64 = -22i64 as u64;

/// The pages of an address and of some bytes behind it.
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

/// Why a call about the range is the host's.
#[derive(Debug, Clone, Copy)]
pub enum Refusal {
    /// It has nothing to do with the range.
    Elsewhere,
    /// The host maps some of these pages.
    Mirrored(Span),
    /// The range is being handed over.
    Closed,
    /// The process may not have such pages yet ([`rights`]).
    Rights(u32),
    /// It cannot be done here.
    Beyond,
    /// It is not the host's: it takes long, and its rest comes later ([`Long`]).
    Later,
    /// Nor this: a device has some of these pages, and gives them back soon ([`Loans`]).
    Lent,
}

/// The result of a call about the range, or why it is the host's.
pub type Result<T> = core::result::Result<T, Refusal>;

/// The page tables of a host's memory.
pub type EncodingOf<H> = <<H as Host>::Memory as Tables>::Encoding;

type RangeOf<H> = <<H as Host>::Memory as PartitionMemory>::Range;

/// A process's range, seen from one CPU.
pub struct Range<'a, H: Host> {
    pub(super) cpu: &'a Cpu<H>,
    pub(super) memory: &'a mut H::Memory,
    pub(super) shared: RangeOf<H>,
    /// As the thread names it. What is read of it without a lock may be another range's.
    pub(super) name: RangeName,
    /// The address space that CPUs load.
    pub(super) root: u64,
    /// The call has begun before, and goes on ([`Long`]).
    pub(super) again: bool,
    /// Portions have found this to be one mapping of the host's.
    pub(super) same: Option<Span>,
}

/// One operation on some pieces of a range, under their locks.
pub struct Work<'w, H: Host> {
    pub(super) shared: RangeOf<H>,
    /// Its number.
    pub(super) number: u32,
    pub(super) cpu: &'w Cpu<H>,
    /// The address space that CPUs load.
    pub(super) root: u64,
    pub(super) held: &'w <RangeOf<H> as SharedRange>::Held,
    pub(super) space: AddressSpace<'w, H::Memory>,
    pub(super) leaving: Unmapped<<H::Memory as PartitionMemory>::Leaving>,
    /// A TLB may have old translations, besides those of frames that leave.
    pub(super) stale: bool,
    /// As [`Range::same`].
    pub(super) same: Option<Span>,
}

impl<'a, H: Host> Range<'a, H> {
    /// The range of a thread's process. `None`: it has none.
    pub fn of(cpu: &'a Cpu<H>, memory: Option<&'a mut H::Memory>, thread: &H::Thread<'_>) -> Option<Self> {
        let memory = memory?;
        let name = thread.range()?;
        let shared = memory.range(name.number)?;
        let (policy, allowed) = thread.policy();
        memory.begin(shared, policy, allowed);
        Some(Self { cpu, memory, shared, name, root: thread.root(), again: false, same: None })
    }

    /// Where `bytes` bytes at `address` are; `bytes` is rounded up to pages, as Linux does.
    pub fn extent(&self, address: u64, bytes: u64) -> Extent {
        let (first, end) = (self.shared.base(), self.shared.base() + RANGE_BYTES);
        if address >= end || address.saturating_add(bytes) <= first || bytes == 0 {
            return Extent::Outside;
        }
        let Some(bytes) = bytes.checked_next_multiple_of(4096) else { return Extent::Across };
        match Span::of_bytes(first, address, bytes) {
            Ok(span) => Extent::Inside(span),
            Err(Error::Misaligned) => Extent::Outside, // an error, which the host finds first
            Err(_) => Extent::Across,
        }
    }

    /// The nodes of the partition's memory, as bits.
    pub fn nodes(&self) -> u32 {
        self.memory.nodes()
    }

    /// The least number of nodes that get_mempolicy(2) wants room for.
    pub fn node_ids(&self) -> u32 {
        self.memory.node_ids()
    }

    /// More than the partition has: such a promise could not be kept.
    pub fn is_too_much(&self, pages: u32) -> bool {
        pages > self.memory.most()
    }

    /// Pages come with the call that maps them.
    pub fn eager(&self) -> bool {
        self.shared.is_eager()
    }

    /// Whether pages at `extent` may have this protection. Whether a heap may be executable depends on more than the
    /// address: the host decides that.
    pub fn permits(&self, protection: Protection, extent: Extent) -> Result<()> {
        let Protection { read, write, execute } = protection;
        let needed = match (read && !write, execute) {
            (_, true) => rights::READ_ONLY | rights::EXECUTABLE,
            (true, false) => rights::READ_ONLY,
            (false, false) => return Ok(()),
        };
        let granted = self.shared.rights();
        let heap = matches!(extent, Extent::Inside(span) if span.first() < BREAK_PAGES);
        match needed & !granted {
            _ if execute && (heap || granted & rights::INEXECUTABLE != 0) => Err(Refusal::Beyond),
            0 => Ok(()),
            missing => Err(Refusal::Rights(missing)),
        }
    }

    /// Where a page of the range is.
    pub fn address(&self, page: u32) -> u64 {
        self.shared.base() + (u64::from(page) << 12)
    }

    /// An answer of what was read without a lock: it holds if the range is still the thread's.
    pub fn confirm<T>(&mut self, answer: T) -> Result<T> {
        self.change(0..1, |_| Ok(answer))
    }

    /// Does `work` on these pieces of the range under their locks.
    pub fn change<T>(&mut self, pieces: Pieces, work: impl FnOnce(&mut Work<'_, H>) -> Result<T>) -> Result<T> {
        let cpu = self.cpu;
        let held = self.shared.hold(pieces, || cpu.host.count_progress());
        if !held.is_open(self.name.serial) {
            return Err(Refusal::Closed);
        }
        let leaving = Unmapped::new(self.memory.leaving());
        let space = AddressSpace::new(self.shared.root(), self.memory);
        let mut work_on = Work::<H> {
            shared: self.shared,
            number: self.name.number,
            cpu,
            root: self.root,
            held: &held,
            space,
            leaving,
            stale: false,
            same: self.same,
        };
        let done = work(&mut work_on);
        let Work { leaving, stale, .. } = work_on;
        if leaving.any() || self.memory.tables_left() {
            self.memory.free_left(leaving.flush(cpu.host.processor(), self.root));
        } else if stale {
            cpu.host.processor().flush(self.root);
        }
        done
    }

    /// The same, as the host is told.
    pub fn reason(&self, refusal: Refusal) -> Reason {
        match refusal {
            Refusal::Elsewhere => Reason::NotServed,
            Refusal::Mirrored(span) => {
                Reason::Mirrored { start: self.address(span.first()), end: self.address(span.end()) }
            }
            Refusal::Rights(rights) => Reason::Rights(rights),
            Refusal::Closed => Reason::Closed,
            Refusal::Beyond | Refusal::Later | Refusal::Lent => Reason::Beyond,
        }
    }
}
