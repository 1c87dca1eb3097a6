// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads through a virtual function of the disk (SR-IOV) beside reads through queues that cores have in Linux's controller:
//! the two modes of a fast path, in one node. Called by the bench `pico`.
//!
//! `tests/faults/nvme_lib.sh` makes the function. A partition without the expected mode is an error.

use crate::Result;
use crate::guest::Guest;
use crate::metric::Metrics;
use crate::times::middle;

use super::reads::{Read, Way, read, up};

const BYTES: u64 = 4096;
const CALLS: usize = 300;
const TURNS: usize = 3;
const MIB: u64 = 1 << 20;
const LONG_CALLS: usize = 30;
const MODES: [Mode; 2] = [Mode::Shared, Mode::Virtual];

/// The cores have queues of Linux's controller, or of a virtual function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Shared,
    Virtual,
}

impl Mode {
    fn word(self) -> &'static str {
        match self {
            Mode::Shared => "shared",
            Mode::Virtual => "virtual",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Mode::Shared => "the core itself, by queues in Linux's controller",
            Mode::Virtual => "the core itself, by a virtual function",
        }
    }
}

/// Kernel instructions of a read, and commands for a MiB.
pub fn instructions(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let native = read(guest, Way::Native, BYTES, CALLS, 1, true)?;
    let native_long = read(guest, Way::Native, MIB, LONG_CALLS, 1, true)?;
    let how = format!("kernel instructions of one of {CALLS} reads of {BYTES} bytes by one thread");
    let all = Some(native.instructions());
    for mode in MODES {
        give(guest, mode)?;
        let short = read(guest, Way::FastPath, BYTES, CALLS, 1, true)?;
        let long = read(guest, Way::FastPath, MIB, LONG_CALLS, 1, true)?;
        guest.down()?;
        let (word, what) = (mode.word(), mode.what());
        let mut add = |name: &str, value, which: &str| {
            let method = format!("{how}, {what}: {which}; baseline: all of pread on Linux");
            metrics.add(&format!("pico_{word}_read_4k_instructions{name}"), value, "instructions", all, &method);
        };
        add("", short.instructions(), "on all CPUs, looks at the device included");
        add("_looks", short.split.looks, "looks at the device");
        add("_others", short.split.others, "all but looks on all CPUs, ticks included");
        add("_linux", short.linux_instructions(), "on Linux's two CPUs, ticks included");
        let method = format!(
            "commands for a MiB, by {LONG_CALLS} reads of {MIB} bytes, {what}; the disk takes 512 KiB at most; baseline: \
             Linux's requests for pread"
        );
        let (name, linux) = (format!("pico_{word}_requests_per_mib"), Some(native_long.requests_per_mib));
        metrics.add(&name, long.requests_per_mib, "requests", linux, &method);
    }
    Ok(())
}

/// Times of a read, in turns.
pub fn times(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let turns: Vec<_> = (0..TURNS).map(|_| turn(guest)).collect::<Result<_>>()?;
    let ns = |row: usize| middle(turns.iter().map(|turn| turn[row].call_ns).collect());
    for (row, mode) in MODES.iter().enumerate() {
        let how = format!(
            "middle of {TURNS} turns of {CALLS} reads of {BYTES} bytes by one thread: time of pread on Linux over that \
             of {}",
            mode.what()
        );
        metrics.add(&format!("pico_{}_iops_ratio", mode.word()), ns(0) / ns(row + 1), "ratio", None, &how);
    }
    Ok(())
}

/// On Linux, then in each mode.
fn turn(guest: &Guest) -> Result<Vec<Read>> {
    let mut reads = vec![read(guest, Way::Native, BYTES, CALLS, 1, false)?];
    for mode in MODES {
        give(guest, mode)?;
        reads.push(read(guest, Way::FastPath, BYTES, CALLS, 1, false)?);
        guest.down()?;
    }
    Ok(reads)
}

/// Starts a partition in that mode: Tacet uses a virtual function if it was given one.
fn give(guest: &Guest, mode: Mode) -> Result<()> {
    let scripts = guest.programs.program("");
    let change = if mode == Mode::Virtual { "prepare" } else { "take_back" };
    guest.shell(&format!("F={scripts}; . $F/lib.sh; . $F/nvme_lib.sh; {change}"))?;
    up(guest)?;
    let wrong = |said| format!("pico: the disk has no fast path of the mode {}: {said}", mode.word());
    let said = guest.shell("grep ^device /sys/kernel/tacet/pico")?;
    let good = said.lines().count() == 1 && said.contains(&format!(" {} works", mode.word()));
    if good { Ok(()) } else { Err(wrong(said.trim().to_owned()).into()) }
}
