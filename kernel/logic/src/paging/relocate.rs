// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moving content to where a policy wants it (`mbind`).

use super::breaks::Breaks;
use super::entry::{Entry, Leaf};
use super::memory::{Memory, Reach};
use super::space::{AddressSpace, Slot};
use super::span::Span;
use super::unmap::Retired;

impl<M: Memory> AddressSpace<'_, M> {
    /// Gives the pages of `span` that are not where their policy wants them frames that are, with the same content.
    /// Says how many had to stay where they were, for want of such frames or because the host still uses theirs, in
    /// units of 4 KiB.
    ///
    /// No entry crosses an edge of `span`, as after [`Self::advise`], and Linux maps none of it. The program may run:
    /// pages that move are taken from it first. If there are any, `flush` is called; after that no TLB has them.
    /// Frames that are no longer mapped go to `retire`. O(entries), besides the copying.
    pub fn relocate(&mut self, span: Span, flush: impl FnOnce(), mut retire: impl FnMut(Retired)) -> u32 {
        // What is pending for want of zeros is not to be mistaken for what is pending because it moves.
        self.commit(span);
        let (any, mut stayed) = self.take_misplaced(span);
        if !any {
            return stayed;
        }
        flush();
        self.breaks.flushed();
        let mut page = span.first();
        while page < span.end() {
            let slot = self.find(page);
            page = slot.end();
            if let Entry::Leaf(leaf @ Leaf { pending: true, .. }) = slot.entry {
                page = match self.move_leaf(&slot, leaf, &mut retire) {
                    Some(end) => end,
                    None => {
                        let left = self.leave(slot.first);
                        stayed += left.size.pages();
                        left.end()
                    }
                };
            }
        }
        stayed
    }

    /// Makes the pages that are to move pending, so that no program can touch them. Whether there are any, and how many
    /// may not move, in units of 4 KiB. As on Linux, a large page stays whole if any frame of it may not move.
    fn take_misplaced(&mut self, span: Span) -> (bool, u32) {
        let (mut page, mut any, mut held) = (span.first(), false, 0);
        while page < span.end() {
            let slot = self.find(page);
            page = slot.end();
            if let Entry::Leaf(leaf) = slot.entry
                && !self.memory.suits(leaf.frame, slot.size.order(), slot.placement(leaf.attributes))
            {
                if self.memory.is_held(leaf.frame, slot.size.order()) {
                    held += slot.size.pages();
                } else {
                    any |= self.replace(&slot, |leaf| Entry::Leaf(Leaf { pending: true, ..leaf })).is_some();
                }
            }
        }
        (any, held)
    }

    /// Gives the pending page at `page` back to the program where it is. It may be a part of the page that was to move:
    /// that was divided, then there was no table to divide the part. The parts behind it are still pending.
    fn leave(&mut self, page: u32) -> Slot {
        let slot = self.find(page);
        if let Entry::Leaf(leaf) = slot.entry {
            self.set(&slot, Entry::Leaf(Leaf { pending: false, ..leaf }));
        }
        slot
    }

    /// Copies a page, or the first part of it that a frame can be had for, and says where that ends. On failure the page
    /// may be divided.
    fn move_leaf(&mut self, slot: &Slot, leaf: Leaf, retire: &mut impl FnMut(Retired)) -> Option<u32> {
        let (frame, size) = self.frame_within(slot.size, slot.placement(leaf.attributes), Reach::Wanted)?;
        let there = match self.divide(slot.first, size) {
            Ok(there) => there,
            Err(_) => {
                self.memory.free(frame, size.order());
                return None;
            }
        };
        self.memory.copy(leaf.frame, frame, size.order());
        self.set(&there, Entry::Leaf(Leaf { frame, pending: false, ..leaf }));
        retire(Retired { frame: leaf.frame, order: size.order(), mirrored: false });
        Some(there.end())
    }
}
