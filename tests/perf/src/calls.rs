// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `calls`: what a call costs that a core answers itself, against the same call on Linux in the same node.
//! Writes `build/bench/calls.json`.
//!
//! Instructions are counted by the plugin, in the kernels only; ticks of Linux are included. Times are ratios of two
//! runs in one node.

use std::fs;

use tacet_node::{Cache, Node};

use crate::Result;
use crate::configuration::{Settings, counted_node, timed_node};
use crate::guest::Guest;
use crate::instructions::region;
use crate::metric::{Metric, Metrics, write};
use crate::programs::Programs;
use crate::provenance::place;

const KINDS: [&str; 6] = ["getpid", "getcpu", "sched_yield", "futex_wake", "futex_wait", "ping_pong"];
const CALLS: usize = 2000;
/// Linux keeps the CPUs before these.
const CPUS: [&str; 2] = ["2", "3"];

/// Measures everything.
pub fn calls(cache: &Cache, settings: &Settings) -> Result<Vec<Metric>> {
    let programs = Programs::build(cache)?;
    let out = programs.build_directory().join("bench");
    fs::create_dir_all(&out)?;
    let node = Node::boot(cache, &counted_node(settings.kernel, 4, &programs))?;
    let guest = Guest { node: &node, programs: &programs };
    let mut metrics = Metrics::at(&place(&node, programs.top()));
    compare(&guest, &mut metrics, "instruction", "instructions", |node, _| {
        let kernel: u64 = region(node)?.iter().map(|counts| counts.kernel).sum();
        Ok(kernel as f64 / CALLS as f64)
    })?;
    node.power_off()?;
    let node = Node::boot(cache, &timed_node(settings.kernel, 4, &programs))?;
    let guest = Guest { node: &node, programs: &programs };
    compare(&guest, &mut metrics, "time", "ns", |_, call_ns| Ok(call_ns))?;
    node.power_off()?;
    let metrics = metrics.into_vec();
    write(&metrics, &out.join("calls.json"))?;
    Ok(metrics)
}

/// Each kind on Linux, then on the partition. `cost` reads one run's, given its time of a call.
fn compare(
    guest: &Guest,
    metrics: &mut Metrics,
    what: &str,
    unit: &'static str,
    cost: impl Fn(&Node, f64) -> Result<f64>,
) -> Result<()> {
    let words = |kind: &str| vec![kind.to_owned(), CALLS.to_string()];
    let took = |numbers: &crate::guest::Numbers| numbers.get("call_ns").copied().ok_or("calls: no time");
    let mut native = Vec::new();
    for kind in KINDS {
        let numbers = guest.native("calls", &[words(kind), CPUS.map(str::to_owned).to_vec()].concat())?;
        native.push(cost(guest.node, took(&numbers)?)?);
    }
    guest.up("2-3")?;
    for (kind, baseline) in KINDS.iter().zip(native) {
        let numbers = guest.hosted(&[], "calls", &words(kind))?;
        let value = cost(guest.node, took(&numbers)?)?;
        let how = format!("one of {CALLS} {kind} on a core; baseline: on Linux");
        metrics.add(&format!("{kind}_{what}_ratio"), value / baseline, "ratio", None, &how);
        metrics.add(&format!("{kind}_{what}s"), value, unit, Some(baseline), &how);
    }
    guest.down()
}
