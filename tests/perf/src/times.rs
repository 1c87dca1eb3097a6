// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Measures Tacet's cost in time: calls, faults, moves there and back, up and down. Only ratios of times in one node,
//! from alternating runs, have a meaning: an emulator's microseconds are not a machine's.

use crate::Result;
use crate::guest::{Guest, Numbers};
use crate::instructions::{AT_ONCE, FIRST, PARTITION};
use crate::metric::Metrics;

const CALLS: usize = 1000;
const PAGES: usize = 1000;
const TURNS: usize = 5;
const MOVES: usize = 40;
/// A CPU of Linux for native runs, and the one beside it.
const LINUX_CPU: usize = 1;

/// Adds the figures. The node has no plugin and no partition.
pub fn times(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let native: Vec<f64> = AT_ONCE.iter().map(|threads| at_once(guest, *threads, false)).collect::<Result<_>>()?;
    up_and_down(guest, metrics)?;
    guest.up(PARTITION)?;
    calls(guest, metrics)?;
    faults(guest, metrics)?;
    moves(guest, metrics)?;
    scaling(guest, metrics, &native)?;
    guest.down()
}

fn up_and_down(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let (mut up, mut down, mut off, mut on) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let linux = guest.shell(HOTPLUG)?;
        let mut nanoseconds = linux.split_whitespace().filter_map(|w| w.parse::<f64>().ok());
        off.extend(nanoseconds.next());
        on.extend(nanoseconds.next());
        guest.up("2-3")?;
        up.push(guest.status()?.up_ns as f64);
        guest.down()?;
        down.push(guest.status()?.down_ns as f64);
    }
    let how = format!("middle of {TURNS} turns, two CPUs and 64 MiB, the module's own clock");
    let linux = "baseline: Linux takes the same two CPUs";
    metrics.add("up_ms", middle(up) / 1e6, "ms", Some(middle(off) / 1e6), &format!("{how}; {linux} offline"));
    metrics.add("down_ms", middle(down) / 1e6, "ms", Some(middle(on) / 1e6), &format!("{how}; {linux} online"));
    Ok(())
}

const HOTPLUG: &str = r"
    cd /sys/devices/system/cpu
    start=$(date +%s%N); echo 0 > cpu3/online; echo 0 > cpu2/online
    middle=$(date +%s%N); echo 1 > cpu2/online; echo 1 > cpu3/online
    echo $((middle - start)) $(($(date +%s%N) - middle))";

fn calls(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let words = [CALLS.to_string(), "1".to_owned()];
    let (native, hosted) = in_turns(guest, "forward", "call_ns", &words)?;
    let how =
        format!("getppid, middle of {TURNS} turns of {CALLS} calls; baseline: native in the same node, turn by turn");
    metrics.add("forward_us", hosted / 1e3, "us", Some(native / 1e3), &how);
    metrics.add("forward_time_ratio", hosted / native, "ratio", Some(1.0), &how);
    Ok(())
}

fn faults(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let words = [PAGES.to_string(), "3".to_owned()];
    let (native, hosted) = in_turns(guest, "pagefault", "fault_ns", &words)?;
    let how = format!(
        "first touches of {PAGES} anonymous 4 KiB pages of Linux's memory, middle of {TURNS} turns; baseline: native in the same node, turn by turn"
    );
    metrics.add("page_fault_us", hosted / 1e3, "us", Some(native / 1e3), &how);
    metrics.add("page_fault_time_ratio", hosted / native, "ratio", Some(1.0), &how);
    Ok(())
}

/// The medians of a number that a program prints: native, hosted.
fn in_turns(guest: &Guest, program: &str, number: &str, words: &[String]) -> Result<(f64, f64)> {
    let (mut native, mut hosted) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        native.push(of(&guest.native(program, &[words, &[LINUX_CPU.to_string()]].concat())?, number)?);
        hosted.push(of(&guest.hosted(&["--no-populate", "--memory", "linux"], program, words)?, number)?);
    }
    Ok((middle(native), middle(hosted)))
}

fn moves(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let words = [FIRST.to_string(), MOVES.to_string(), "0".to_owned(), LINUX_CPU.to_string()];
    let said = guest.native("decouple", &words)?;
    let how = format!(
        "from the request to the program's next instruction there, middle of {MOVES}; baseline: sched_setaffinity between two CPUs of Linux"
    );
    for name in ["decouple", "recouple"] {
        let (value, migrate) = (of(&said, &format!("{name}_ns"))?, of(&said, "migrate_ns")?);
        metrics.add(&format!("{name}_us"), value / 1e3, "us", Some(migrate / 1e3), &how);
    }
    Ok(())
}

fn scaling(guest: &Guest, metrics: &mut Metrics, native: &[f64]) -> Result<()> {
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    for (threads, native) in AT_ONCE.iter().zip(native) {
        let value = at_once(guest, *threads, true)?;
        let how = format!(
            "time from the first to the last of {CALLS} forwarded getppid calls on each of {threads} CPUs at once, divided by all \
             calls; two CPUs of Linux serve, {cpus} of the host execute all; baseline: native calls on as many CPUs"
        );
        metrics.add(&format!("forward_scaling_{threads}"), value / 1e3, "us", Some(native / 1e3), &how);
    }
    Ok(())
}

/// Nanoseconds for each call of all threads; the median of three runs.
fn at_once(guest: &Guest, threads: usize, hosted: bool) -> Result<f64> {
    let words = [CALLS.to_string(), threads.to_string()];
    let mut turns = Vec::new();
    for _ in 0..3 {
        let said = if hosted {
            guest.hosted(&["--cpus", PARTITION], "forward", &words)?
        } else {
            guest.native("forward", &[&words[..], &[FIRST.to_string()]].concat())?
        };
        if of(&said, "distinct_cpus")? as usize != threads {
            return Err(format!("forward: {threads} threads did not have a cpu each").into());
        }
        turns.push(of(&said, "elapsed_ns")? / (CALLS * threads) as f64);
    }
    Ok(middle(turns))
}

fn of(said: &Numbers, number: &str) -> Result<f64> {
    said.get(number).copied().ok_or_else(|| format!("a program did not say its {number}").into())
}

/// The median.
pub fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
