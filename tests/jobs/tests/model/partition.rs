// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The model: what a partition's CPUs, jobs and programs are after each request.

use std::collections::BTreeMap;

use crate::answer::{Answer, Job};
use crate::request::{KEEP, Manner, RETURN, Request};

const REACH: u64 = 0xffc;
const MEMORY_MIB: u64 = 4_096;
const ESRCH: i32 = 3;
const ENOMEM: i32 = 12;
const EACCES: i32 = 13;
const EBUSY: i32 = 16;
const EEXIST: i32 = 17;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;
const ENOTUNIQ: i32 = 76;
const ETIMEDOUT: i32 = 110;

#[derive(Debug, Clone)]
struct Program {
    job: Option<String>,
    threads: usize,
    manner: Manner,
    /// Where its threads are, as last told: those of a stuck one stay there.
    cpus: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Partition {
    here: u64,
    lent: u64,
    jobs: Vec<Job>,
    programs: BTreeMap<u32, Program>,
    /// The job that a request is about was ending before that request.
    was_ending: bool,
}

fn id(job: u8) -> String {
    format!("j{job}")
}

fn each(cpus: u64) -> impl Iterator<Item = u64> {
    (0..64).map(|cpu| 1 << cpu).filter(move |cpu| cpus & cpu != 0)
}

impl Partition {
    fn job(&self, id: &str) -> Option<&Job> {
        self.jobs.iter().find(|job| job.id == id)
    }

    fn of_jobs(&self) -> u64 {
        self.jobs.iter().fold(0, |cpus, job| cpus | job.cpus)
    }

    fn free(&self) -> u64 {
        self.here & !self.of_jobs()
    }

    fn reach(&self, job: Option<&str>) -> u64 {
        job.and_then(|id| self.job(id)).map_or(self.free(), |job| job.cpus)
    }

    /// Why threads without a job cannot leave `cpus`, which are no job's.
    fn cannot_leave(&self, cpus: u64) -> Option<i32> {
        let mut strangers = self.programs.values().filter(|program| program.job.is_none());
        let stuck = |program: &Program| program.manner == Manner::Stuck && program.cpus & cpus != 0;
        if self.free() & !cpus == 0 && strangers.clone().next().is_some() {
            Some(ENOSPC)
        } else {
            strangers.any(stuck).then_some(ETIMEDOUT)
        }
    }

    fn grow_refused(&self, cpus: u64) -> Option<i32> {
        (cpus == 0 || cpus & !REACH != 0 || cpus & self.here != 0).then_some(EINVAL)
    }

    /// The first CPU that is not in order decides.
    fn shrink_refused(&self, cpus: u64) -> Option<i32> {
        for cpu in each(cpus) {
            if cpu & self.here == 0 {
                return Some(EINVAL);
            }
            if cpu & self.of_jobs() != 0 {
                return Some(EBUSY);
            }
        }
        if cpus == 0 {
            return Some(EINVAL);
        }
        if self.here & !cpus == 0 && !self.programs.is_empty() {
            return Some(EBUSY);
        }
        self.cannot_leave(cpus)
    }

    fn begin_refused(&self, wanted: &Job) -> Option<i32> {
        for cpu in each(wanted.cpus) {
            if cpu & REACH == 0 {
                return Some(EINVAL);
            }
            if cpu & self.of_jobs() != 0 {
                return Some(EBUSY);
            }
        }
        if wanted.cpus == 0 {
            return Some(EINVAL);
        }
        if wanted.mib > MEMORY_MIB - self.jobs.iter().map(|job| job.mib).sum::<u64>() {
            return Some(ENOMEM);
        }
        let mut grown = self.clone();
        grown.here |= wanted.cpus;
        grown.cannot_leave(wanted.cpus)
    }

    /// The job of a program of `user`; an error if he may not host it.
    fn find(&self, named: Option<u8>, user: u32) -> Result<Option<String>, i32> {
        if let Some(named) = named {
            let job = self.job(&id(named)).filter(|job| !job.ending).ok_or(ESRCH)?;
            return if user == 0 || job.user == user { Ok(Some(job.id.clone())) } else { Err(EACCES) };
        }
        let his: Vec<&Job> = self.jobs.iter().filter(|job| !job.ending && job.user == user).collect();
        match his[..] {
            [] if user == 0 || self.jobs.is_empty() => Ok(None),
            [] => Err(EACCES),
            [job] => Ok(Some(job.id.clone())),
            _ => Err(ENOTUNIQ),
        }
    }

    /// A request begins: others may be executed before it ends.
    pub fn begins(&mut self, request: &Request) {
        if let Request::End { job, flags: 0..=2 } = request {
            let id = id(*job);
            for job in self.jobs.iter_mut().filter(|job| job.id == id) {
                self.was_ending = job.ending;
                job.ending = true;
            }
        }
    }

    /// It waits without the control lock: the willing ones of an ending job's programs have ended meanwhile.
    pub fn sleeps(&mut self, request: &Request) {
        if let Request::End { job, .. } = request {
            let id = id(*job);
            self.programs.retain(|_, program| program.job.as_deref() != Some(&id) || program.manner != Manner::Willing);
        }
    }

    /// It has ended as it had to, and what there is, is what it had to leave.
    pub fn ends(&mut self, request: &Request, answer: &Answer) -> Result<(), String> {
        let was = self.clone();
        let expected = match request {
            Request::Grow { cpus } => self.grow(*cpus, answer.failed),
            Request::Shrink { cpus } => self.shrink(*cpus, answer.failed),
            Request::Begin { job, user, cpus, mib } => {
                let job = Job { id: id(*job), user: *user, cpus: *cpus, mib: *mib, ending: false };
                self.begin(job, answer)
            }
            Request::End { job, flags } => self.end(&id(*job), *flags, answer)?,
            Request::Host { program, job, user, threads, manner } => {
                self.host(*program, *job, *user, *threads, *manner)
            }
            Request::Leave { program } => {
                self.programs.remove(program);
                Some(0)
            }
        };
        match expected {
            Some(error) if error != answer.error => return Err(format!("{error} expected, was {}", answer.error)),
            None if answer.error == 0 => return Err("an error was expected".to_owned()),
            _ => {}
        }
        self.same(answer).map_err(|what| format!("{what}\n{was:?}"))?;
        for program in &answer.programs {
            let cpus = program.cpus.iter().fold(0, |cpus, cpu| cpus | 1 << cpu);
            self.programs.get_mut(&program.number).ok_or("an unknown program")?.cpus = cpus;
        }
        Ok(())
    }

    /// The error that is expected: `None` for any one, since a step has failed.
    fn grow(&mut self, cpus: u64, failed: bool) -> Option<i32> {
        if failed {
            return None;
        }
        let refused = self.grow_refused(cpus);
        if refused.is_none() {
            self.here |= cpus;
        }
        Some(refused.unwrap_or(0))
    }

    fn shrink(&mut self, cpus: u64, failed: bool) -> Option<i32> {
        if failed {
            return None;
        }
        let refused = self.shrink_refused(cpus);
        if refused.is_none() {
            self.take_out(cpus);
        }
        Some(refused.unwrap_or(0))
    }

    fn take_out(&mut self, cpus: u64) {
        self.here &= !cpus;
        self.lent &= !cpus;
    }

    /// If the growth cannot be undone after an error, its CPUs are kept.
    fn begin(&mut self, wanted: Job, answer: &Answer) -> Option<i32> {
        if answer.failed {
            let missing = wanted.cpus & REACH & !self.here;
            if answer.here & missing == missing {
                self.here |= missing;
                self.lent |= missing;
            }
            return None;
        }
        if let Some(job) = self.job(&wanted.id) {
            return Some(if job.ending {
                EBUSY
            } else if *job == wanted {
                0
            } else {
                EEXIST
            });
        }
        let refused = self.begin_refused(&wanted);
        if refused.is_none() {
            self.lent |= wanted.cpus & !self.here;
            self.here |= wanted.cpus;
            self.jobs.push(wanted);
        }
        Some(refused.unwrap_or(0))
    }

    /// A step that fails leaves the job as it was, or ending; or the end gets by without it.
    fn end(&mut self, id: &str, flags: u32, answer: &Answer) -> Result<Option<i32>, String> {
        if flags == (RETURN | KEEP) {
            return Ok(Some(EINVAL));
        }
        let Some(job) = self.job(id).cloned() else {
            return Ok(if answer.failed { None } else { Some(0) });
        };
        if answer.failed && answer.error != 0 {
            let ending = self.was_ending || answer.ended;
            self.jobs.iter_mut().filter(|job| job.id == id).for_each(|job| job.ending = ending);
            let left: Vec<u32> = answer.programs.iter().map(|program| program.number).collect();
            self.programs.retain(|number, program| program.job.as_deref() != Some(id) || left.contains(number));
            return Ok(None);
        }
        let of_job = self.programs.values().filter(|program| program.job.as_deref() == Some(id));
        let manners: Vec<Manner> = of_job.map(|program| program.manner).collect();
        let killed = manners.iter().filter(|&&manner| manner != Manner::Willing).count();
        if answer.killed as usize != killed {
            return Err(format!("{killed} processes had to be killed, were {}", answer.killed));
        }
        let stuck = manners.contains(&Manner::Stuck);
        self.programs.retain(|_, program| program.job.as_deref() != Some(id) || program.manner == Manner::Stuck);
        if stuck {
            return Ok(Some(ETIMEDOUT));
        }
        self.jobs.retain(|job| job.id != id);
        if answer.returned != (flags == RETURN) && !answer.failed {
            return Err("its CPUs are not where the request says".to_owned());
        }
        match flags {
            RETURN if answer.returned => self.take_out(job.cpus),
            RETURN | KEEP => {}
            _ => self.lent &= !job.cpus,
        }
        Ok(Some(0))
    }

    fn host(&mut self, number: u32, job: Option<u8>, user: u32, threads: u32, manner: Manner) -> Option<i32> {
        if self.programs.contains_key(&number) {
            return Some(EEXIST);
        }
        let job = match self.find(job, user) {
            Ok(job) => job,
            Err(error) => return Some(error),
        };
        if self.reach(job.as_deref()) == 0 {
            return Some(ENOSPC);
        }
        self.programs.insert(number, Program { job, threads: threads as usize, manner, cpus: 0 });
        Some(0)
    }

    fn same(&self, answer: &Answer) -> Result<(), String> {
        let mut jobs = self.jobs.clone();
        jobs.sort();
        let programs: Vec<_> = answer.programs.iter().map(|p| (p.number, p.job.clone(), p.homes.len())).collect();
        let expected: Vec<_> = self.programs.iter().map(|(&number, p)| (number, p.job.clone(), p.threads)).collect();
        let sets = |name, expected: u64, is: u64| {
            if expected == is { Ok(()) } else { Err(format!("{name}: {expected:x} expected, was {is:x}")) }
        };
        sets("the partition's CPUs", self.here, answer.here)?;
        sets("free", self.free(), answer.free)?;
        sets("lent", self.lent, answer.lent)?;
        sets("kept", self.lent & !self.of_jobs(), answer.kept)?;
        if jobs != answer.jobs {
            return Err(format!("jobs: {jobs:?} expected"));
        }
        if programs != expected {
            return Err(format!("programs: {expected:?} expected"));
        }
        // The request that sleeps meanwhile may hold a job that has ended.
        let held = usize::from(answer.name.starts_with('b') && answer.allocations > jobs.len());
        if answer.allocations != jobs.len() + held {
            return Err(format!("{} allocations for {} jobs", answer.allocations, jobs.len()));
        }
        self.threads_are_in_place(answer)
    }

    fn threads_are_in_place(&self, answer: &Answer) -> Result<(), String> {
        for program in &answer.programs {
            let reach = self.reach(program.job.as_deref());
            if let Some(cpu) = program.homes.iter().chain(&program.cpus).find(|&&cpu| reach >> cpu & 1 == 0) {
                return Err(format!("program {}: cpu {cpu} is not its own", program.number));
            }
        }
        for &(cpu, threads, posted) in &answer.cores {
            let count = |list: fn(&crate::answer::Program) -> &Vec<u32>| {
                answer.programs.iter().flat_map(list).filter(|&&other| other == cpu).count()
            };
            if (threads, posted) != (count(|p| &p.homes), count(|p| &p.cpus)) {
                return Err(format!("cpu {cpu}: it counts {threads} threads and {posted} stays"));
            }
        }
        Ok(())
    }
}
