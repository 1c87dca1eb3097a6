// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Orders of the operator about nodes: drain and return them, reset and power them off.
//!
//! A node with a job is not reset: the job's end comes first, by itself or by a signal.

use std::time::Instant;

use super::Book;
use crate::control::NodeOrder;
use crate::daemon::node::Node;
use crate::error::{Error, Result};

impl Book {
    pub fn govern(&mut self, node: u32, order: NodeOrder, now: Instant) -> Result<()> {
        let is_of_the_set = self.nodes.contains_key(&node) || self.size.is_some_and(|size| node < size);
        if !is_of_the_set {
            return Err(no_such(node));
        }
        match order {
            NodeOrder::Drain | NodeOrder::Return => {
                let drained = order == NodeOrder::Drain;
                self.drained.set(node, drained)?;
                if let Some(entry) = self.nodes.get_mut(&node) {
                    entry.drained = drained;
                }
                Ok(())
            }
            NodeOrder::Reset | NodeOrder::PowerOff => self.end(node, order, now),
        }
    }

    fn end(&mut self, node: u32, order: NodeOrder, now: Instant) -> Result<()> {
        let refused = |cause: String, remedy: &str| Err(Error::new(format!("node {node}"), cause, remedy));
        let machines_here = self.machines_here;
        let may_have = |entry: &Node| entry.listens(now) || machines_here;
        match self.nodes.get_mut(&node) {
            Some(Node { job: Some(job), .. }) => {
                refused(format!("it has job {job}"), "drain the node and wait, or end the job")
            }
            Some(entry) if may_have(entry) => {
                entry.ready = false;
                entry.away = Some(if order == NodeOrder::Reset { "reset" } else { "off" });
                self.ends.insert(node, order);
                Ok(())
            }
            Some(_) => refused("it does not listen".into(), "use the machine's own management"),
            None => Err(no_such(node)),
        }
    }

    /// The end of a node that asks for work.
    pub fn end_of(&mut self, node: u32) -> Option<NodeOrder> {
        if self.machines_here { None } else { self.ends.remove(&node) }
    }

    /// The same for those who have the machines.
    pub fn take_ends(&mut self) -> Vec<(u32, NodeOrder)> {
        std::mem::take(&mut self.ends).into_iter().collect()
    }
}

fn no_such(node: u32) -> Error {
    Error::new(format!("node {node}"), "the daemon does not know it", "see `tacet static status`")
}
