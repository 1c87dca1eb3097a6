// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet down`: stop the co-kernel, give everything back.

use serde::Serialize;
use tacet_ctl::{CpuSet, Device, Error, Interrupted, Machine, PartitionState, Result, Status, compaction};

use crate::args::DownArgs;
use crate::output;
use crate::text::{count, duration};

/// The JSON of `down`.
#[derive(Serialize)]
struct Report {
    cpus: CpuSet,
    memory_bytes: u64,
    recoupled_threads: u32,
    dry_run: bool,
    /// How long the stop took; absent on a dry run.
    down_ns: Option<u64>,
}

pub fn down(machine: &Machine, args: DownArgs, json: bool) -> Result<u8> {
    let device = Device::open()?;
    let before = device.status()?;
    if before.state == PartitionState::None {
        return Err(Error::new("partition", "none is up", "see `tacet status`"));
    }
    let mut report = Report {
        cpus: before.cpus,
        memory_bytes: before.memory.iter().map(|entry| entry.bytes).sum(),
        recoupled_threads: before.hosted_threads,
        dry_run: args.dry_run,
        down_ns: None,
    };
    if args.dry_run {
        return rehearse(&before, &report, args.force, json);
    }
    // To its end: what comes after it restores Linux's setting.
    let _to_its_end = Interrupted::watch()?;
    device.down(args.force)?;
    compaction::let_locked_pages_move(machine)?;
    let down_ns = device.status()?.down_ns;
    report.down_ns = Some(down_ns);
    if json {
        output::json(&report)?;
    } else if before.state == PartitionState::Failed {
        output::print("down: the failed partition is forgotten; Linux took its CPUs back when it failed\n")?;
    } else {
        output::print(&format!("down: {} back with Linux, after {}\n", report.cpus.named(), duration(down_ns)))?;
    }
    Ok(0)
}

fn rehearse(before: &Status, report: &Report, force: bool, json: bool) -> Result<u8> {
    let threads = count(before.hosted_threads, "thread", "threads");
    if before.hosted_threads > 0 && !force {
        let remedy = "end them (`tacet ps`), or send them back to Linux with --force";
        return Err(Error::new("partition", format!("{threads} hosted"), remedy));
    }
    if json {
        output::json(report)?;
        return Ok(0);
    }
    if before.hosted_threads > 0 {
        output::print(&format!("would send {threads} back to Linux\n"))?;
    }
    output::print(&format!("would give {} back to Linux\n", report.cpus.named()))?;
    Ok(0)
}
