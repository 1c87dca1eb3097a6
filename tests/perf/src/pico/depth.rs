// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Several threads of one CPU read at once: the depth of a core's queue. Called by the bench `pico`.
//!
//! A core has 12 calls with the device at most; a look of its serves all of them. On Linux the threads have one CPU too,
//! which executes another thread while one waits.

use crate::Result;
use crate::guest::Guest;
use crate::metric::Metrics;
use crate::times::middle;

use super::crowd::{WAYS, turn};
use super::reads::read_on_one;

const DEPTHS: [usize; 3] = [1, 4, 12];
const BYTES: u64 = 4096;
const CALLS: usize = 200;
const TURNS: usize = 3;

/// Kernel instructions of a read on all CPUs.
pub fn instructions(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let reads = turn(guest, &DEPTHS, |way, depth| read_on_one(guest, way, BYTES, CALLS, depth, true))?;
    for (depth, reads) in DEPTHS.iter().zip(&reads) {
        let how = format!("kernel instructions of one read of {BYTES} bytes, {depth} threads of one CPU, {CALLS} each");
        let native = reads[0].instructions();
        for ((_, name), read) in WAYS.iter().zip(reads) {
            let all = format!("{how}: on all CPUs, looks included; baseline: pread on Linux");
            let metric = format!("pico_depth_{depth}_instructions_{name}");
            metrics.add(&metric, read.instructions(), "instructions", Some(native), &all);
        }
        let fast = &reads[2];
        for (part, value, what) in [
            ("others", fast.split.others, "all but looks on all CPUs, ticks included"),
            ("linux", fast.linux_instructions(), "on Linux's two CPUs, ticks included"),
        ] {
            let method = format!("{how}, the core itself: {what}; baseline: all of pread on Linux");
            let metric = format!("pico_depth_{depth}_instructions_{part}");
            metrics.add(&metric, value, "instructions", Some(native), &method);
        }
    }
    Ok(())
}

/// Reads in a second.
pub fn times(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let one = |way, depth| read_on_one(guest, way, BYTES, CALLS, depth, false);
    let turns: Vec<_> = (0..TURNS).map(|_| turn(guest, &DEPTHS, one)).collect::<Result<_>>()?;
    for (row, depth) in DEPTHS.iter().enumerate() {
        let how = format!(
            "middle of {TURNS} turns, {depth} threads of one CPU, {CALLS} reads of {BYTES} bytes each: reads of all in \
             a second; baseline: pread on Linux"
        );
        let of = |way: usize| middle(turns.iter().map(|turn| turn[row][way].per_second).collect());
        for (way, (_, name)) in WAYS.iter().enumerate() {
            metrics.add(&format!("pico_depth_{depth}_reads_{name}"), of(way), "1/s", Some(of(0)), &how);
        }
    }
    Ok(())
}
