// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What has left page tables is not a frame before a flush has made it one.
//!
//! An operation puts all that it takes out of the tables into [`Unmapped`], whoever uses the frames besides. The only way
//! from there to [`Flushed`], which alone can be freed ([`PartitionMemory::free_left`]), is a flush, or that no CPU can
//! have the address space. So a host cannot decide before the flush what becomes of a frame: a frame that it holds is
//! still in TLBs, and is another's as soon as the host lets go of it.
//!
//! [`PartitionMemory::free_left`]: super::partition::PartitionMemory::free_left

use tacet_arch::Processor;
use tacet_logic::paging::Retired;

/// What one operation unmaps: perhaps still in a TLB.
pub trait Leaving {
    /// A frame without an entry that points to it. Nobody has it until no TLB has it: until then it does not matter who
    /// else uses it ([`Flushed`]).
    fn retire(&mut self, old: Retired);

    /// Frames are looked at one by one, because the host uses some.
    fn is_slow(&self) -> bool;
}

/// What one operation has unmapped: perhaps still in a TLB.
pub(crate) struct Unmapped<L> {
    leaving: L,
    any: bool,
}

/// What no TLB has any more, nor the tables that left with it.
pub struct Flushed<L>(L);

impl<L: Leaving> Unmapped<L> {
    /// `leaving` is empty.
    pub fn new(leaving: L) -> Self {
        Self { leaving, any: false }
    }

    /// A frame without an entry that points to it.
    pub fn retire(&mut self, old: Retired) {
        self.any = true;
        self.leaving.retire(old);
    }

    /// Whether there are any.
    pub fn any(&self) -> bool {
        self.any
    }

    /// Frames are looked at one by one, because the host uses some.
    pub fn is_slow(&self) -> bool {
        self.leaving.is_slow()
    }

    /// `root`: the address space that CPUs load; 0: any.
    pub fn flush(self, processor: &impl Processor, root: u64) -> Flushed<L> {
        processor.flush(root);
        Flushed(self.leaving)
    }

    /// No CPU can load the address space, and none has it loaded: it is being made, or has ended.
    pub fn of_no_cpu(self) -> Flushed<L> {
        Flushed(self.leaving)
    }
}

impl<L> Flushed<L> {
    /// For a host that frees them.
    pub fn into_inner(self) -> L {
        self.0
    }
}
