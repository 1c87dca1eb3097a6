// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Measures allocating and freeing memory on 1 to 8 cores at once. Called by the bench `memory`.
//!
//! Ten emulated CPUs share the host's CPUs, so times can be compared only between runs with the same number of threads.
//! The instructions show whether a round costs more if more cores take part.

use tacet_node::{Cache, Node, NodeSpec};

use crate::Result;
use crate::configuration::{Settings, counted_node, timed_node};
use crate::guest::Guest;
use crate::instructions::FIRST;
use crate::memory::{SIDES, add_instructions, add_times};
use crate::metric::Metrics;
use crate::programs::Programs;
use crate::versus::{Line, Partition, counted, timed};

const CPUS: u32 = 10;
const NODE_MIB: u32 = 6144;
const ALL: Partition = Partition { cpus: "2-9", memory: "2G" };
const AT_ONCE: [usize; 4] = [1, 2, 4, 8];
/// The kinds, with the rounds of each thread.
const KINDS: [(&str, usize); 2] = [("malloc", 500), ("map", 200)];

/// Adds the instructions of a round.
pub fn instructions(cache: &Cache, settings: &Settings, programs: &Programs, metrics: &mut Metrics) -> Result<()> {
    let lines = lines();
    let node = Node::boot(cache, &larger(counted_node(settings.kernel, CPUS, programs)))?;
    eprintln!("measuring: instructions of allocators");
    for (line, costs) in lines.iter().zip(counted(&Guest { node: &node, programs }, &lines, &SIDES, ALL)?) {
        add_instructions(metrics, line, &costs)?;
    }
    node.power_off().map(drop).map_err(Into::into)
}

/// Adds the time of a round.
pub fn times(cache: &Cache, settings: &Settings, programs: &Programs, metrics: &mut Metrics) -> Result<()> {
    let lines = lines();
    let node = Node::boot(cache, &larger(timed_node(settings.kernel, CPUS, programs)))?;
    eprintln!("measuring: times of allocators");
    for (line, times) in lines.iter().zip(timed(&Guest { node: &node, programs }, &lines, &SIDES, ALL)?) {
        add_times(metrics, line, &times)?;
    }
    node.power_off().map(drop).map_err(Into::into)
}

fn larger(mut spec: NodeSpec) -> NodeSpec {
    spec.memory_mib = NODE_MIB;
    spec
}

fn lines() -> Vec<Line> {
    KINDS.iter().flat_map(|(kind, rounds)| AT_ONCE.map(|threads| line(kind, *rounds, threads))).collect()
}

/// A round is one replacement on every thread; its cost is divided by the number of threads.
fn line(kind: &str, rounds: usize, threads: usize) -> Line {
    Line {
        name: format!("allocator_{kind}_{threads}"),
        program: "allocator",
        words: vec![kind.to_owned(), rounds.to_string(), threads.to_string()],
        rounds: rounds * threads,
        cpus: vec![FIRST.to_string()],
        flags: vec!["--memory", "own"],
        ranks: false,
    }
}
