// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rings of io_uring beside the core's own reads: of the device's own commands, polled; and with a thread of Linux that
//! takes the entries, filled on Linux and on a core. Called by the bench `pico`.
//!
//! A core that uses such a thread must make no call for its reads, else the row means something else: this is an error.

use crate::Result;
use crate::guest::Guest;
use crate::metric::Metrics;
use crate::times::middle;

use super::reads::{Read, Way, read, up};

const BYTES: u64 = 4096;
const CALLS: usize = 200;
const TURNS: usize = 3;
/// On Linux, then on cores.
const ROWS: [(Way, &str, &str); 5] = [
    (Way::Native, "", "pread on Linux"),
    (Way::Passed, "_passed", "polled io_uring of the device's own commands on Linux"),
    (Way::Thread, "_thread", "io_uring with a thread of the kernel that takes the entries, on Linux"),
    (Way::CoreThread, "_core_thread", "a core's ring, whose entries a thread of Linux takes"),
    (Way::FastPath, "", "the core itself"),
];
const ON_LINUX: usize = 3;

/// Kernel instructions of a read.
pub fn instructions(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let reads = turn(guest, true)?;
    let native = reads[0].instructions();
    for ((_, suffix, what), read) in ROWS.iter().zip(&reads).filter(|((_, suffix, _), _)| !suffix.is_empty()) {
        let how = format!(
            "kernel instructions of one of {CALLS} reads of {BYTES} bytes by one thread, on all CPUs: {what}; baseline: \
             pread on Linux"
        );
        let name = format!("pico_read_4k_instructions{suffix}");
        metrics.add(&name, read.instructions(), "instructions", Some(native), &how);
    }
    let how = format!("calls of io_uring for one of {CALLS} reads by a core whose entries a thread of Linux takes");
    metrics.add("pico_core_thread_calls", reads[ON_LINUX].entered, "calls", None, &how);
    Ok(())
}

/// Times of a read over that of the core itself.
pub fn times(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let turns: Vec<_> = (0..TURNS).map(|_| turn(guest, false)).collect::<Result<_>>()?;
    let ns = |row: usize| middle(turns.iter().map(|turn| turn[row].call_ns).collect());
    let fast = ns(ROWS.len() - 1);
    for (row, (_, suffix, what)) in ROWS.iter().enumerate().filter(|(_, (_, suffix, _))| !suffix.is_empty()) {
        let how = format!(
            "middle of {TURNS} turns of {CALLS} reads of {BYTES} bytes by one thread: time of {what} over that of the \
             core itself"
        );
        metrics.add(&format!("pico_iops_ratio{suffix}"), ns(row) / fast, "ratio", None, &how);
    }
    Ok(())
}

/// Each row once.
fn turn(guest: &Guest, counted: bool) -> Result<Vec<Read>> {
    let mut reads = Vec::new();
    for (row, (way, ..)) in ROWS.iter().enumerate() {
        if row == ON_LINUX {
            up(guest)?;
        }
        reads.push(read(guest, *way, BYTES, CALLS, 1, counted)?);
    }
    guest.down()?;
    if reads[ON_LINUX].entered > 0.0 {
        return Err(format!("pico: the core made {} calls for a read by a thread", reads[ON_LINUX].entered).into());
    }
    Ok(reads)
}
