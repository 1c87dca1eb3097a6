// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many cores read at once, and two CPUs of Linux serve those that forward: the contention that fast paths are for
//! (Gerofi et al., HPDC '18). Called by the bench `pico`.
//!
//! On Linux each thread has a CPU of its own, as many as the partition has otherwise.

use crate::Result;
use crate::guest::Guest;
use crate::metric::Metrics;
use crate::times::middle;

use super::reads::{Read, Way, read, up};

const AT_ONCE: [usize; 3] = [2, 4, 8];
const BYTES: u64 = 4096;
const CALLS: usize = 200;
const TURNS: usize = 3;
pub(super) const WAYS: [(Way, &str); 3] =
    [(Way::Native, "native"), (Way::Forwarded, "forwarded"), (Way::FastPath, "fast_path")];

/// Instructions on the two CPUs that Linux keeps.
pub fn instructions(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let reads = turn(guest, &AT_ONCE, |way, threads| read(guest, way, BYTES, CALLS, threads, true))?;
    for (threads, reads) in AT_ONCE.iter().zip(&reads) {
        let how = format!("kernel instructions of one read of {BYTES} bytes, {threads} cores at once, {CALLS} each");
        let native = reads[0].instructions();
        for ((_, name), read) in WAYS.iter().zip(reads).skip(1) {
            let linux = format!("{how}: on Linux's two CPUs, ticks included; baseline: all of a read on Linux");
            let metric = format!("pico_{threads}_cores_linux_instructions_{name}");
            metrics.add(&metric, read.linux_instructions(), "instructions", Some(native), &linux);
        }
    }
    Ok(())
}

/// Reads in a second, and what share of its time without contention a read takes.
pub fn times(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let one = |way, threads| read(guest, way, BYTES, CALLS, threads, false);
    let turns: Vec<_> = (0..TURNS).map(|_| turn(guest, &AT_ONCE, one)).collect::<Result<_>>()?;
    for (row, threads) in AT_ONCE.iter().enumerate() {
        let of =
            |way: usize, value: fn(&Read) -> f64| middle(turns.iter().map(|turn| value(&turn[row][way])).collect());
        let how = format!("middle of {TURNS} turns, {threads} threads, {CALLS} reads of {BYTES} bytes each");
        let native = of(0, |read| read.per_second);
        for (way, (_, name)) in WAYS.iter().enumerate() {
            let baseline = (way > 0).then_some(native);
            let each = format!("{how}: reads of all in a second; baseline: pread on Linux, a CPU for each");
            let metric = format!("pico_{threads}_cores_reads_{name}");
            metrics.add(&metric, of(way, |read| read.per_second), "1/s", baseline, &each);
        }
        let (forwarded, fast) = (of(1, |read| read.call_ns), of(2, |read| read.call_ns));
        let how = format!("{how}: time of a forwarded read over that of one by the core itself");
        metrics.add(&format!("pico_{threads}_cores_ratio_forwarded"), forwarded / fast, "ratio", None, &how);
    }
    Ok(())
}

/// Of each number of threads each way; a partition is up for those that need one.
pub(super) fn turn(
    guest: &Guest,
    numbers: &[usize],
    one: impl Fn(Way, usize) -> Result<Read>,
) -> Result<Vec<Vec<Read>>> {
    let mut reads = vec![Vec::new(); numbers.len()];
    for (way, _) in WAYS {
        if way == Way::Forwarded {
            up(guest)?;
        }
        for (threads, reads) in numbers.iter().zip(&mut reads) {
            reads.push(one(way, *threads)?);
        }
    }
    guest.down()?;
    Ok(reads)
}
