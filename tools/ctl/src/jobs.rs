// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Jobs: CPUs of the partition and a share of its memory, each for one user. And which of them a program belongs to.
//!
//! Called by the `tacet` command. The module decides whether a program may join a job; here a program finds the one
//! that it means.

use serde::Serialize;
use tacet_abi as abi;
use tacet_abi::TACET_ABI_REVISION;

use crate::facts::text;
use crate::hints::{self, Request};
use crate::{CpuSet, Device, Error, Result, raw};

/// The environment variable that names a program's job.
pub const JOB_VARIABLE: &str = "TACET_JOB";

/// What a job is; in a list also what it uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Job {
    pub id: String,
    pub uid: u32,
    pub cpus: CpuSet,
    /// The most of the partition's memory, in bytes; absent: no limit.
    pub memory_bytes: Option<u64>,
    pub memory_used_bytes: u64,
    pub threads: u32,
    /// Its control group, as in `/proc/PID/cgroup`.
    pub cgroup: Option<String>,
    /// It is ending: nobody joins it any more.
    pub ending: bool,
    /// Of what programs have, its cores map its own alone: another user's jobs run beside it on any processor.
    pub apart: bool,
}

/// Where the CPUs of a job go at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// The partition's.
    Stay,
    /// The partition's, for the next job; those that joined for a job are shown as kept ([`crate::Status::kept`]).
    Keep,
    /// Linux's.
    Return,
}

/// The end of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// Absent: there was no such job.
    pub cpus: Option<CpuSet>,
    /// Processes that SIGTERM did not end.
    pub killed: u32,
    /// Its CPUs are Linux's again.
    pub returned: bool,
    /// Why they are not, although that was asked for.
    pub message: String,
}

impl Device {
    pub fn job_begin(&self, job: &Job) -> Result<()> {
        let mut request = abi::tacet_job_begin { revision: TACET_ABI_REVISION, ..Default::default() };
        request.job.uid = job.uid;
        request.job.cpus = job.cpus.words();
        request.job.memory = job.memory_bytes.unwrap_or(0);
        let about = Request::Job(&job.id);
        write(&mut request.job.id, &job.id, &about)?;
        write(&mut request.job.group, job.cgroup.as_deref().unwrap_or(""), &about)?;
        raw::call(&self.file, &mut request).map_err(|errno| hints::failure(&about, errno, &text(&request.message)))
    }

    /// Ends the programs of a job, by SIGTERM and after `grace_ms` by SIGKILL.
    pub fn job_end(&self, id: &str, grace_ms: u32, leaves: Leaves) -> Result<Ended> {
        let flags = match leaves {
            Leaves::Stay => 0,
            Leaves::Keep => abi::TACET_JOB_KEEP,
            Leaves::Return => abi::TACET_JOB_RETURN,
        };
        let mut request = abi::tacet_job_end { revision: TACET_ABI_REVISION, flags, grace_ms, ..Default::default() };
        let about = Request::Job(id);
        write(&mut request.id, id, &about)?;
        raw::call(&self.file, &mut request).map_err(|errno| hints::failure(&about, errno, &text(&request.message)))?;
        Ok(Ended {
            cpus: (request.ended != 0).then(|| CpuSet::from_words(request.cpus)),
            killed: request.killed,
            returned: request.returned != 0,
            message: text(&request.message),
        })
    }

    /// The jobs that the caller may see, and how many there are.
    pub fn jobs(&self) -> Result<(Vec<Job>, usize)> {
        let mut buffer = vec![abi::tacet_job_entry::default(); abi::TACET_JOBS as usize];
        let (count, total) =
            raw::jobs(&self.file, &mut buffer).map_err(|errno| hints::failure(&Request::List, errno, ""))?;
        Ok((buffer.iter().take(count).map(Job::from).collect(), total))
    }
}

impl From<&abi::tacet_job_entry> for Job {
    fn from(raw: &abi::tacet_job_entry) -> Self {
        let group = text(&raw.group);
        Job {
            id: text(&raw.id),
            uid: raw.uid,
            cpus: CpuSet::from_words(raw.cpus),
            memory_bytes: (raw.memory != 0).then_some(raw.memory),
            memory_used_bytes: raw.memory_used,
            threads: raw.threads,
            cgroup: (!group.is_empty()).then_some(group),
            ending: raw.ending != 0,
            apart: raw.apart != 0,
        }
    }
}

/// Writes `value` and a zero behind it.
fn write(field: &mut [i8], value: &str, about: &Request<'_>) -> Result<()> {
    if value.len() >= field.len() {
        return Err(hints::failure(about, nix::errno::Errno::EINVAL, "text: it is too long"));
    }
    for (byte, value) in field.iter_mut().zip(value.bytes()) {
        *byte = value as i8;
    }
    Ok(())
}

/// Who asks for a job.
pub struct Asker<'a> {
    pub uid: u32,
    pub root: bool,
    /// Of [`JOB_VARIABLE`].
    pub named: Option<&'a str>,
    /// Of `/proc/self/cgroup`; empty: it is not known.
    pub cgroup: &'a str,
}

/// The job of a program: the one that is named, or that of its control group, or its user's only one. `None`: it has
/// none, as every program while there are none (of `total`), and as root's may.
pub fn find<'a>(jobs: &'a [Job], total: usize, asker: &Asker<'_>) -> Result<Option<&'a Job>> {
    let allowed = |job: &&Job| !job.ending && (job.uid == asker.uid || asker.root);
    if let Some(named) = asker.named.filter(|named| !named.is_empty()) {
        let job = jobs.iter().filter(allowed).find(|job| job.id == named);
        let missing = || {
            let cause = "it has not begun, is ending, or is another user's";
            Error::new(format!("job {named}"), cause, format!("see `tacet job list`; {JOB_VARIABLE} names it"))
        };
        return job.ok_or_else(missing).map(Some);
    }
    let depth = |job: &&Job| job.cgroup.as_ref().map_or(0, String::len);
    let within = |job: &&Job| job.cgroup.as_deref().is_some_and(|group| is_within(asker.cgroup, group));
    if let Some(job) = jobs.iter().filter(allowed).filter(within).max_by_key(depth) {
        return Ok(Some(job));
    }
    let mut own = jobs.iter().filter(|job| !job.ending && job.uid == asker.uid);
    match (own.next(), own.next()) {
        (Some(job), None) => Ok(Some(job)),
        (Some(_), Some(_)) => {
            let remedy = format!("name one of them: {JOB_VARIABLE}=ID (`tacet job list`)");
            Err(Error::new("partition", "this user has several jobs", remedy))
        }
        (None, _) if asker.root || total == 0 => Ok(None),
        (None, _) => Err(Error::new(
            "partition",
            "it is divided into jobs, none of which is this user's",
            "root begins one: `tacet job begin ID --user USER --cpus LIST`",
        )),
    }
}

/// Is `path` this group, or one below it?
fn is_within(path: &str, group: &str) -> bool {
    path.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || group.ends_with('/'))
}

/// The control group that a text like `/proc/self/cgroup` names, in the unified hierarchy; empty: none.
pub fn unified(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: &str, uid: u32, cgroup: Option<&str>) -> Job {
        Job { id: id.to_owned(), uid, cgroup: cgroup.map(str::to_owned), ..Default::default() }
    }

    fn found(jobs: &[Job], uid: u32, named: Option<&str>, cgroup: &str) -> std::result::Result<String, String> {
        let asker = Asker { uid, root: uid == 0, named, cgroup };
        let job = find(jobs, jobs.len(), &asker).map_err(|error| error.to_string())?;
        Ok(job.map_or_else(|| "none".to_owned(), |job| job.id.clone()))
    }

    #[test]
    fn a_name_comes_first_then_the_control_group_then_the_only_job() {
        let jobs = [
            job("1", 1000, Some("/slurm/job_1")),
            job("2", 1000, Some("/slurm/job_1/step_2")),
            job("3", 1000, Some("/slurm/job_10")),
            job("4", 1001, None),
        ];
        let ok = |text: &str| Ok(text.to_owned());
        assert_eq!(found(&jobs, 1000, Some("3"), "/slurm/job_1"), ok("3"));
        assert_eq!(found(&jobs, 1000, None, "/slurm/job_1/step_0/task_1"), ok("1"));
        assert_eq!(found(&jobs, 1000, None, "/slurm/job_1/step_2"), ok("2"));
        assert_eq!(found(&jobs, 1000, None, "/slurm/job_10"), ok("3"));
        assert!(found(&jobs, 1000, None, "/slurm/job_100").unwrap_err().contains("several jobs"));
        assert_eq!(found(&jobs, 1001, None, "/slurm/job_1"), ok("4"));
        assert!(found(&jobs, 1001, Some("1"), "").unwrap_err().starts_with("job 1: it has not begun"));
        assert!(found(&jobs, 1002, None, "/slurm/job_1").unwrap_err().contains("none of which is this user's"));
        assert_eq!(found(&jobs, 0, None, "/user.slice"), ok("none"));
        assert_eq!(found(&jobs, 0, None, "/slurm/job_10"), ok("3"));
        assert_eq!(found(&jobs, 0, Some("4"), ""), ok("4"));
        assert_eq!(found(&[], 1000, None, "/a"), ok("none"));
    }

    #[test]
    fn a_job_that_is_ending_takes_nobody() {
        let jobs = [Job { ending: true, ..job("1", 1000, Some("/a")) }];
        assert!(found(&jobs, 1000, None, "/a").is_err());
        assert!(found(&jobs, 1000, Some("1"), "/a").is_err());
    }

    #[test]
    fn the_unified_hierarchy_is_that_of_number_0() {
        assert_eq!(unified("12:cpuset:/x\n0::/user.slice/a\n"), "/user.slice/a");
        assert_eq!(unified("12:cpuset:/x\n"), "");
    }
}
