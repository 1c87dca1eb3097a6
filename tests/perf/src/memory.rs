// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `memory`: what anonymous memory costs that comes from the partition, against Linux's in the same node, in
//! large pages where the program asks for them. Writes `build/bench/memory.json`.
//!
//! Instructions are counted by the plugin, in the kernels only; ticks of Linux are included. Times are ratios of two
//! runs in one node.

use std::fs;

use tacet_node::{Cache, Node};

use crate::Result;
use crate::configuration::{Settings, counted_node, timed_node};
use crate::guest::{Guest, Numbers};
use crate::instructions::region;
use crate::metric::{Metric, Metrics, write};
use crate::programs::Programs;
use crate::provenance::place;

const KINDS: [&str; 4] = ["map_unmap_4k", "map_unmap_2m", "touch_2m", "heap"];
const ROUNDS: usize = 200;
/// Linux keeps the CPUs before this one.
const CPU: &str = "2";

/// Measures everything.
pub fn memory(cache: &Cache, settings: &Settings) -> Result<Vec<Metric>> {
    let programs = Programs::build(cache)?;
    let out = programs.build_directory().join("bench");
    fs::create_dir_all(&out)?;
    let node = Node::boot(cache, &counted_node(settings.kernel, 4, &programs))?;
    let guest = Guest { node: &node, programs: &programs };
    let mut metrics = Metrics::at(&place(&node, programs.top()));
    let counted = both(&guest, |node, _| {
        let kernel: u64 = region(node)?.iter().map(|counts| counts.kernel).sum();
        Ok(kernel as f64 / ROUNDS as f64)
    })?;
    for (kind, [linux, own]) in KINDS.iter().zip(&counted) {
        let how = format!("kernel instructions of one of {ROUNDS} {kind} on a core; baseline: on Linux");
        metrics.add(&format!("{kind}_instructions"), *own, "instructions", Some(*linux), &how);
    }
    node.power_off()?;
    let node = Node::boot(cache, &timed_node(settings.kernel, 4, &programs))?;
    let guest = Guest { node: &node, programs: &programs };
    let timed = both(&guest, |_, numbers| Ok(*numbers.get("call_ns").ok_or("memory: no time")?))?;
    for (kind, [linux, own]) in KINDS.iter().zip(&timed) {
        let how = format!("one of {ROUNDS} {kind}: time on Linux over time on a core");
        metrics.add(&format!("{kind}_ratio"), linux / own, "ratio", None, &how);
    }
    node.power_off()?;
    let metrics = metrics.into_vec();
    write(&metrics, &out.join("memory.json"))?;
    Ok(metrics)
}

/// Each kind on Linux, then with memory of the partition. `cost` reads one run's.
fn both(guest: &Guest, cost: impl Fn(&Node, &Numbers) -> Result<f64>) -> Result<Vec<[f64; 2]>> {
    let words = |kind: &str| vec![kind.to_owned(), ROUNDS.to_string()];
    let mut costs = Vec::new();
    for kind in KINDS {
        let numbers = guest.native("memory", &[words(kind), vec![CPU.to_owned()]].concat())?;
        costs.push([cost(guest.node, &numbers)?, 0.0]);
    }
    guest.up("2-3")?;
    for (kind, [_, own]) in KINDS.iter().zip(&mut costs) {
        let numbers = guest.hosted(&["--memory", "own"], "memory", &words(kind))?;
        *own = cost(guest.node, &numbers)?;
    }
    guest.down()?;
    Ok(costs)
}
