// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of a child process (`fork`).

use super::entry::{Entry, Leaf};
use super::error::Error;
use super::memory::{Memory, Placement};
use super::space::AddressSpace;
use super::span::{PAGES, PageSize};

impl<M: Memory> AddressSpace<'_, M> {
    /// Copies everything that is mapped from page `at` on into the range of `root`, which is empty there, with frames
    /// of its own. After each entry `pause` is told how many pages were copied. If it says so, the copy ends here for
    /// now, and the result is the page to continue at.
    ///
    /// The caller has stopped the threads that could write, and is the only one that knows `root`. After a failure
    /// what is there is for [`Self::clear`]. If there is no large frame for a large page, it is copied into smaller ones. O(entries), besides
    /// the copying.
    pub fn copy_to(&mut self, root: u64, at: u32, mut pause: impl FnMut(u32) -> bool) -> Result<Option<u32>, Error> {
        let mut page = at;
        while page < PAGES {
            let slot = self.find(page);
            let mut child = AddressSpace::new(root, &mut *self.memory);
            let copied = match slot.entry {
                Entry::Leaf(leaf) if !leaf.pending => child.copy_leaf(page, slot.size, leaf),
                Entry::Leaf(Leaf { attributes, .. }) | Entry::Reserved(attributes) => {
                    child.divide(page, slot.size).map(|there| child.set(&there, Entry::Reserved(attributes)))
                }
                Entry::Absent | Entry::Table(_) => Ok(()),
            };
            copied?;
            page = if slot.entry == Entry::Absent { self.after(&slot, PAGES) } else { slot.end() };
            let copied = if let Entry::Leaf(_) = slot.entry { slot.size.pages() } else { 0 };
            if page < PAGES && pause(copied) {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// New frames with the content of one leaf.
    fn copy_leaf(&mut self, page: u32, size: PageSize, leaf: Leaf) -> Result<(), Error> {
        let mut done = 0;
        while done < size.pages() {
            let wanted = size.fitting(page + done, size.pages() - done);
            let placement = Placement { page: page + done, policy: leaf.attributes.policy };
            let (frame, part) = self.frame(wanted, placement)?;
            let there = self.divide(page + done, part).inspect_err(|_| self.memory.free(frame, part.order()))?;
            self.memory.copy(leaf.frame + u64::from(done), frame, part.order());
            self.set(&there, Entry::Leaf(Leaf { frame, mirrored: false, ..leaf }));
            done += part.pages();
        }
        Ok(())
    }
}
