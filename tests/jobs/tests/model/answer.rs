// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program's answer after a request: the result, and the state of the partition.

/// A job, as the module has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    pub id: String,
    pub user: u32,
    pub cpus: u64,
    pub mib: u64,
    pub ending: bool,
}

/// A hosted program: for each of its threads the CPU on which it counts, and the one on which it is.
#[derive(Debug, Clone)]
pub struct Program {
    pub number: u32,
    pub job: Option<String>,
    pub homes: Vec<u32>,
    pub cpus: Vec<u32>,
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub name: String,
    /// 0, or a positive errno.
    pub error: i32,
    /// A step has failed on purpose.
    pub failed: bool,
    /// Of `TACET_JOB_END`.
    pub ended: bool,
    pub killed: u32,
    pub returned: bool,
    /// Sets of CPUs.
    pub here: u64,
    pub free: u64,
    pub lent: u64,
    pub kept: u64,
    pub jobs: Vec<Job>,
    pub programs: Vec<Program>,
    /// CPU, threads that count there, and threads that are there.
    pub cores: Vec<(u32, usize, usize)>,
    /// That have not been freed.
    pub allocations: usize,
}

impl Answer {
    pub fn read(line: &str) -> Result<Self, String> {
        Self::parse(line).ok_or_else(|| format!("an answer is `{line}`"))
    }

    fn parse(line: &str) -> Option<Self> {
        let parts: Vec<&str> = line.split('|').collect();
        let [result, sets, jobs, programs, cores, allocations] = parts[..] else { return None };
        let result: Vec<&str> = result.split(' ').collect();
        let [name, error, failed, ended, killed, returned] = result[..] else { return None };
        let sets: Vec<u64> = sets.split(' ').map(|set| u64::from_str_radix(set, 16).ok()).collect::<Option<_>>()?;
        let [here, free, lent, kept] = sets[..] else { return None };
        let mut jobs: Vec<Job> = jobs.split_whitespace().map(job).collect::<Option<_>>()?;
        jobs.sort();
        Some(Answer {
            name: name.to_owned(),
            error: -error.parse::<i32>().ok()?,
            failed: failed == "1",
            ended: ended == "1",
            killed: killed.parse().ok()?,
            returned: returned == "1",
            here,
            free,
            lent,
            kept,
            jobs,
            programs: programs.split_whitespace().map(program).collect::<Option<_>>()?,
            cores: cores.split_whitespace().map(core).collect::<Option<_>>()?,
            allocations: allocations.parse().ok()?,
        })
    }
}

fn job(text: &str) -> Option<Job> {
    let parts: Vec<&str> = text.split(':').collect();
    let [id, user, cpus, mib, ending] = parts[..] else { return None };
    Some(Job {
        id: id.to_owned(),
        user: user.parse().ok()?,
        cpus: u64::from_str_radix(cpus, 16).ok()?,
        mib: mib.parse().ok()?,
        ending: ending == "1",
    })
}

fn program(text: &str) -> Option<Program> {
    let parts: Vec<&str> = text.split(':').collect();
    let [number, job, homes, cpus] = parts[..] else { return None };
    let list = |text: &str| text.split(',').map(|cpu| cpu.parse().ok()).collect::<Option<Vec<u32>>>();
    Some(Program {
        number: number.parse().ok()?,
        job: (!job.is_empty()).then(|| job.to_owned()),
        homes: list(homes)?,
        cpus: list(cpus)?,
    })
}

fn core(text: &str) -> Option<(u32, usize, usize)> {
    let parts: Vec<&str> = text.split(':').collect();
    let [cpu, threads, posted] = parts[..] else { return None };
    Some((cpu.parse().ok()?, threads.parse().ok()?, posted.parse().ok()?))
}
