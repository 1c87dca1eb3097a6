// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CPUs that joined the partition for a job and wait there for the next one: `tacet job release`, and a part of the sweep.
//!
//! The module knows which these are, and refuses to return a CPU on which a job has begun meanwhile.

use std::time::Duration;

use serde::Serialize;
use tacet_ctl::status::USAGE;
use tacet_ctl::{CpuSet, Device, Result};

use crate::args::JobRelease;
use crate::output;

/// Without a word in the configuration.
pub const KEEP: Duration = Duration::from_secs(300);

#[derive(Serialize)]
struct Released {
    released: CpuSet,
    dry_run: bool,
}

/// A job for which the CPUs are needed is about to start, so programs of root that are there go to other CPUs.
pub fn release(args: &JobRelease, json: bool) -> Result<u8> {
    let wanted =
        args.cpus.as_deref().map(str::parse::<CpuSet>).transpose().map_err(|error| error.with_status(USAGE))?;
    let device = Device::open()?;
    let mut released = device.status()?.kept;
    if let Some(wanted) = wanted {
        released = released.intersection(&wanted);
    }
    if !args.dry_run && !released.is_empty() {
        released = give_back(&device, &released)?;
    }
    if json {
        output::json(&Released { released, dry_run: args.dry_run })?;
        return Ok(0);
    }
    let told = told(&released, args.dry_run);
    output::print(if told.is_empty() { "nothing to do\n" } else { &told })?;
    Ok(0)
}

/// Those that no job wanted for `keep` go back to Linux; the result is which.
pub fn release_idle(device: &Device, keep: Duration, dry_run: bool) -> Result<CpuSet> {
    let mut idle = CpuSet::default();
    for cpu in device.status()?.kept.iter() {
        // it may have left meanwhile
        if device.kept_for(cpu).ok().flatten().is_some_and(|time| time >= keep) {
            idle.insert(cpu);
        }
    }
    if dry_run || idle.is_empty() { Ok(idle) } else { give_back(device, &idle) }
}

/// All at once; one by one if a job has begun on some of them, or another call returns them, meanwhile.
fn give_back(device: &Device, cpus: &CpuSet) -> Result<CpuSet> {
    let Err(error) = device.shrink(cpus) else { return Ok(*cpus) };
    let mut released = CpuSet::default();
    for cpu in cpus.iter() {
        let mut one = CpuSet::default();
        one.insert(cpu);
        if device.status()?.kept.contains(cpu) && device.shrink(&one).is_ok() {
            released.insert(cpu);
        }
    }
    let left = device.status()?.kept.intersection(cpus);
    if left.is_empty() { Ok(released) } else { Err(error) }
}

pub fn told(released: &CpuSet, dry_run: bool) -> String {
    if released.is_empty() {
        return String::new();
    }
    let verb = if dry_run { "would go" } else { "go" };
    format!("{} {verb} to Linux\n", released.named())
}
