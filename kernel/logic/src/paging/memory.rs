// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an address space needs of the machine.
//!
//! The host implements both traits over its memory, the tests over vectors. A table, like a frame, is named by its
//! physical frame number.

use super::breaks::Breaks;
use super::encoding::Encoding;

/// Page tables: 512 entries of 64 bits.
pub trait Tables {
    /// The processor's entries.
    type Encoding: Encoding;

    /// Reads an entry: one access, with acquire ordering.
    fn load(&self, table: u64, index: u16) -> u64;

    /// Writes an entry: one access, with release ordering. A reader of the entry sees what was written before.
    fn store(&self, table: u64, index: u16, entry: u64);

    /// Writes `new` if the entry is `current`, and says whether it was. One access, with acquire and release ordering.
    fn compare_exchange(&self, table: u64, index: u16, current: u64, new: u64) -> bool;

    /// The entry that a table consists of, if all 512 are the same. Begins at `from`.
    fn all_same(&self, table: u64, from: u16) -> Option<u64> {
        let first = self.load(table, from);
        (1..512).all(|n| self.load(table, (from + n) & 511) == first).then_some(first)
    }

    /// How many of the `most` entries from `from` on are the same as that one, at least 1. `from + most` is at most
    /// 512.
    fn same(&self, table: u64, from: u16, most: u16) -> u16 {
        let first = self.load(table, from);
        (1..most).find(|&n| self.load(table, from + n) != first).unwrap_or(most)
    }

    /// An operation shows that it makes progress: at least once for 512 entries.
    fn progress(&self) {}

    /// A table whose 512 entries are zero.
    fn allocate_table(&mut self) -> Option<u64>;

    /// Takes a table back that no entry points to any more.
    ///
    /// A core may still have it in its paging-structure caches, even if nothing
    /// in it was ever present, and a walk of Linux may still be inside it. It is
    /// reused only when every core has flushed and every walk that had begun has
    /// ended (see [`crate::paging`]); that need not be at once.
    fn free_table(&mut self, table: u64);

    /// Takes a table back that no entry has ever pointed to: nobody can have it cached, and it may be reused at once.
    fn free_unused_table(&mut self, table: u64) {
        self.free_table(table);
    }

    /// Returns when no TLB has anything of this address space that is not so any more.
    ///
    /// Called only for an encoding that wants a valid entry broken before it is made anew, in the middle of an
    /// operation.
    fn flush(&self) {
        const { assert!(!<Self::Encoding as Encoding>::Breaks::NEEDED, "this processor's host must flush") }
    }
}

/// How far an allocation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// To the nodes that the policy wants, for which a smaller page is worth it.
    Wanted,
    /// To all that it allows.
    Allowed,
}

/// What a run of frames is for: decides about the NUMA node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The first page: which of several nodes it is that takes its turn there.
    pub page: u32,
    /// Index into the process's list of NUMA policies.
    pub policy: u8,
}

/// Frames and their content.
pub trait Memory: Tables {
    /// A run of 2^`order` frames, aligned to its size, from where the policy of `placement` allows.
    fn allocate(&mut self, order: u8, placement: Placement, reach: Reach) -> Option<u64>;

    /// Whether a run of 2^`order` frames is where the policy of `placement` wants it.
    fn suits(&self, frame: u64, order: u8, placement: Placement) -> bool;

    /// Whether the host still uses a frame of the run that it does not map any more: a device may write into it, or a
    /// pipe reads from it. Then the content must stay in this frame. Asked only for pages that the host does not map,
    /// with the right to their piece: the answer does not become true meanwhile.
    fn is_held(&self, frame: u64, order: u8) -> bool;

    /// Takes a run back that no program and no walk has ever seen: it may be reused at once.
    fn free(&mut self, frame: u64, order: u8);

    /// From now on the run of 2^`order` frames comes back in runs of 2^`to`.
    fn split(&mut self, frame: u64, order: u8, to: u8);

    /// Fills a run with zeros.
    fn zero(&mut self, frame: u64, order: u8);

    /// Copies a run.
    fn copy(&mut self, from: u64, to: u64, order: u8);
}
