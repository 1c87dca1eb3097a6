// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet grow` and `tacet shrink`: CPUs and memory join the partition that is up, and leave it, while programs run there.
//!
//! CPUs join before memory, and leave after it: memory comes and goes through a core. If memory cannot join, the CPUs
//! that joined for it leave again.

use serde::Serialize;
use tacet_ctl::status::USAGE;
use tacet_ctl::{CpuSet, Device, Error, Interrupted, PartitionState, Result, Status, format_bytes, parse_bytes};

use crate::args::ResizeArgs;
use crate::output;
use crate::text::duration;

/// The JSON of both.
#[derive(Serialize)]
struct Report {
    /// Those that joined or left.
    changed: CpuSet,
    /// The partition's afterwards.
    cpus: CpuSet,
    /// Bytes that joined or left.
    memory: u64,
    dry_run: bool,
    /// How long it took; absent if nothing was done.
    took_ns: Option<u64>,
}

/// What is asked, and what of it is not so yet.
struct Change {
    device: Device,
    status: Status,
    /// The CPUs that are not yet where they are wanted.
    missing: CpuSet,
    bytes: u64,
    node: Option<u32>,
}

pub fn grow(args: &ResizeArgs, json: bool) -> Result<u8> {
    let (mut change, wanted) = look(args)?;
    change.missing = wanted.without(&change.status.cpus);
    if let Some(cpu) = change.missing.without(&change.status.spare).iter().next() {
        let cause = "it is not one that may join the partition";
        return Err(Error::new(format!("CPU {cpu}"), cause, "`tacet up --spare` says which may").with_status(USAGE));
    }
    let after = change.status.cpus.union(&change.missing);
    finish(args, json, &change, after, ["joined", "would join"], |change| {
        let took = if change.missing.is_empty() { 0 } else { change.device.grow(&change.missing)? };
        if change.bytes == 0 {
            return Ok(took);
        }
        let memory = change.device.grow_memory(change.bytes, change.node);
        if memory.is_err() && !change.missing.is_empty() {
            change.device.shrink(&change.missing)?;
        }
        Ok(took + memory?)
    })
}

pub fn shrink(args: &ResizeArgs, json: bool) -> Result<u8> {
    let (mut change, wanted) = look(args)?;
    let known = change.status.cpus.union(&change.status.spare);
    if let Some(cpu) = wanted.without(&known).iter().next() {
        return Err(
            Error::new(format!("CPU {cpu}"), "it is not the partition's", "see `tacet status`").with_status(USAGE)
        );
    }
    change.missing = wanted.intersection(&change.status.cpus);
    let after = change.status.cpus.without(&change.missing);
    finish(args, json, &change, after, ["left", "would leave"], |change| {
        let memory = if change.bytes == 0 { Ok(0) } else { change.device.shrink_memory(change.bytes, change.node) };
        let took = if change.missing.is_empty() { 0 } else { change.device.shrink(&change.missing)? };
        Ok(took + memory?)
    })
}

fn look(args: &ResizeArgs) -> Result<(Change, CpuSet)> {
    let usage = |error: Error| error.with_status(USAGE);
    let wanted = args.cpus.as_deref().map_or(Ok(CpuSet::default()), str::parse::<CpuSet>).map_err(usage)?;
    let bytes = args.memory.as_deref().map_or(Ok(0), parse_bytes).map_err(usage)?;
    let device = Device::open()?;
    let status = device.status()?;
    if status.state != PartitionState::Up {
        return Err(Error::new("partition", "none is up", "start one as root: `tacet up`"));
    }
    Ok((Change { device, status, missing: CpuSet::default(), bytes, node: args.node }, wanted))
}

fn finish(
    args: &ResizeArgs,
    json: bool,
    change: &Change,
    after: CpuSet,
    [done, would]: [&'static str; 2],
    perform: impl FnOnce(&Change) -> Result<u64>,
) -> Result<u8> {
    // The module ends what it has begun, or undoes it.
    let _to_its_end = Interrupted::watch()?;
    let nothing = change.missing.is_empty() && change.bytes == 0;
    let took_ns = if args.dry_run || nothing { None } else { Some(perform(change)?) };
    if json {
        let Change { missing, bytes, .. } = change;
        let report = Report { changed: *missing, cpus: after, memory: *bytes, dry_run: args.dry_run, took_ns };
        output::json(&report)?;
        return Ok(0);
    }
    let cpus = (!change.missing.is_empty()).then(|| change.missing.named());
    let memory = (change.bytes > 0).then(|| format_bytes(change.bytes));
    let named = cpus.into_iter().chain(memory).collect::<Vec<_>>().join(" and ");
    output::print(&match took_ns {
        _ if nothing => "nothing to do\n".to_string(),
        Some(ns) => format!("{named} {done} the partition, after {}\n", duration(ns)),
        None => format!("{named} {would} the partition\n"),
    })?;
    Ok(0)
}
