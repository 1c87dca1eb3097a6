// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The free lists: for each node and order, doubly linked through the records.
//!
//! Changed only by the pool, under the caller's lock. Every step is O(1). Each owner of runs has lists of its own.
//! Empty lists are all zero, so that many of them cost no room in an image.

use super::records::{NODES, NONE, Neighbours, ORDERS, Records, State};

/// The heads of all lists. A clone is a picture of them, of use only with a picture of the records.
#[derive(Clone)]
pub struct Lists {
    owner: u8,
    nodes: [Node; NODES],
}

/// The lists of one NUMA node.
#[derive(Clone, Copy)]
struct Node {
    /// With all bits inverted, so that [`NONE`] is 0.
    heads: [u32; ORDERS],
    runs: [u32; ORDERS],
    /// Bit n: the list of order n is not empty.
    filled: u32,
}

/// What is free on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStatistics {
    /// Free runs of each order.
    pub runs: [u32; ORDERS],
    /// Free frames in all of them.
    pub frames: u64,
}

impl Lists {
    /// All empty, for runs that are nobody's.
    pub const fn new() -> Self {
        Self { owner: 0, nodes: [Node { heads: [!NONE; ORDERS], runs: [0; ORDERS], filled: 0 }; NODES] }
    }

    /// Those of `owner`. They are empty, or were before.
    pub const fn set_owner(&mut self, owner: u8) {
        self.owner = owner;
    }

    /// The job that owns the runs in these lists; 0: none.
    pub const fn owner(&self) -> u8 {
        self.owner
    }

    /// A run that is free here, taken out: its slot and order. O(nodes).
    pub(super) fn take_any<R: Records>(&mut self, records: &R) -> Option<(u32, u8)> {
        let node = self.nodes.iter().position(|node| node.filled != 0)?;
        self.take(records, node as u8, 0)
    }

    /// What is free on `node`. O(1).
    pub fn statistics(&self, node: u8) -> NodeStatistics {
        let runs = self.nodes.get(usize::from(node)).map_or([0; ORDERS], |node| node.runs);
        let frames = runs.iter().enumerate().map(|(order, &runs)| u64::from(runs) << order).sum();
        NodeStatistics { runs, frames }
    }

    /// Takes a run of the smallest order that is at least `order`: its slot and its order.
    pub(super) fn take<R: Records>(&mut self, records: &R, node: u8, order: u8) -> Option<(u32, u8)> {
        let lists = self.nodes.get(usize::from(node))?;
        let large_enough = lists.filled & (u32::MAX << order);
        if large_enough == 0 {
            return None;
        }
        let found = large_enough.trailing_zeros() as u8;
        let slot = !lists.heads.get(usize::from(found)).copied()?;
        self.unlink(records, node, slot, found);
        Some((slot, found))
    }

    /// Puts a run in front of its list.
    pub(super) fn push<R: Records>(&mut self, records: &R, node: u8, slot: u32, order: u8) {
        let tag = State::Free(order).of(self.owner);
        let Some((filled, head, runs)) = self.list(node, order) else { return };
        let next = !*head;
        *head = !slot;
        *runs += 1;
        *filled |= 1 << order;
        if next != NONE {
            records.set_neighbours(next, Neighbours { previous: slot, ..records.neighbours(next) });
        }
        records.set_neighbours(slot, Neighbours { next, previous: NONE });
        records.set_tag(slot, tag);
    }

    /// Takes a run out of the middle of its list. Its tag becomes `Inside`.
    pub(super) fn unlink<R: Records>(&mut self, records: &R, node: u8, slot: u32, order: u8) {
        let Some((filled, head, runs)) = self.list(node, order) else { return };
        let Neighbours { next, previous } = records.neighbours(slot);
        if previous == NONE {
            *head = !next;
        } else {
            records.set_neighbours(previous, Neighbours { next, ..records.neighbours(previous) });
        }
        if next != NONE {
            records.set_neighbours(next, Neighbours { previous, ..records.neighbours(next) });
        }
        *runs -= 1;
        if *head == !NONE {
            *filled &= !(1 << order);
        }
        records.set_tag(slot, State::Inside.encode());
    }

    /// The bits of `node`, and head and length of its list of `order`.
    fn list(&mut self, node: u8, order: u8) -> Option<(&mut u32, &mut u32, &mut u32)> {
        let Node { heads, runs, filled } = self.nodes.get_mut(usize::from(node))?;
        Some((filled, heads.get_mut(usize::from(order))?, runs.get_mut(usize::from(order))?))
    }
}

impl Default for Lists {
    fn default() -> Self {
        Self::new()
    }
}
