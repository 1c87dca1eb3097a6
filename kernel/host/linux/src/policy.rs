// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NUMA placement: from which nodes one CPU takes memory for the operation at hand. Policies come from
//! `linux/memory/policy.c`.

use crate::range::LinuxRange;
use tacet_abi::tacet_memory;
use tacet_core::memory::SharedRange;
use tacet_logic::frames::{Layout, NODES, NodeOrder, Policy};
use tacet_logic::order;

const ALL: u32 = u32::MAX;

/// One CPU's. It means something only during an operation.
pub(crate) struct NodeChoice {
    /// The partition's nodes, the nearest first.
    near: [u8; NODES],
    count: usize,
    /// The thread's own policy, for pages without one, and the nodes that it may use.
    thread: Policy,
    allowed: u32,
    /// The range that the operation is about.
    range: Option<LinuxRange>,
    /// The last order, and the policy and nodes that it was made for.
    order: NodeOrder,
    made_for: (Policy, u32),
}

impl NodeChoice {
    /// For a CPU of `node`.
    pub fn new(node: u32, memory: &tacet_memory, layout: &Layout<'_>) -> Self {
        let mut near = [0; NODES];
        let mut count = 0;
        for block in layout.blocks() {
            if !near.iter().take(count).any(|&node| node == block.node())
                && let Some(next) = near.get_mut(count)
            {
                *next = block.node();
                count += 1;
            }
        }
        let distances = memory.distances.get(node as usize);
        let distance = |&node: &u8| distances.and_then(|from| from.get(usize::from(node))).copied();
        if let Some(nodes) = near.get_mut(..count) {
            order::sort_by_key(nodes, |node| (distance(node), *node));
        }
        let order = Policy::NONE.order(near.get(..count).unwrap_or(&[]), ALL, 0);
        Self { near, count, thread: Policy::NONE, allowed: ALL, range: None, order, made_for: (Policy::NONE, ALL) }
    }

    /// The next operation is about `range`, for a thread that wants its memory as `thread` says, from `allowed`.
    pub fn begin(&mut self, range: LinuxRange, thread: Policy, allowed: u32) {
        (self.range, self.thread, self.allowed) = (Some(range), thread, allowed);
    }

    /// The number of the job that the range belongs to; 0: none.
    pub fn job(&self) -> u32 {
        self.range.as_ref().map_or(0, LinuxRange::job)
    }

    /// So many frames more are the range's, or fewer.
    pub fn count_frames(&self, more: i64) {
        if let Some(range) = &self.range {
            range.count_frames(more);
        }
    }

    /// What entry number `number` of the range's list says.
    pub fn policy(&self, number: u8) -> Policy {
        match (number, &self.range) {
            (1.., Some(range)) => range.policy(number),
            _ => self.thread,
        }
    }

    /// The nodes to ask for page number `turn` of its size, of policy `number`.
    pub fn order(&mut self, number: u8, turn: u32) -> &NodeOrder {
        let policy = self.policy(number);
        if policy.interleaves() || self.made_for != (policy, self.allowed) {
            self.order = policy.order(self.near(), self.allowed, turn);
            self.made_for = (policy, self.allowed);
        }
        &self.order
    }

    /// The nodes that were asked for last: those that are wanted, or all.
    pub fn last(&self, wanted: bool) -> &[u8] {
        if wanted { self.order.wanted() } else { self.order.all() }
    }

    /// Whether such a page is where it is wanted, on `node`. Without a policy it is, wherever it was touched first.
    pub fn suits(&self, node: u8, number: u8, turn: u32) -> bool {
        let policy = self.policy(number);
        let order = policy.order(self.near(), self.allowed, turn);
        policy.nodes == 0 || order.wanted().is_empty() || order.wanted().contains(&node)
    }

    /// All nodes, for memory that no thread asked for.
    pub fn near(&self) -> &[u8] {
        self.near.get(..self.count).unwrap_or(&[])
    }

    /// The nodes that there are, as bits.
    pub fn present(&self) -> u32 {
        self.near().iter().fold(0, |nodes, &node| nodes | 1 << (node & 31))
    }
}
