// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet grow` and `tacet shrink`: CPUs join the partition that is up, and leave it, while programs run there.

use serde::Serialize;
use tacet_ctl::status::USAGE;
use tacet_ctl::{CpuSet, Device, Error, Interrupted, PartitionState, Result, Status};

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
    dry_run: bool,
    /// How long it took; absent if nothing was done.
    took_ns: Option<u64>,
}

/// What both have in common.
struct Change {
    /// The CPUs that are not yet where they are wanted.
    missing: CpuSet,
    after: CpuSet,
    /// What happens to the CPUs, and what would.
    verb: [&'static str; 2],
    perform: fn(&Device, &CpuSet) -> Result<u64>,
}

pub fn grow(args: &ResizeArgs, json: bool) -> Result<u8> {
    let (device, status, wanted) = look(args)?;
    let missing = wanted.without(&status.cpus);
    if let Some(cpu) = missing.without(&status.spare).iter().next() {
        let cause = "it is not one that may join the partition";
        return Err(Error::new(format!("CPU {cpu}"), cause, "`tacet up --spare` says which may").with_status(USAGE));
    }
    let after = status.cpus.union(&missing);
    resize(
        &device,
        args.dry_run,
        json,
        &Change { missing, after, verb: ["joined", "would join"], perform: Device::grow },
    )
}

pub fn shrink(args: &ResizeArgs, json: bool) -> Result<u8> {
    let (device, status, wanted) = look(args)?;
    let known = status.cpus.union(&status.spare);
    if let Some(cpu) = wanted.without(&known).iter().next() {
        return Err(
            Error::new(format!("CPU {cpu}"), "it is not the partition's", "see `tacet status`").with_status(USAGE)
        );
    }
    let missing = wanted.intersection(&status.cpus);
    let after = status.cpus.without(&missing);
    resize(
        &device,
        args.dry_run,
        json,
        &Change { missing, after, verb: ["left", "would leave"], perform: Device::shrink },
    )
}

fn look(args: &ResizeArgs) -> Result<(Device, Status, CpuSet)> {
    let wanted = args.cpus.parse::<CpuSet>().map_err(|error| error.with_status(USAGE))?;
    let device = Device::open()?;
    let status = device.status()?;
    if status.state != PartitionState::Up {
        return Err(Error::new("partition", "none is up", "start one as root: `tacet up`"));
    }
    Ok((device, status, wanted))
}

fn resize(device: &Device, dry_run: bool, json: bool, change: &Change) -> Result<u8> {
    // The module ends what it has begun, or undoes it.
    let _to_its_end = Interrupted::watch()?;
    let acts = !dry_run && !change.missing.is_empty();
    let took_ns = if acts { Some((change.perform)(device, &change.missing)?) } else { None };
    if json {
        output::json(&Report { changed: change.missing, cpus: change.after, dry_run, took_ns })?;
        return Ok(0);
    }
    let named = change.missing.named();
    let [done, would] = change.verb;
    output::print(&match took_ns {
        _ if change.missing.is_empty() => "nothing to do\n".to_string(),
        Some(ns) => format!("{named} {done} the partition, after {}\n", duration(ns)),
        None => format!("{named} {would} the partition\n"),
    })?;
    Ok(0)
}
