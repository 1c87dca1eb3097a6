// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which calls take a program's time in the kernel: on Linux, forwarded, and with the fast path (Gerofi et al., HPDC '18,
//! figures 8 and 9). Called by the bench `pico`.
//!
//! The program takes the times itself, by the same code in all three ways. Time that the emulator's device takes is in
//! them. Memory of hosted programs is present from the beginning (`--populate`), so a first touch costs them nothing, and
//! `mmap` more.

use crate::Result;
use crate::guest::{Guest, Numbers};
use crate::instructions::{FIRST, PARTITION};
use crate::metric::Metrics;
use crate::times::middle;

use super::reads::{DEVICE, served, up};

const ROUNDS: usize = 40;
const TURNS: usize = 3;
const KINDS: [&str; 6] = ["pread", "pwrite", "mmap", "first_touch", "munmap", "futex"];
const WAYS: [&str; 3] = ["native", "forwarded", "fast_path"];

/// Adds the share of each call, and the sum of all over the sum of the forwarded ones.
pub fn measure(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let turns: Vec<_> = (0..TURNS).map(|_| turn(guest)).collect::<Result<_>>()?;
    let ns = |way: usize, kind: &str| middle(turns.iter().map(|turn| turn[way][kind]).collect());
    let sums: Vec<f64> = (0..WAYS.len()).map(|way| KINDS.iter().map(|kind| ns(way, kind)).sum()).collect();
    let how = format!("two threads, {ROUNDS} rounds of tests/perf/shares.c, middle of {TURNS} turns");
    for (way, name) in WAYS.iter().enumerate() {
        for kind in KINDS {
            let how = format!("{how}: time of {kind} over that of all calls and faults of the same way");
            metrics.add(&format!("pico_share_{kind}_{name}"), ns(way, kind) / sums[way], "ratio", None, &how);
        }
        let how = format!("{how}: time of all calls and faults of both threads for a round; baseline: forwarded");
        let rounds = ROUNDS as f64 * 1e3;
        metrics.add(&format!("pico_calls_{name}"), sums[way] / rounds, "us", Some(sums[1] / rounds), &how);
    }
    Ok(())
}

/// By way.
fn turn(guest: &Guest) -> Result<Vec<Numbers>> {
    let mut words = vec![DEVICE.to_owned(), ROUNDS.to_string(), FIRST.to_string()];
    let native = guest.native("shares", &words)?;
    words.pop();
    up(guest)?;
    let forwarded = guest.hosted(&["--no-pico", "--cpus", PARTITION], "shares", &words)?;
    let none = served(guest)?;
    let fast = guest.hosted(&["--cpus", PARTITION], "shares", &words)?;
    let all = served(guest)?;
    guest.down()?;
    // Five calls a round and thread; a few may be Linux's.
    if none > 0.0 || all < (8 * ROUNDS) as f64 {
        return Err(format!("pico: cores served {none} calls without fast paths, {all} with them").into());
    }
    let took = vec![native, forwarded, fast];
    match KINDS.iter().find(|kind| took.iter().any(|numbers| !numbers.contains_key(**kind))) {
        Some(kind) => Err(format!("shares: it printed no {kind}").into()),
        None => Ok(took),
    }
}
