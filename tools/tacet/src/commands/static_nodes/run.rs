// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet static run`: a program on static nodes, which ends as the program does.
//!
//! Everything that can be refused here is refused before a node is started or asked.

use std::os::unix::ffi::OsStrExt;

use tacet_ctl::{Error, Result, parse_bytes};
use tacet_static::job::{Job, LOST};
use tacet_static::program::{self, Found};
use tacet_static::state::{self, DEFAULT_NAME, Facts};
use tacet_static::{Accelerator, Spec, launch, map};

use super::shape::{Memory, describe, wrong};
use crate::args::{StaticArgs, StaticRun};
use crate::output;

/// The status of an error that names none.
const UNNAMED: u8 = 1;

/// The nodes that the job gets.
enum Nodes {
    Booted(Facts),
    /// Behind a control socket that the user names: nothing else is known of them.
    Behind(std::path::PathBuf),
    Own(Spec),
}

pub fn run(args: StaticRun, configured: StaticArgs, json: bool) -> Result<u8> {
    // the program owns the statuses below
    run_here(args, configured, json)
        .map_err(|error| if error.status() == UNNAMED { error.with_status(LOST) } else { error })
}

fn run_here(args: StaticRun, configured: StaticArgs, json: bool) -> Result<u8> {
    let memory = Memory::parse(&args.memory, &args.shared, args.processes)?;
    let word = args.command.first().ok_or_else(|| wrong(Error::new("arguments", "no program is given", "")))?;
    let found = program::find(word, &std::env::var_os("PATH").unwrap_or_default())?;
    let job = job(&args, &found, &memory)?;
    job.check_room()?;
    let nodes = choose(&args, configured, &memory)?;
    check_memory(&found, &nodes, &memory, args.processes)?;
    if args.dry_run {
        return rehearse(&nodes, &job, json);
    }
    let report = &mut |line: &str| output::note(line);
    match nodes {
        Nodes::Booted(facts) => {
            if args.verbose {
                super::note_executor(&facts);
            }
            job.run(&facts.control, facts.spec.is_some(), report).map(|ending| ending.status)
        }
        Nodes::Behind(control) => job.run(&control, false, report).map(|ending| ending.status),
        Nodes::Own(spec) => on_own(&job, spec, args.verbose, report),
    }
}

/// Starts nodes for the job. If KVM, which nobody asked for, loses one before the program has begun, emulation is tried.
fn on_own(job: &Job, mut spec: Spec, verbose: bool, report: &mut dyn FnMut(&str)) -> Result<u8> {
    loop {
        let own = launch::for_one_job(&spec)?;
        if verbose {
            super::note_executor(&own.facts);
        }
        let ending = job.run(&own.facts.control, true, report)?;
        if !(ending.lost_at_start && own.facts.kvm && spec.accelerator == Accelerator::Auto) {
            return Ok(ending.status);
        }
        report("KVM executed the node, and the program had not begun: the job runs again, emulated");
        own.distrust_kvm("it lost a node before the program began");
        spec.accelerator = Accelerator::Tcg;
    }
}

fn job(args: &StaticRun, found: &Found, memory: &Memory) -> Result<Job> {
    let stack = args.stack.as_deref().map_or(Ok(0), parse_bytes).map_err(wrong)?;
    if args.nodes == 0 || args.processes == 0 {
        return Err(wrong(Error::new("--nodes and --processes", "there must be some", "use at least 1")));
    }
    Ok(Job {
        program: found.path.clone(),
        arguments: args.command.iter().map(|word| word.as_bytes().to_vec()).collect(),
        nodes: args.nodes,
        processes: args.processes,
        memory_bytes: memory.processes.clone(),
        shared_bytes: memory.shared,
        stack_bytes: stack,
        yield_on_io: args.yield_on_io,
    })
}

/// Booted nodes, if there are some and the flags do not ask for others.
fn choose(args: &StaticRun, configured: StaticArgs, memory: &Memory) -> Result<Nodes> {
    if let Some(control) = &args.control {
        return Ok(Nodes::Behind(control.clone()));
    }
    if !args.own_nodes {
        let name = args.name.as_deref().unwrap_or(DEFAULT_NAME);
        match (state::booted(name)?, &args.name) {
            (Some(facts), _) => return fits(facts, args),
            (None, Some(_)) => super::jobs::booted(name).map(drop)?,
            (None, None) => (),
        }
    }
    describe(args.nodes, &args.shape.clone().or(configured), args.processes, Some(memory)).map(Nodes::Own)
}

/// Refuses flags that describe other nodes than the booted ones.
fn fits(facts: Facts, args: &StaticRun) -> Result<Nodes> {
    let refuse = |flag: &str| {
        let cause = format!("the nodes `{}` are booted already, and the job would run there", facts.name);
        Err(wrong(Error::new(flag, cause, "leave it out, or start other nodes for this job: --own-nodes")))
    };
    let shape = &args.shape;
    let given = [
        ("--cpus", shape.cpus.is_some()),
        ("--service-cpu", shape.service_cpu),
        ("--node-memory", shape.node_memory.is_some()),
        ("--machine", shape.machine.is_some()),
        ("--link", shape.link.is_some()),
        ("--card", shape.card.is_some()),
        ("--accel", shape.accel.is_some()),
        ("--image", shape.image.is_some()),
        ("--qemu", shape.qemu.is_some()),
    ];
    if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
        return refuse(flag);
    }
    match &facts.spec {
        Some(spec) if spec.nodes < args.nodes => {
            let cause = format!("the nodes `{}` are {}", facts.name, spec.nodes);
            let remedy = "ask for fewer, or start other nodes for this job: --own-nodes";
            Err(wrong(Error::new(format!("--nodes {}", args.nodes), cause, remedy)))
        }
        _ => Ok(Nodes::Booted(facts)),
    }
}

/// The same partitioning as on the node, so that the message comes at once.
fn check_memory(found: &Found, nodes: &Nodes, memory: &Memory, processes: u32) -> Result<()> {
    let spec = match nodes {
        Nodes::Own(spec) => Some(spec),
        Nodes::Booted(facts) => facts.spec.as_ref(),
        Nodes::Behind(_) => None,
    };
    let Some(spec) = spec else { return Ok(()) };
    let node = map::Node {
        memory_bytes: spec.memory_bytes,
        machine: spec.machine,
        shares: memory.shares(processes),
        shared_bytes: memory.shared,
    };
    map::of(found, &node).map(drop)
}

fn rehearse(nodes: &Nodes, job: &Job, json: bool) -> Result<u8> {
    match nodes {
        Nodes::Own(spec) => super::print_start(&launch::rehearse(&state::name_for_one_job(), spec)?, json)?,
        Nodes::Booted(_) | Nodes::Behind(_) if json => {
            output::json(
                &serde_json::json!({ "program": job.program, "nodes": job.nodes, "processes": job.processes, "dry_run": true }),
            )?;
        }
        Nodes::Booted(_) | Nodes::Behind(_) => {
            let (nodes, processes) = (job.nodes, job.processes);
            let text =
                format!("would run {} on {nodes} booted nodes, {processes} processes each\n", job.program.display());
            output::print(&text)?;
        }
    }
    Ok(0)
}
