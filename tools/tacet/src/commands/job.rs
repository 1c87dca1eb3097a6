// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet job`: jobs begin, end, are listed, and are ended when their control group is gone. kept.rs has the CPUs between jobs.
//!
//! The module has the jobs, and does each step completely or not at all: a command that is killed is repeated.

use std::fs;
use std::time::Duration;

use nix::unistd::{Uid, User};
use serde::Serialize;
use tacet_ctl::jobs::{self, Asker, Ended, JOB_VARIABLE, Job, Leaves};
use tacet_ctl::status::USAGE;
use tacet_ctl::{CpuSet, Device, Error, Machine, PartitionState, Result, format_bytes, parse_bytes};

use super::kept::{self, KEEP};
use crate::args::{JobBegin, JobCommand, JobEnd, JobSweep};
use crate::output;

const PAGE_BYTES: u64 = 4096;
const CGROUPS: &str = "sys/fs/cgroup";

/// `keep`: the configuration's.
pub fn job(machine: &Machine, command: JobCommand, keep: Option<Duration>, json: bool) -> Result<u8> {
    let keep = keep.unwrap_or(KEEP);
    match command {
        JobCommand::Begin(args) => begin(&args, json),
        JobCommand::End(args) => end(&args, keep, json),
        JobCommand::List => list(json),
        JobCommand::Sweep(args) => sweep(machine, &args, args.kept_for.unwrap_or(keep), json),
        JobCommand::Release(args) => kept::release(&args, json),
    }
}

/// The job of this process; `None`: it has none.
pub(super) fn own(device: &Device) -> Result<(Option<Job>, CpuSet)> {
    let (jobs, total) = device.jobs()?;
    let named = std::env::var(JOB_VARIABLE).ok();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let uid = Uid::current();
    let asker =
        Asker { uid: uid.as_raw(), root: uid.is_root(), named: named.as_deref(), cgroup: jobs::unified(&groups) };
    let job = jobs::find(&jobs, total, &asker)?.cloned();
    Ok((job, jobs.iter().fold(CpuSet::default(), |all, job| all.union(&job.cpus))))
}

#[derive(Serialize)]
struct Begun<'a> {
    #[serde(flatten)]
    job: &'a Job,
    dry_run: bool,
}

fn begin(args: &JobBegin, json: bool) -> Result<u8> {
    let usage = |error: Error| error.with_status(USAGE);
    let bytes = args.memory.as_deref().map(parse_bytes).transpose().map_err(usage)?;
    let job = Job {
        id: args.id.clone(),
        uid: user(&args.user)?,
        cpus: args.cpus.parse().map_err(usage)?,
        memory_bytes: bytes.map(|bytes| bytes.next_multiple_of(PAGE_BYTES)),
        cgroup: args.cgroup.as_deref().map(group).transpose()?,
        ..Default::default()
    };
    let device = Device::open()?;
    if args.dry_run {
        rehearse(&device, &job)?;
    } else {
        device.job_begin(&job)?;
    }
    if json {
        output::json(&Begun { job: &job, dry_run: args.dry_run })?;
        return Ok(0);
    }
    let memory = job.memory_bytes.map_or_else(String::new, |bytes| format!(", with {}", format_bytes(bytes)));
    let verb = if args.dry_run { "would have" } else { "has" };
    output::print(&format!("job {} of user {} {verb} {}{memory}\n", job.id, args.user, job.cpus.named()))?;
    Ok(0)
}

/// Complains where the module would, as far as that can be told.
fn rehearse(device: &Device, job: &Job) -> Result<()> {
    let status = device.status()?;
    if status.state != PartitionState::Up {
        return Err(Error::new("partition", "none is up", "start one as root: `tacet up`"));
    }
    if let Some(cpu) = job.cpus.without(&status.cpus.union(&status.spare)).iter().next() {
        let remedy = "see `tacet status`: `tacet up --spare` says which may join";
        return Err(Error::new(format!("CPU {cpu}"), "not the partition's", remedy).with_status(USAGE));
    }
    for other in device.jobs()?.0.iter().filter(|other| other.id != job.id) {
        if let Some(cpu) = other.cpus.intersection(&job.cpus).iter().next() {
            let cause = format!("job {} has it", other.id);
            return Err(Error::new(format!("CPU {cpu}"), cause, "see `tacet job list`"));
        }
    }
    Ok(())
}

fn user(name: &str) -> Result<u32> {
    if let Ok(uid) = name.parse() {
        return Ok(uid);
    }
    let found = User::from_name(name).ok().flatten();
    found.map(|user| user.uid.as_raw()).ok_or_else(|| {
        Error::new(format!("user {name}"), "there is no such user", "see `getent passwd`").with_status(USAGE)
    })
}

/// The path below the root of the control groups, as `/proc/PID/cgroup` has it.
fn group(path: &str) -> Result<String> {
    let path = match path {
        "self" => jobs::unified(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default()).to_owned(),
        path => path.strip_prefix("/sys/fs/cgroup").unwrap_or(path).trim_end_matches('/').to_owned(),
    };
    if path.len() > 1 && path.starts_with('/') {
        return Ok(path);
    }
    let remedy = "write its path as in /proc/PID/cgroup, or `self`; every process is in the root group";
    Err(Error::new(format!("control group `{path}`"), "it is not one of a job", remedy).with_status(USAGE))
}

#[derive(Serialize)]
struct End<'a> {
    id: &'a str,
    #[serde(flatten)]
    ended: Ended,
    dry_run: bool,
}

fn end(args: &JobEnd, keep: Duration, json: bool) -> Result<u8> {
    let device = Device::open()?;
    let how = &args.ending;
    let leaves = leaves(how.gives_back, args.keep_cpus, keep);
    let ended = if how.dry_run {
        let cpus = device.jobs()?.0.into_iter().find(|job| job.id == args.id).map(|job| job.cpus);
        Ended { returned: leaves == Leaves::Return && cpus.is_some(), cpus, ..Default::default() }
    } else {
        device.job_end(&args.id, milliseconds(how.grace), leaves)?
    };
    if json {
        output::json(&End { id: &args.id, ended, dry_run: how.dry_run })?;
        return Ok(0);
    }
    output::print(&told(&args.id, &ended, how.dry_run))?;
    Ok(0)
}

fn leaves(returns: bool, keeps: bool, keep: Duration) -> Leaves {
    match (returns, keeps) {
        (true, _) => Leaves::Return,
        (false, true) if keep.is_zero() => Leaves::Return,
        (false, true) => Leaves::Keep,
        (false, false) => Leaves::Stay,
    }
}

fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

fn told(id: &str, ended: &Ended, dry_run: bool) -> String {
    let Some(cpus) = ended.cpus else { return format!("there is no job {id}\n") };
    let verb = if dry_run { "would end" } else { "has ended" };
    let killed =
        if ended.killed > 0 { format!(", after {} processes were killed", ended.killed) } else { String::new() };
    let whose = match (ended.returned, ended.message.is_empty()) {
        (true, _) => format!("; {} go to Linux", cpus.named()),
        (false, true) => String::new(),
        (false, false) => format!("; {} stay in the partition: {}", cpus.named(), ended.message),
    };
    format!("job {id} {verb}{killed}{whose}\n")
}

#[derive(Serialize)]
struct Jobs {
    jobs: Vec<Job>,
    /// CPUs of the partition that wait for the next job.
    kept: CpuSet,
}

const HEADINGS: [&str; 7] = ["JOB", "UID>", "CPUS", "LIMIT>", "USED>", "THREADS>", "STATE"];

fn list(json: bool) -> Result<u8> {
    let device = Device::open()?;
    let (jobs, kept) = (device.jobs()?.0, device.status()?.kept);
    if json {
        output::json(&Jobs { jobs, kept })?;
        return Ok(0);
    }
    let waiting =
        (!kept.is_empty()).then(|| ["-", "-", &kept.to_string(), "-", "-", "-", "kept"].map(str::to_owned).to_vec());
    output::print(&output::table(&HEADINGS, jobs.iter().map(row).chain(waiting)))?;
    Ok(0)
}

fn row(job: &Job) -> Vec<String> {
    vec![
        job.id.clone(),
        job.uid.to_string(),
        job.cpus.to_string(),
        job.memory_bytes.map_or_else(|| "-".to_owned(), format_bytes),
        format_bytes(job.memory_used_bytes),
        job.threads.to_string(),
        match (job.ending, job.apart) {
            (true, _) => "ending",
            (false, true) => "apart",
            (false, false) => "begun",
        }
        .to_owned(),
    ]
}

#[derive(Serialize)]
struct Swept {
    ended: Vec<String>,
    /// CPUs that were kept for long enough.
    released: CpuSet,
    dry_run: bool,
}

/// Ends the jobs whose control group is gone, and goes on with those that are ending already. Then CPUs that were kept for
/// so long go back to Linux.
fn sweep(machine: &Machine, args: &JobSweep, keep: Duration, json: bool) -> Result<u8> {
    let device = Device::open()?;
    let how = &args.ending;
    let stale: Vec<String> =
        device.jobs()?.0.into_iter().filter(|job| is_stale(machine, job)).map(|job| job.id).collect();
    if !how.dry_run {
        for id in &stale {
            device.job_end(id, milliseconds(how.grace), leaves(how.gives_back, true, keep))?;
        }
    }
    let released = kept::release_idle(&device, keep, how.dry_run)?;
    if json {
        output::json(&Swept { ended: stale, released, dry_run: how.dry_run })?;
        return Ok(0);
    }
    let verb = if how.dry_run { "would be ended" } else { "was ended" };
    let mut lines: String = stale.iter().map(|id| format!("job {id} {verb}\n")).collect();
    lines += &kept::told(&released, how.dry_run);
    output::print(if lines.is_empty() { "nothing to do\n" } else { &lines })?;
    Ok(0)
}

/// Without the mount of control groups nobody can tell.
fn is_stale(machine: &Machine, job: &Job) -> bool {
    let exists = |path: &str| machine.exists(&format!("{CGROUPS}/{}", path.trim_start_matches('/')));
    let gone = |group: &String| exists("cgroup.controllers") && !exists(group);
    job.ending || job.cgroup.as_ref().is_some_and(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_stale_if_its_group_is_gone_or_its_end_has_begun() {
        let root = tempfile::tempdir().unwrap();
        let groups = root.path().join(CGROUPS);
        fs::create_dir_all(groups.join("slurm/job_1")).unwrap();
        let machine = Machine::at(root.path());
        let job =
            |cgroup: Option<&str>, ending| Job { cgroup: cgroup.map(str::to_owned), ending, ..Default::default() };
        // no control groups are mounted there
        assert!(!is_stale(&machine, &job(Some("/slurm/job_2"), false)));
        fs::write(groups.join("cgroup.controllers"), "cpuset\n").unwrap();
        assert!(is_stale(&machine, &job(Some("/slurm/job_2"), false)));
        assert!(!is_stale(&machine, &job(Some("/slurm/job_1"), false)));
        assert!(!is_stale(&machine, &job(None, false)));
        assert!(is_stale(&machine, &job(None, true)));
    }

    #[test]
    fn a_group_is_written_as_linux_writes_it() {
        assert_eq!(group("/sys/fs/cgroup/slurm/job_1/").unwrap(), "/slurm/job_1");
        assert_eq!(group("/slurm/job_1").unwrap(), "/slurm/job_1");
        for wrong in ["", "/", "job_1", "/sys/fs/cgroup", "/sys/fs/cgroup/"] {
            assert_eq!(group(wrong).unwrap_err().status(), USAGE, "{wrong}");
        }
    }
}
