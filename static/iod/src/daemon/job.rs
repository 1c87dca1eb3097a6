// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One job in the daemon's book, and its description for one of its nodes.
//!
//! The book owns it. It must never hold more of a job than its nodes and its owner need: the proxies are the owner's.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::Sender;
use std::time::Instant;

use tacet_wire::key::KEY_BYTES;

use super::book::Owner;
use crate::control::{JobStatus, Reply, Start, Submit};

#[derive(Debug)]
pub struct Job {
    pub submit: Submit,
    pub owner: Owner,
    /// Of the job's key.
    pub secret: [u8; KEY_BYTES],
    /// To the owner's connection.
    pub events: Sender<Reply>,
    pub stage: Stage,
    /// By node.
    pub parts: BTreeMap<u32, Part>,
}

#[derive(Debug)]
pub enum Stage {
    Queued,
    /// It has nodes; the owner makes its proxies.
    Granted,
    Running(Box<Start>),
    /// It runs, and began under an earlier daemon.
    Adopted,
}

/// A job's share of one node.
#[derive(Debug, Default)]
pub struct Part {
    /// Its number among the job's nodes: the first rank divided by the processes on each node.
    pub place: usize,
    /// The node has been sent the description.
    pub handed: bool,
    /// The node has loaded its programs.
    pub started: bool,
    /// The node asks for orders.
    pub watched: bool,
    /// The node has no process of the job any more.
    pub over: bool,
    pub orders: VecDeque<Order>,
    /// Since when a signal waits for a sign of the node.
    pub unheard: Option<Instant>,
    /// The static map's numbers, which nobody has checked.
    pub map: Vec<u64>,
}

/// The daemon's order to a node about its processes of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Send a signal to one of them, or to all; signal 0 is none, and makes the node ask for the next order.
    Signal { rank: Option<u32>, signal: i32 },
    /// End them: `run` is gone.
    Orphaned,
}

impl Part {
    pub fn new(place: usize) -> Self {
        Part { place, ..Part::default() }
    }

    pub fn handed(place: usize) -> Self {
        Part { handed: true, ..Part::new(place) }
    }

    /// The node must show that it lives, if it has anything of the job.
    pub fn wants_sign(&mut self, now: Instant) {
        if self.handed && self.unheard.is_none() {
            self.unheard = Some(now);
        }
    }

    /// A signal that waits already is not sent twice, as on Linux.
    pub fn order(&mut self, order: Order) {
        if !self.orders.contains(&order) {
            self.orders.push_back(order);
        }
    }
}

impl Job {
    /// An owner who is gone does not listen; its connection's end abandons the job.
    pub fn tell(&self, event: Reply) {
        let _ = self.events.send(event);
    }

    pub fn status(&self, id: u32) -> JobStatus {
        let state = match self.stage {
            Stage::Queued => "queued",
            Stage::Granted => "granted",
            Stage::Running(_) | Stage::Adopted => "running",
        };
        JobStatus {
            job: id,
            name: self.submit.name.clone(),
            uid: self.owner.uid,
            pid: self.owner.pid,
            state: state.into(),
            nodes: self.parts.keys().copied().collect(),
            processes: self.submit.processes,
        }
    }
}
