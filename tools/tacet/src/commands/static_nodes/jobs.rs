// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet static status` and `tacet static kill`: what a daemon's nodes do, and the end of it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use tacet_ctl::{Error, Result, format_bytes};
use tacet_iod::control::{JobStatus, Status};
use tacet_static::others::{self, Other};
use tacet_static::{Spec, daemon, launch, state};

use super::shape::wrong;
use crate::args::{StaticKill, StaticSet};
use crate::output;
use crate::text::{count, duration};

/// The JSON of `status`.
#[derive(Serialize)]
struct Report {
    name: Option<String>,
    /// The emulated nodes; absent if they are of metal.
    emulated: Option<Spec>,
    /// KVM executes the emulated nodes; and why, or why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    kvm: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_kvm: Option<String>,
    #[serde(flatten)]
    status: Status,
}

/// The control socket that the flags mean.
pub fn control(set: &StaticSet) -> Result<PathBuf> {
    match &set.control {
        Some(path) => Ok(path.clone()),
        None => Ok(booted(&set.name)?.control),
    }
}

pub fn booted(name: &str) -> Result<state::Facts> {
    state::booted(name)?.ok_or_else(|| none_booted(name, &others::all(), nix::unistd::geteuid().as_raw()))
}

fn none_booted(name: &str, others: &[Other], uid: u32) -> Error {
    let object = format!("nodes `{name}`");
    if others.is_empty() {
        return Error::new(object, "none are booted", "boot some: `tacet static boot`");
    }
    let other = |other: &Other| match other.uid {
        own if own == uid => format!("`{}`", other.name),
        uid => format!("`{}` of uid {uid} (--control {})", other.name, other.control.display()),
    };
    let named: Vec<String> = others.iter().map(other).collect();
    let cause = format!("none are booted, but others are: {}", named.join(", "));
    Error::new(object, cause, "choose with --name or --control, or boot some: `tacet static boot`")
}

pub fn status(set: &StaticSet, json: bool) -> Result<u8> {
    let facts = if set.control.is_none() { Some(booted(&set.name)?) } else { None };
    let status = daemon::status(&control(set)?)?;
    if json {
        let emulated = facts.as_ref().and_then(|facts| facts.spec.clone());
        let of_emulated = facts.as_ref().filter(|_| emulated.is_some());
        let (kvm, why_kvm) = (of_emulated.map(|facts| facts.kvm), of_emulated.map(|facts| facts.why_kvm.clone()));
        output::json(&Report { name: facts.map(|facts| facts.name), emulated, kvm, why_kvm, status })?;
    } else {
        output::print(&describe(&status))?;
    }
    Ok(0)
}

fn describe(status: &Status) -> String {
    let headings = ["NODE>", "CPUS>", "MEMORY>", "STATE", "JOB>", "ERRORS>", "HEARD", "ADDRESS"];
    let rows = status.nodes.iter().map(|node| {
        vec![
            node.node.to_string(),
            format!("{}{}", node.cpus, if node.service_cpu { "+1" } else { "" }),
            format_bytes(node.memory_bytes),
            node.state.clone(),
            node.job.map_or_else(|| "-".into(), |job| job.to_string()),
            node.corrected_errors.to_string(),
            format!("{} ago", duration(node.silent_ms.saturating_mul(1_000_000))),
            node.address.clone(),
        ]
    });
    let mut text = output::table(&headings, rows);
    if !status.jobs.is_empty() {
        let rows = status.jobs.iter().map(|job| {
            let nodes: Vec<String> = job.nodes.iter().map(u32::to_string).collect();
            vec![
                job.job.to_string(),
                job.state.clone(),
                nodes.join(","),
                job.processes.to_string(),
                job.uid.to_string(),
                job.pid.to_string(),
                if job.name.is_empty() { "-".into() } else { job.name.clone() },
            ]
        });
        text += "\n";
        text += &output::table(&["JOB>", "STATE", "NODES", "PROCESSES>", "UID>", "PID>", "PROGRAM"], rows);
    }
    let dropped = &status.dropped;
    let packets = dropped.malformed + dropped.strangers + dropped.stale;
    text += &format!(
        "\ndropped {}: {} malformed, {} of strangers, {} old\n",
        count(packets, "packet", "packets"),
        dropped.malformed,
        dropped.strangers,
        dropped.stale
    );
    text
}

/// The JSON of `kill`.
#[derive(Serialize)]
struct Killed {
    jobs: Vec<u32>,
    signal: i32,
    /// The emulated nodes ended, too.
    nodes_ended: bool,
    dry_run: bool,
}

pub fn kill(args: &StaticKill, json: bool) -> Result<u8> {
    let signal = tacet_static::signal::parse(&args.signal).map_err(wrong)?;
    if args.dry_run {
        return rehearse(args, signal, json);
    }
    if args.all {
        return kill_all(args, signal, json);
    }
    let Some(job) = args.job else {
        return Err(wrong(Error::new("arguments", "no job is given", "see `tacet static status`")));
    };
    daemon::kill(&control(&args.set)?, job, signal)?;
    told(&Killed { jobs: vec![job], signal, nodes_ended: false, dry_run: false }, json)
}

fn told(killed: &Killed, json: bool) -> Result<u8> {
    if json {
        output::json(killed)?;
    }
    Ok(0)
}

/// The nodes must be booted; the job may end at any time.
fn rehearse(args: &StaticKill, signal: i32, json: bool) -> Result<u8> {
    let control = control(&args.set)?;
    if json {
        let all = || governed(&control);
        let jobs = args.job.map_or_else(all, |job| Ok(vec![job]))?;
        return told(&Killed { jobs, signal, nodes_ended: args.all, dry_run: true }, json);
    }
    match args.job {
        Some(job) => output::print(&format!("would send signal {signal} to the processes of job {job}\n"))?,
        None => {
            let jobs = governed(&control)?.len() as u64;
            output::print(&format!("would end {} and all nodes of the set\n", count(jobs, "job", "jobs")))?;
        }
    }
    Ok(0)
}

/// Emulated nodes end; nodes of metal lose their jobs.
fn kill_all(args: &StaticKill, signal: i32, json: bool) -> Result<u8> {
    let control = control(&args.set)?;
    let jobs = governed(&control)?;
    for job in &jobs {
        // it may end by itself meanwhile
        daemon::kill(&control, *job, signal).ok();
    }
    let emulated = args.set.control.is_none() && booted(&args.set.name)?.spec.is_some();
    if emulated {
        launch::down(&args.set.name)?;
    }
    told(&Killed { jobs, signal, nodes_ended: emulated, dry_run: false }, json)
}

/// The jobs that this user may end: root each, others their own.
fn governed(control: &Path) -> Result<Vec<u32>> {
    let uid = nix::unistd::geteuid();
    let is_mine = |job: &&JobStatus| uid.is_root() || job.uid == uid.as_raw();
    Ok(daemon::status(control)?.jobs.iter().filter(is_mine).map(|job| job.job).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacet_iod::control::{Dropped, NodeStatus};

    #[test]
    fn other_sets_are_named() {
        let other = |name: &str, uid| Other { name: name.into(), uid, control: format!("/run/{name}/control").into() };
        let told = |others: &[Other]| none_booted("default", others, 1000).to_string();
        assert_eq!(told(&[]), "nodes `default`: none are booted; boot some: `tacet static boot`");
        assert_eq!(
            told(&[other("big", 1000), other("default", 7)]),
            "nodes `default`: none are booted, but others are: `big`, `default` of uid 7 (--control /run/default/control); \
             choose with --name or --control, or boot some: `tacet static boot`"
        );
    }

    #[test]
    fn the_table_has_nodes_jobs_and_dropped_packets() {
        let node = NodeStatus {
            node: 3,
            address: "127.0.0.1:9".into(),
            cpus: 2,
            memory_bytes: 256 << 20,
            service_cpu: false,
            state: "job".into(),
            job: Some(7),
            corrected_errors: 4,
            silent_ms: 12,
        };
        let job = JobStatus {
            job: 7,
            name: "a.out".into(),
            uid: 0,
            pid: 99,
            state: "running".into(),
            nodes: vec![3],
            processes: 2,
        };
        let dropped = Dropped { malformed: 0, strangers: 1, stale: 2 };
        let text = describe(&Status { nodes: vec![node], jobs: vec![job], dropped });
        assert_eq!(
            text,
            "NODE  CPUS   MEMORY  STATE  JOB  ERRORS  HEARD        ADDRESS\n   3     2  256 MiB  job      7       4  12.0 ms ago  \
             127.0.0.1:9\n\nJOB  STATE    NODES  PROCESSES  UID  PID  PROGRAM\n  7  running  3              2    0   99  a.out\n\n\
             dropped 3 packets: 0 malformed, 1 of strangers, 2 old\n"
        );
    }
}
