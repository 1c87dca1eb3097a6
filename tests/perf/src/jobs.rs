// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs an MPI job under one of three schedulers, and reads the kernel's counters of the whole node meanwhile.
//!
//! Owns how a job is started and which of its output is read. `sched.rs` chooses the jobs and the number of runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tacet_node::{Command, Job as Running};

use crate::Result;
use crate::busy_idle;
use crate::guest::Guest;

/// The scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// Linux's own.
    Standard,
    /// Linux's real-time class.
    Fifo,
    /// The class under test.
    Hpl,
}

/// The program of the ranks.
#[derive(Debug, Clone, Copy)]
pub enum Program {
    /// One of `ranks`, with its size. Timed from barrier to barrier.
    Ranks(&'static str, u32),
    /// HPC Challenge under Open MPI, with the order of its equations. Timed from a barrier after MPI_Init to
    /// MPI_Finalize.
    Challenge(u32),
    /// LAMMPS under Open MPI: the crystal of `lammps.sh`. Timed as HPC Challenge is.
    Crystal,
}

/// The crystal's cells in each direction, and its steps.
const CRYSTAL: [u32; 2] = [8, 100];
/// The last row of its table, computed by one rank.
const MOLTEN: &str = "100 2048 1.64329 -4.74507 -2.28134 5.8505";

/// A program with a number of ranks.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// The name in the manner of the paper: program, size, number of ranks.
    pub name: &'static str,
    pub program: Program,
    pub ranks: u32,
}

/// The result of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The time, from and to the points that [`Program`] names.
    pub seconds: f64,
    /// Migrations of all tasks of the node.
    pub migrations: f64,
    /// Migrations of the job's tasks, without `rebound`. Only under HPL the job has a class of its own to count.
    pub job_migrations: Option<f64>,
    /// Migrations of the job's tasks because their allowed CPUs had changed. Only their own libraries change these.
    pub rebound: Option<f64>,
    /// Switches to any task except the idle tasks.
    pub switches: f64,
}

/// The output of `tacet sched count`.
#[derive(Deserialize)]
struct Counted {
    status: Option<i32>,
    switches: BTreeMap<String, u64>,
    migrations: BTreeMap<String, u64>,
}

impl Scheduler {
    pub const ALL: [Scheduler; 3] = [Scheduler::Standard, Scheduler::Fifo, Scheduler::Hpl];

    pub fn name(self) -> &'static str {
        match self {
            Scheduler::Standard => "standard",
            Scheduler::Fifo => "fifo",
            Scheduler::Hpl => "hpl",
        }
    }

    /// The words before a program.
    fn words(self, tacet_sched: &str) -> Vec<String> {
        let words = match self {
            Scheduler::Standard => Vec::new(),
            Scheduler::Fifo => vec!["chrt", "--fifo", "1"],
            Scheduler::Hpl => vec![tacet_sched, "run", "--"],
        };
        words.into_iter().map(str::to_owned).collect()
    }
}

/// The output of `tacet sched status`: the counts since the scheduler was loaded.
#[derive(Deserialize)]
struct Status {
    state: String,
    total: Rebound,
}

#[derive(Deserialize)]
struct Rebound {
    rebound: u64,
}

/// The class's own command. `tacet sched` would add the start of one more process.
pub fn tacet_sched(guest: &Guest) -> String {
    format!("{}-sched", guest.programs.tacet().display())
}

/// Runs a program under a scheduler, which is loaded before and removed afterwards.
pub fn under<T>(guest: &Guest, scheduler: Scheduler, action: impl FnOnce(Vec<String>) -> Result<T>) -> Result<T> {
    let tacet_sched = tacet_sched(guest);
    if scheduler == Scheduler::Hpl {
        guest.run(&[&tacet_sched, "start"])?;
    }
    let result = action(scheduler.words(&tacet_sched));
    if scheduler == Scheduler::Hpl {
        guest.run(&[&tacet_sched, "stop"])?;
    }
    result
}

impl Program {
    /// The command line: the launcher, the preloaded clock, the program. The clock makes HPC Challenge's random numbers
    /// the same in all runs.
    fn words(self, guest: &Guest, ranks: u32) -> Vec<String> {
        let launcher: &[&str] = match self {
            Program::Ranks(..) => &["mpiexec"],
            // The scheduler must place the ranks. So the launcher must not bind them, and the library that finds out
            // the topology by visiting each CPU is off. There are as many ranks as CPUs, so libraries must add no
            // threads.
            Program::Challenge(_) | Program::Crystal => &[
                "env",
                "OPENBLAS_NUM_THREADS=1",
                "HWLOC_COMPONENTS=-x86",
                "mpiexec.openmpi",
                "--allow-run-as-root",
                "--bind-to",
                "none",
                "--use-hwthread-cpus",
            ],
        };
        let mut preloaded = guest.programs.program("timed.so");
        if matches!(self, Program::Challenge(_)) {
            preloaded = format!("{preloaded}:{}", guest.programs.program("same_time.so"));
        }
        let clock = ["env".to_owned(), format!("LD_PRELOAD={preloaded}")];
        let (directory, program) = match self {
            Program::Ranks(name, size) => {
                ("/tmp", vec![guest.programs.program("ranks"), name.to_owned(), size.to_string()])
            }
            Program::Challenge(_) => ("/tmp/hpcc", vec!["hpcc".to_owned()]),
            Program::Crystal => ("/tmp/lammps", ["lmp", "-in", "in.melt"].map(str::to_owned).into()),
        };
        let mut words: Vec<String> = launcher.iter().map(|word| (*word).to_owned()).collect();
        words.extend(["-wdir", directory, "-n"].map(str::to_owned));
        words.push(ranks.to_string());
        words.extend(clock);
        words.push(format!("TIMED={}", busy_idle::SWITCH));
        words.extend(program);
        words
    }
}

impl Job {
    /// Does the job end under this scheduler? HPC Challenge in the real-time class, on as many CPUs as ranks, did not
    /// end within an hour: its ranks poll for messages all the time, so the launcher's and the kernel's work of lower
    /// priority waits, while the daemons have their long turns. LAMMPS polls in the same way, and was not tried.
    pub fn ends_under(&self, scheduler: Scheduler) -> bool {
        !matches!((self.program, scheduler), (Program::Challenge(_) | Program::Crystal, Scheduler::Fifo))
    }

    /// Runs the job once.
    pub fn run(&self, guest: &Guest, scheduler: Scheduler) -> Result<Run> {
        let around = self.around(guest);
        if let Some([prepare, _]) = &around {
            guest.run(prepare)?;
        }
        let run = under(guest, scheduler, |before| {
            let mut argv = vec![tacet_sched(guest), "count".to_owned(), "--".to_owned()];
            argv.extend(before);
            argv.extend(self.program.words(guest, self.ranks));
            let said = guest.run(&argv)?;
            let status = match scheduler {
                Scheduler::Hpl => Some(guest.run(&[&tacet_sched(guest), "status", "--json"])?),
                _ => None,
            };
            read(&said, status.as_deref()).map_err(|error| format!("{} under {scheduler:?}: {error}", self.name).into())
        })?;
        if let Some([_, check]) = &around {
            guest.run(check)?;
        }
        Ok(run)
    }

    /// For a program that does not check itself: the command that prepares its directory, and the command that fails
    /// unless its results are right.
    fn around(&self, guest: &Guest) -> Option<[Vec<String>; 2]> {
        let (script, size, right) = match self.program {
            Program::Ranks(..) => return None,
            Program::Challenge(order) => ("hpcc.sh", vec![order, self.ranks / 2, 2], None),
            Program::Crystal => ("lammps.sh", CRYSTAL.to_vec(), Some(MOLTEN.to_owned())),
        };
        let command = |verb: &str, more: Vec<String>| {
            let mut command = vec!["sh".to_owned(), guest.programs.program(script), verb.to_owned()];
            command.extend(more);
            command
        };
        let size = size.iter().map(u32::to_string).collect();
        Some([command("prepare", size), command("check", right.into_iter().collect())])
    }
}

/// Reads the program's output and the counts; under HPL also HPL's own counts.
fn read(said: &str, status: Option<&str>) -> Result<Run> {
    let timed = |word: &str| said.lines().find_map(|line| line.strip_prefix(word));
    let seconds = timed("seconds ").or_else(|| timed("inside ")).ok_or("no time")?.trim().parse()?;
    let counted = said.lines().find(|line| line.starts_with('{')).ok_or("no count")?;
    let counted: Counted = serde_json::from_str(counted)?;
    if counted.status != Some(0) {
        return Err(format!("status {:?}", counted.status).into());
    }
    let busy = |counts: &BTreeMap<String, u64>| {
        counts.iter().filter(|(class, _)| *class != "idle").map(|(_, n)| *n).sum::<u64>()
    };
    let job = counted.migrations.get("hpc").copied().ok_or("no count of the class")? as f64;
    let status: Option<Status> = status.map(serde_json::from_str).transpose()?;
    if let Some(Status { state, .. }) = status.as_ref().filter(|status| status.state != "loaded") {
        return Err(format!("the class is {state}").into());
    }
    let rebound = status.map(|status| status.total.rebound as f64);
    Ok(Run {
        seconds,
        migrations: busy(&counted.migrations) as f64,
        job_migrations: rebound.map(|rebound| job - rebound),
        rebound,
        switches: busy(&counted.switches) as f64,
    })
}

/// Starts daemons, which run until they are dropped with their node.
pub fn daemons(guest: &Guest, count: u32, period_ms: u32, rounds: u32) -> Result<Running> {
    let argv = [guest.programs.program("daemons"), count.to_string(), period_ms.to_string(), rounds.to_string()];
    let forever = Duration::from_secs(30 * 24 * 3600);
    let running = guest.node.start(&Command::new(&argv).timeout(forever))?;
    guest.run(&["sleep", "1"])?;
    Ok(running)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "seconds 0.5\n{\"seconds\":3.0,\"status\":0,\"switches\":{\"idle\":9,\"normal\":5,\"hpc\":7},\
        \"migrations\":{\"idle\":0,\"normal\":3,\"hpc\":2}}\n";

    const STATUS: &str = "{\"state\":\"loaded\",\"total\":{\"rebound\":1}}";

    #[test]
    fn a_run_is_what_all_say() {
        let run = read(SAID, Some(STATUS)).expect("a run");
        let (job_migrations, rebound) = (Some(1.0), Some(1.0));
        assert_eq!(run, Run { seconds: 0.5, migrations: 5.0, job_migrations, rebound, switches: 12.0 });
        assert_eq!(read(SAID, None).expect("a run").job_migrations, None);
        let other = SAID.replace("seconds 0.5\n", "inside 3.5\n");
        assert_eq!(read(&other, None).expect("a run").seconds, 3.5);
        assert_eq!(read(&format!("inside 9\n{SAID}"), None).expect("a run").seconds, 0.5);
    }

    #[test]
    fn a_run_that_failed_is_none() {
        assert!(read(&SAID.replace("\"status\":0", "\"status\":1"), None).is_err());
        assert!(read("seconds 1\n", None).is_err());
        assert!(read(SAID, Some("{}")).is_err());
        assert!(read(SAID, Some(&STATUS.replace("loaded", "ended"))).is_err());
    }
}
