// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Measures the instructions of a forwarded call, on each side, and whether they grow if more CPUs forward.
//!
//! The node has ten CPUs: two for Linux, eight for the co-kernel. The plugin counts. The counts are repeatable except
//! for Linux's ticks and background work, which they include.

use std::fs;

use tacet_node::Node;
use tacet_noise::exact::log::{Counts, Log};

use crate::Result;
use crate::guest::Guest;
use crate::metric::Metrics;

/// Linux keeps the CPUs before this one.
pub const FIRST: usize = 2;
/// The co-kernel's CPUs.
pub const PARTITION: &str = "2-9";
/// How many threads call at once.
pub const AT_ONCE: [usize; 4] = [1, 2, 4, 8];
const CALLS: usize = 1000;

/// Adds the figures. The node has the plugin and no partition.
pub fn instructions(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let words = |threads: usize| vec![CALLS.to_string(), threads.to_string()];
    guest.native("forward", &[words(1), vec![FIRST.to_string()]].concat())?;
    let native = per_call(&region(guest.node)?, 0..usize::MAX, 1);
    guest.up(PARTITION)?;
    for threads in AT_ONCE {
        guest.hosted(&["--cpus", PARTITION], "forward", &words(threads))?;
        let counts = region(guest.node)?;
        let (linux, core) = (per_call(&counts, 0..FIRST, threads), per_call(&counts, FIRST..usize::MAX, threads));
        let how = format!(
            "kernel instructions for one of {CALLS} forwarded getppid calls of {threads} threads at once, counted"
        );
        let native_is = "baseline: the native call on Linux";
        if threads == 1 {
            metrics.add(
                "forward_instructions",
                linux + core,
                "instructions",
                Some(native),
                &format!("{how} on both sides; {native_is}"),
            );
            metrics.add(
                "forward_instructions_linux",
                linux,
                "instructions",
                Some(native),
                &format!("{how} on Linux's cpus, ticks and idle work included; {native_is}"),
            );
            metrics.add(
                "forward_instructions_core",
                core,
                "instructions",
                Some(native),
                &format!("{how} on the co-kernel's cpus; {native_is}"),
            );
        } else {
            let one = |suffix: &str, value, side: &str| {
                (format!("forward_instructions_{suffix}_{threads}"), value, format!("{how} on {side}"))
            };
            for (name, value, method) in
                [one("linux", linux, "Linux's cpus"), one("core", core, "the co-kernel's cpus")]
            {
                metrics.add(&name, value, "instructions", None, &method);
            }
        }
    }
    guest.down()
}

/// The newest region in the plugin's log, by CPU.
pub fn region(node: &Node) -> Result<Vec<Counts>> {
    let log = Log::parse(&fs::read_to_string(node.plugin_log())?);
    let (_, counts) = log.regions.into_iter().next_back().ok_or("the plugin saw no region")?;
    Ok(counts)
}

fn per_call(counts: &[Counts], cpus: std::ops::Range<usize>, threads: usize) -> f64 {
    let kernel: u64 = counts.iter().enumerate().filter(|(cpu, _)| cpus.contains(cpu)).map(|(_, c)| c.kernel).sum();
    kernel as f64 / (CALLS * threads) as f64
}
