// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet run`: become a program on the partition.
//!
//! The command is gone when the program runs: there is no parent in between,
//! no descriptor left, nothing in the environment.

use tacet_ctl::{CpuSet, Device, Error, HostOptions, PartitionState, Result, Status, execute};

use crate::args::{Memory, RunArgs};
use crate::{USAGE, output};

pub fn run(args: RunArgs, json: bool) -> Result<u8> {
    let cpus = args.cpus.as_deref().map(str::parse::<CpuSet>).transpose();
    let cpus = cpus.map_err(|error| error.with_status(USAGE))?.unwrap_or_default();
    let own_memory = args.memory == Some(Memory::Own);
    let options = HostOptions { cpus, follow: args.follow, populate: !args.no_populate, own_memory };
    let device = Device::open()?;
    let status = device.status()?;
    check(&status, &cpus)?;
    if args.dry_run {
        return rehearse(&status, &options, &args, json);
    }
    device.host_self(&options)?;
    Err(execute(&args.command))
}

/// The module checks again; here the message can name what is wrong.
pub(super) fn check(status: &Status, cpus: &CpuSet) -> Result<()> {
    if status.state != PartitionState::Up {
        return Err(Error::new("partition", "none is up", "start one as root: `tacet up`"));
    }
    let outside = cpus.without(&status.cpus);
    if !outside.is_empty() {
        let cause = format!("not in the partition, which has {}", status.cpus.named());
        return Err(Error::new(outside.named(), cause, "choose with --cpus or --cpu among these"));
    }
    Ok(())
}

fn rehearse(status: &Status, options: &HostOptions, args: &RunArgs, json: bool) -> Result<u8> {
    let cpus = if options.cpus.is_empty() { status.cpus } else { options.cpus };
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if json {
        output::json(&serde_json::json!({
            "command": words, "cpus": cpus, "follow": options.follow, "populate": options.populate,
            "own_memory": options.own_memory, "dry_run": true,
        }))?;
        return Ok(0);
    }
    let children = if options.follow { "with its children" } else { "its children on Linux" };
    let memory = if options.populate { "memory populated and locked" } else { "memory faulted in as it is touched" };
    let whose = if options.own_memory { ", from the partition where it can be" } else { "" };
    output::print(&format!("would run {} on {}, {children}, {memory}{whose}\n", words.join(" "), cpus.named()))?;
    Ok(0)
}
