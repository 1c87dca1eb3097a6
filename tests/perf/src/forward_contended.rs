// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Eight cores forward calls at once to two CPUs of Linux: what a call costs, and whether all threads get on alike.
//!
//! Called by the bench `forward`, in a node of its own.

use tacet_node::{Cache, KernelLine, Node};

use crate::Result;
use crate::configuration::counted_node;
use crate::forward::set;
use crate::guest::Guest;
use crate::instructions::region;
use crate::metric::{Metric, Metrics};
use crate::programs::Programs;
use crate::provenance::place;

/// Linux keeps the CPUs before this one.
const FIRST: usize = 2;
const PARTITION: &str = "2-9";
const THREADS: usize = 8;
const CALLS: usize = 500;
/// How proxies wait, and the module's parameters for that.
const WAITS: [(&str, &str); 2] = [("halting", "halt=Y"), ("asleep", "halt=N")];

/// The figures of one kernel.
pub fn contended(cache: &Cache, kernel: KernelLine, programs: &Programs) -> Result<Vec<Metric>> {
    let node = Node::boot(cache, &counted_node(kernel, 10, programs))?;
    let guest = Guest { node: &node, programs };
    let mut metrics = Metrics::at(&place(&node, programs.top()));
    // loads the module
    guest.up(PARTITION)?;
    for (name, parameters) in WAITS {
        set(&guest, parameters)?;
        one(&guest, name, parameters, &kernel.to_string(), &mut metrics)?;
    }
    guest.down()?;
    node.power_off()?;
    Ok(metrics.into_vec())
}

fn one(guest: &Guest, name: &str, parameters: &str, kernel: &str, metrics: &mut Metrics) -> Result<()> {
    let words = [CALLS.to_string(), THREADS.to_string()];
    let said = guest.hosted(&["--cpus", PARTITION], "forward", &words)?;
    let of = |number: &str| said.get(number).copied().ok_or_else(|| format!("forward did not say its {number}"));
    if of("distinct_cpus")? as usize != THREADS {
        return Err(format!("forward: {THREADS} threads did not have a cpu each").into());
    }
    let counts = region(guest.node)?;
    let calls = (CALLS * THREADS) as f64;
    let each = |cpus: std::ops::Range<usize>| {
        counts[cpus].iter().map(|cpu| cpu.kernel.saturating_sub(cpu.looks)).sum::<u64>() as f64 / calls
    };
    let how = format!(
        "one of {CALLS} forwarded getppid calls of each of {THREADS} cores at once, served by two CPUs of Linux, {parameters}; \
         without looks"
    );
    for (side, value) in [("linux", each(0..FIRST)), ("core", each(FIRST..counts.len()))] {
        let method = format!("{how}; on the CPUs of the {side}, ticks included");
        metrics.add(&format!("forward_contended_{name}_{side}_{kernel}"), value, "instructions", None, &method);
    }
    let even = "time of the thread that took longest; baseline: the median thread's";
    let (slowest, middle) = (of("slowest_call_ns")?, of("call_ns")?);
    let name = format!("forward_contended_{name}_slowest_{kernel}");
    metrics.add(&name, slowest / 1e3, "us", Some(middle / 1e3), &format!("{how}: {even}"));
    Ok(())
}
