// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet run`: replace this process by a program on the partition.
//!
//! Nothing of the command is left when the program runs: no parent process, no descriptor, no environment variable.
//! With a profile a parent stays, and writes the profile after the program has ended.

use std::thread::sleep;
use std::time::Duration;

use nix::unistd::{Uid, User};
use tacet_ctl::seats::{self, Bind, Seat};
use tacet_ctl::status::USAGE;
use tacet_ctl::{
    Attended, CpuSet, Device, Error, HostOptions, PartitionState, Rank, Result, Status, attend, execute, until_free,
};

use super::profile::Report;
use crate::args::{Burst, Memory, RunArgs};
use crate::output;

pub fn run(args: RunArgs, json: bool) -> Result<u8> {
    let usage = |error: Error| error.with_status(USAGE);
    let wanted: Option<CpuSet> = args.cpus.as_deref().map(str::parse).transpose().map_err(usage)?;
    let bind: Option<Bind> = args.bind.as_deref().map(str::parse).transpose().map_err(usage)?;
    let rank = if args.undivided { None } else { Rank::find(|name| std::env::var(name).ok())? };
    let device = Device::open()?;
    let mut status = device.status()?;
    let job = narrow(&device, &mut status)?;
    check(&status, &wanted.unwrap_or_default())?;
    let allowed = wanted.filter(|cpus| !cpus.is_empty()).unwrap_or(status.cpus);
    let (cpus, order) = choose(&device, &allowed, bind, rank)?;
    let options = HostOptions {
        cpus,
        follow: args.follow,
        populate: args.populate,
        range: args.memory != Some(Memory::Linux),
        data_in_range: args.memory == Some(Memory::All),
        order,
        no_pico: args.no_pico,
        bursts: args.burst == Some(Burst::Auto),
        job,
        profile: args.profile || args.profile_to.is_some(),
    };
    if args.dry_run {
        return rehearse(&options, &args, json);
    }
    if !options.profile {
        host(&device, &options, args.wait)?;
        return Err(execute(&args.command));
    }
    let report = Report::to(args.profile_to.as_deref(), json)?;
    match attend()? {
        Attended::Child => {
            host(&device, &options, args.wait)?;
            Err(execute(&args.command))
        }
        Attended::Ended(status) => {
            report.write(&device.profile(None)?)?;
            Ok(status)
        }
    }
}

/// The id of this process's job. Of the partition's CPUs only those stay in `status` that it may use.
fn narrow(device: &Device, status: &mut Status) -> Result<Option<String>> {
    if status.state != PartitionState::Up {
        return Ok(None);
    }
    let (job, taken) = super::job::own(device)?;
    let free = status.cpus.without(&taken);
    if job.is_none() && free.is_empty() && !status.cpus.is_empty() {
        let remedy = "name the job to which the program belongs: TACET_JOB=ID (`tacet job list`)";
        return Err(Error::new("partition", "all its CPUs are those of jobs", remedy));
    }
    status.cpus = job.as_ref().map_or(free, |job| job.cpus);
    Ok(job.map(|job| job.id))
}

/// Hosts this process, with `--wait` as soon as no other user's programs are there. Until then nothing is changed:
/// Ctrl-C ends this process as it ends any.
fn host(device: &Device, options: &HostOptions, wait: Option<Option<Duration>>) -> Result<()> {
    let Some(limit) = wait else { return device.host_self(options) };
    until_free(
        limit,
        || device.host_self_unless_taken(options),
        sleep,
        || {
            let user = device.status()?.user.map(Uid::from_raw);
            let name =
                user.map(|user| User::from_uid(user).ok().flatten().map_or_else(|| user.to_string(), |user| user.name));
            let whose = name.map_or_else(|| "another user".to_owned(), |name| format!("user {name}"));
            output::note(&format!(
                "waits until the programs of {whose} have left the partition; Ctrl-C ends the waiting"
            ));
            Ok(())
        },
    )
}

/// The module checks this again; the check here can name the CPU that is wrong.
pub(super) fn check(status: &Status, cpus: &CpuSet) -> Result<()> {
    if status.state != PartitionState::Up {
        return Err(Error::new("partition", "none is up", "start one as root: `tacet up`"));
    }
    if status.cpus.is_empty() {
        return Err(Error::new("partition", "it has no CPU yet", "as root: `tacet grow --cpus LIST`"));
    }
    let outside = cpus.without(&status.cpus);
    if !outside.is_empty() {
        let cause = format!("not in the partition, which has {}", status.cpus.named());
        return Err(Error::new(outside.named(), cause, "choose with --cpus or --cpu among these"));
    }
    Ok(())
}

/// The CPUs that the program may use, and the order in which its threads are bound.
fn choose(device: &Device, allowed: &CpuSet, bind: Option<Bind>, rank: Option<Rank>) -> Result<(CpuSet, Vec<u32>)> {
    if let Some(Bind::List(list)) = &bind {
        let outside = list.iter().copied().collect::<CpuSet>().without(allowed);
        if !outside.is_empty() {
            let cause = format!("not among {}, which the program may use", allowed.named());
            return Err(Error::new(format!("--bind: {}", outside.named()), cause, "see `tacet status` and --cpus"));
        }
        let mine = rank.map_or(list.as_slice(), |rank| rank.part(list)).to_vec();
        return Ok((mine.iter().copied().collect(), mine));
    }
    if bind.is_none() && rank.is_none() {
        return Ok((*allowed, Vec::new()));
    }
    let mut places = Vec::new();
    for cpu in allowed.iter() {
        let status = device.cpu_status(cpu)?;
        places.push(Seat { cpu, package: status.package, physical_core: status.physical_core });
    }
    if let Some(rank) = rank {
        places = seats::divide(&places, &rank);
    }
    let order = bind.map_or_else(Vec::new, |bind| seats::order(&places, &bind));
    Ok((places.iter().map(|seat| seat.cpu).collect(), order))
}

fn rehearse(options: &HostOptions, args: &RunArgs, json: bool) -> Result<u8> {
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if json {
        output::json(&serde_json::json!({
            "command": words, "cpus": options.cpus, "follow": options.follow, "populate": options.populate,
            "own_memory": options.range, "own_data": options.data_in_range, "order": options.order, "profile": options.profile,
            "fast_paths": !options.no_pico, "bursts": options.bursts, "dry_run": true,
        }))?;
        return Ok(0);
    }
    let children = if options.follow { "with its children" } else { "its children on Linux" };
    let memory =
        if options.populate { "memory faulted in ahead, and locked" } else { "memory faulted in as it is touched" };
    let source = match (options.range, options.data_in_range) {
        (true, true) => ", from the partition where it can be, .data and .bss too",
        (true, false) => ", from the partition where it can be",
        (false, _) => "",
    };
    let devices = if options.no_pico { ", its I/O on devices by Linux" } else { "" };
    let bursts = if options.bursts { ", on Linux while it makes many calls" } else { "" };
    let order: Vec<String> = options.order.iter().map(u32::to_string).collect();
    let bound = if order.is_empty() { String::new() } else { format!(", bound to {} in turn", order.join(",")) };
    output::print(&format!(
        "would run {} on {}{bound}, {children}, {memory}{source}{devices}{bursts}\n",
        words.join(" "),
        options.cpus.named()
    ))?;
    Ok(0)
}
