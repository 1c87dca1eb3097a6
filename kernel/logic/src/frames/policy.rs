// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NUMA policies (mbind(2), set_mempolicy(2)): from which nodes memory comes, and in which order they are asked.

use super::records::NODES;

/// include/uapi/linux/mempolicy.h
pub const DEFAULT: u32 = 0;
pub const PREFERRED: u32 = 1;
pub const BIND: u32 = 2;
pub const INTERLEAVE: u32 = 3;
pub const LOCAL: u32 = 4;
pub const PREFERRED_MANY: u32 = 5;
pub const WEIGHTED_INTERLEAVE: u32 = 6;
const FLAGS: u32 = 0xe000;

/// What a program has asked for. Nodes are bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// As mbind(2) has it, with its flags.
    pub mode: u32,
    pub nodes: u32,
}

/// Nodes in the order in which they are asked: first those that are wanted, then where else memory may come from.
#[derive(Clone, Copy, Debug)]
pub struct NodeOrder {
    nodes: [u8; NODES],
    wanted: usize,
    count: usize,
}

impl Policy {
    /// The program has asked for nothing: as near as possible.
    pub const NONE: Self = Self { mode: LOCAL, nodes: 0 };

    /// Page by page from one node after the other.
    pub fn interleaves(self) -> bool {
        matches!(self.mode & !FLAGS, INTERLEAVE | WEIGHTED_INTERLEAVE)
    }

    /// The order for the page number `turn` of those that interleave. `near` are the nodes that there are, the
    /// nearest first; `allowed`, as bits, those from which the thread may take memory. Weights count as 1.
    pub fn order(self, near: &[u8], allowed: u32, turn: u32) -> NodeOrder {
        let among = |nodes: u32| near.iter().copied().filter(move |&node| nodes >> (node & 31) & 1 != 0);
        let mode = self.mode & !FLAGS;
        let mut order = NodeOrder { nodes: [0; NODES], wanted: 0, count: 0 };
        let wanted = self.nodes & allowed;
        match mode {
            PREFERRED | PREFERRED_MANY | BIND => among(wanted).for_each(|node| order.push(node)),
            INTERLEAVE | WEIGHTED_INTERLEAVE => {
                let chosen = (turn as usize).checked_rem(among(wanted).count()).and_then(|nth| among(wanted).nth(nth));
                chosen.into_iter().for_each(|node| order.push(node));
            }
            _ => among(allowed).take(1).for_each(|node| order.push(node)),
        }
        order.wanted = order.count;
        if mode != BIND {
            among(allowed).for_each(|node| order.push(node));
        }
        order
    }
}

impl NodeOrder {
    /// The nodes that are wanted.
    pub fn wanted(&self) -> &[u8] {
        self.nodes.get(..self.wanted).unwrap_or(&[])
    }

    /// Those, and behind them all others that are allowed.
    pub fn all(&self) -> &[u8] {
        self.nodes.get(..self.count).unwrap_or(&[])
    }

    fn push(&mut self, node: u8) {
        if self.all().contains(&node) {
            return;
        }
        if let Some(place) = self.nodes.get_mut(self.count) {
            *place = node;
            self.count += 1;
        }
    }
}
