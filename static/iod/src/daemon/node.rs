// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One node in the daemon's book: what it has, whether it lives and may work, and whether a job can ever have enough such nodes.
//!
//! The book owns it. It must never decide about a job that runs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::control::{NodeStatus, Submit};

/// A node that waits for a job asks again and again. After this silence it gets none.
pub const SILENCE: Duration = Duration::from_secs(10);
/// A node whose service CPU says nothing for so many looks of the daemon (`GLANCE`) is lost: 10 s, in which it speaks ten
/// times. Looks are counted, so that a daemon that stood still itself blames nobody.
pub const SILENT_LOOKS: u32 = 100;
/// The same while it loads its programs: all its CPUs zero its memory then, a TiB perhaps, and none speaks.
pub const LOADING_LOOKS: u32 = 10 * SILENT_LOOKS;

/// What a node has, by its greeting.
#[derive(Debug, Clone, Copy, Default)]
pub struct Means {
    /// For programs.
    pub cpus: u32,
    pub memory_bytes: u64,
    /// One more CPU speaks for it while its programs compute.
    pub service_cpu: bool,
}

#[derive(Debug)]
pub struct Node {
    pub means: Means,
    address: String,
    heard: Instant,
    /// Looks of the daemon since then.
    silent_looks: u32,
    /// It has asked for a job.
    pub ready: bool,
    pub job: Option<u32>,
    /// What it is until it greets again: `lost`, say.
    pub away: Option<&'static str>,
    pub drained: bool,
    /// Errors that its hardware has corrected, since it has booted.
    pub corrected: u64,
}

impl Node {
    pub fn new(means: Means, address: String, now: Instant) -> Self {
        Node {
            means,
            address,
            heard: now,
            silent_looks: 0,
            ready: false,
            job: None,
            away: None,
            drained: false,
            corrected: 0,
        }
    }

    pub fn heard(&mut self, now: Instant) {
        (self.heard, self.silent_looks) = (now, 0);
    }

    /// The daemon looks while the node has a job, and executes or loads it. True: the node should have spoken long ago.
    pub fn look(&mut self, executes: bool) -> bool {
        self.silent_looks = self.silent_looks.saturating_add(1);
        let most = if executes { SILENT_LOOKS } else { LOADING_LOOKS };
        self.means.service_cpu && self.silent_looks > most
    }

    pub fn may_work(&self, now: Instant) -> bool {
        !self.drained && self.listens(now)
    }

    /// It waits for the daemon's word.
    pub fn listens(&self, now: Instant) -> bool {
        self.ready && self.job.is_none() && now.saturating_duration_since(self.heard) < SILENCE
    }

    /// Whether it has what the job wants of each of its nodes: a CPU for each process, and the memory that it names.
    pub fn fits(&self, submit: &Submit) -> bool {
        self.means.cpus >= submit.processes && self.means.memory_bytes >= submit.memory_bytes
    }

    pub fn status(&self, number: u32, now: Instant) -> NodeStatus {
        let silent = now.saturating_duration_since(self.heard);
        let state = match (self.job, self.ready) {
            _ if self.away.is_some() => self.away.unwrap_or_default(),
            (Some(_), _) if self.drained => "draining",
            (Some(_), _) => "job",
            (None, true) if self.drained && silent < SILENCE => "drained",
            (None, true) if silent < SILENCE => "ready",
            (None, true) => "silent",
            (None, false) => "booted",
        };
        NodeStatus {
            node: number,
            address: self.address.clone(),
            cpus: self.means.cpus,
            memory_bytes: self.means.memory_bytes,
            service_cpu: self.means.service_cpu,
            state: state.into(),
            job: self.job,
            corrected_errors: self.corrected,
            silent_ms: u64::try_from(silent.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Why a job would wait for ever; `None`: it need not. `size`: how many nodes the set has, if that is known. Those that
/// have not booted yet may be of any kind, unless nobody knows how many there are and none of those that have is of the kind.
pub fn can_never_have(nodes: &BTreeMap<u32, Node>, size: Option<u32>, submit: &Submit) -> Option<String> {
    let is_meant = |number: &u32| submit.on.is_empty() || submit.on.contains(number);
    let meant = || nodes.iter().filter(|(number, _)| is_meant(number));
    let fitting = meant().filter(|(_, node)| node.fits(submit)).count();
    let is_new = |number: &u32| is_meant(number) && !nodes.contains_key(number);
    let new = match size {
        Some(size) => (0..size).filter(is_new).count(),
        None if !submit.on.is_empty() => submit.on.iter().filter(|number| is_new(number)).count(),
        None if fitting == 0 && !nodes.is_empty() => 0,
        None => return None,
    };
    if fitting + new >= submit.nodes as usize {
        return None;
    }
    let all = meant().count() + new;
    if all < submit.nodes as usize && (size.is_some() || !submit.on.is_empty()) {
        return Some(format!("it wants {} nodes, and there are {all}", submit.nodes));
    }
    let most = |of: fn(&Node) -> u64| meant().map(|(_, node)| of(node)).max().unwrap_or(0);
    let (cpus, memory) = (most(|node| node.means.cpus.into()), most(|node| node.means.memory_bytes));
    let (processes, wanted) = (submit.processes, submit.memory_bytes);
    Some(if u64::from(processes) > cpus {
        format!("it wants {processes} processes on each node, and no node has more than {cpus} CPUs for them")
    } else if wanted > memory {
        format!("it wants {} MiB of each node, and no node has more than {}", wanted.div_ceil(1 << 20), memory >> 20)
    } else {
        format!("it wants {} nodes, and {} have the CPUs and the memory", submit.nodes, fitting + new)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(of: &[(u32, u64)]) -> BTreeMap<u32, Node> {
        let means = |(cpus, gib): &(u32, u64)| Means { cpus: *cpus, memory_bytes: gib << 30, ..Means::default() };
        let node = |of| Node::new(means(of), String::new(), Instant::now());
        (0..).zip(of.iter().map(node)).collect()
    }

    fn why(
        booted: &[(u32, u64)],
        size: Option<u32>,
        count: u32,
        processes: u32,
        gib: u64,
        on: &[u32],
    ) -> Option<String> {
        let submit = Submit { name: "a".into(), nodes: count, processes, memory_bytes: gib << 30, on: on.to_vec() };
        can_never_have(&nodes(booted), size, &submit)
    }

    #[test]
    fn what_can_never_be_had_is_known_at_once() {
        let two = [(4, 1), (8, 2)];
        for (size, count, processes, gib, on, said) in [
            (Some(2), 3, 1, 0, &[][..], "it wants 3 nodes, and there are 2"),
            (Some(2), 1, 9, 0, &[], "it wants 9 processes on each node, and no node has more than 8 CPUs for them"),
            (Some(2), 1, 1, 3, &[], "it wants 3072 MiB of each node, and no node has more than 2048"),
            (Some(2), 2, 5, 0, &[], "it wants 2 nodes, and 1 have the CPUs and the memory"),
            (Some(2), 1, 5, 0, &[0], "it wants 5 processes on each node, and no node has more than 4 CPUs for them"),
            (Some(2), 1, 1, 0, &[2], "it wants 1 nodes, and there are 0"),
            (None, 1, 9, 0, &[], "it wants 9 processes on each node, and no node has more than 8 CPUs for them"),
            (None, 1, 5, 0, &[0], "it wants 5 processes on each node, and no node has more than 4 CPUs for them"),
        ] {
            assert_eq!(why(&two, size, count, processes, gib, on).as_deref(), Some(said));
        }
    }

    #[test]
    fn what_may_still_boot_is_waited_for() {
        let two = [(4, 1), (8, 2)];
        for (size, count, processes, gib, on) in [
            (Some(2), 2, 4, 1, &[][..]),
            (Some(3), 3, 1, 0, &[]),
            (Some(3), 1, 9, 9, &[]),
            (Some(3), 1, 9, 0, &[2]),
            (None, 9, 1, 0, &[]),
            (None, 2, 8, 2, &[]),
            (None, 1, 9, 0, &[7]),
        ] {
            assert_eq!(why(&two, size, count, processes, gib, on), None);
        }
        assert_eq!(why(&[], None, 1, 99, 99, &[]), None, "nothing is known yet");
    }
}
