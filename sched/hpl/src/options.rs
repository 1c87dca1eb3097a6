// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flags and their help; nothing here does anything.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use serde::{Deserialize, Serialize};

use crate::Result;

/// Puts HPC programs into a scheduling class of their own, between real-time and normal.
///
/// On a CPU with a runnable HPC task no normal task runs; HPC tasks are placed once, by the machine's topology, and
/// stay. Needs a kernel with sched_ext and, but for `run`, root.
#[derive(Debug, Parser)]
#[command(name = "tacet sched", bin_name = "tacet sched", version, max_term_width = 100)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Start(Start),
    /// Take the scheduler out of the kernel: every task goes back to Linux's own
    Stop,
    Status(Show),
    Top(Top),
    Run(Run),
    Count(Count),
    /// Stay with the scheduler until told to end
    #[command(hide = true)]
    Stay(Start),
    /// Write the man pages
    #[command(hide = true)]
    Man {
        directory: PathBuf,
    },
    /// Print the completions for a shell
    #[command(hide = true)]
    Completions {
        shell: clap_complete::Shell,
    },
}

/// Load the scheduler into the kernel.
///
/// A small process stays with it; if it dies, however, Linux's own scheduler takes over. A program is in the HPC class
/// if it has the policy SCHED_EXT (`tacet sched run`, `chrt --ext 0`, sched_setscheduler), or is in a group named
/// here, or is a daemon named here. Children inherit the policy and the group.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
pub struct Start {
    /// A control group whose tasks are HPC tasks, with the groups in it: a directory, or its path below /sys/fs/cgroup
    #[arg(long = "group", value_name = "GROUP")]
    pub groups: Vec<PathBuf>,
    /// A running daemon, by the name of its process, that is to be in the HPC class (not what it starts later)
    #[arg(long = "daemon", value_name = "NAME")]
    pub daemons: Vec<String>,
    /// Time of normal tasks in each period, where every CPU that they may use has HPC tasks
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = humantime::parse_duration)]
    pub trickle: Duration,
    /// The period
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    pub trickle_period: Duration,
    /// The CPU where they run then [default: the first one]
    #[arg(long, value_name = "CPU")]
    pub trickle_cpu: Option<u32>,
    /// The turn of an HPC task that is not alone on its CPU; one that wakes goes first, for its share of half of one
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = humantime::parse_duration)]
    pub quantum: Duration,
    /// Stay in the foreground (for a service manager)
    #[arg(long)]
    pub foreground: bool,
}

/// Say whether HPL schedules, and what it did.
#[derive(Debug, Args)]
pub struct Show {
    /// Print facts as JSON, with names that stay
    #[arg(long)]
    pub json: bool,
}

/// Print what it does each second, until Ctrl-C.
#[derive(Debug, Args)]
pub struct Top {
    /// End after so many
    #[arg(long, short = 'n', value_name = "NUMBER")]
    pub iterations: Option<u64>,
    /// From one to the next
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    pub interval: Duration,
    /// Print facts as JSON, one line each
    #[arg(long)]
    pub json: bool,
}

/// Run a program in the HPC class, with its children: `tacet sched run -- mpiexec -n 8 ./a.out`.
///
/// The program replaces this command. Needs no privilege.
#[derive(Debug, Args)]
pub struct Run {
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Count switches and migrations of the whole node while a program runs, whatever schedules; prints JSON.
#[derive(Debug, Args)]
pub struct Count {
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

const SHORTEST: Duration = Duration::from_micros(100);
/// The kernel ends a scheduler that lets a task wait for 30 s, or its watchdog's own work for 15 s. Each normal task has its
/// turn within 8 s, unless hundreds wait (`bpf/trickle.h`), and each of up to 14 HPC tasks of one CPU within their turns.
const LONGEST_PERIOD: Duration = Duration::from_secs(3);
const LONGEST_QUANTUM: Duration = Duration::from_secs(2);

impl Start {
    /// Says what is wrong with the choice, before anything is done.
    pub fn check(&self) -> Result<()> {
        if self.trickle < SHORTEST {
            return Err(format!("--trickle {}: less than 100us starves the node", time(self.trickle)).into());
        }
        if self.trickle_period > LONGEST_PERIOD {
            return Err(format!(
                "--trickle-period {}: more than 3s: the kernel would end the scheduler",
                time(self.trickle_period)
            )
            .into());
        }
        if self.trickle * 2 > self.trickle_period {
            return Err(format!(
                "--trickle {}: more than half of the period of {}",
                time(self.trickle),
                time(self.trickle_period)
            )
            .into());
        }
        if self.quantum < Duration::from_millis(1) || self.quantum > LONGEST_QUANTUM {
            return Err(format!("--quantum {}: use 1ms to 2s", time(self.quantum)).into());
        }
        Ok(())
    }
}

fn time(duration: Duration) -> impl std::fmt::Display {
    humantime::format_duration(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(words: &str) -> Result<()> {
        let words = ["tacet-sched", "start"].into_iter().chain(words.split_whitespace());
        match Options::try_parse_from(words)?.command {
            Command::Start(start) => start.check(),
            other => Err(format!("{other:?}").into()),
        }
    }

    #[test]
    fn what_starves_or_overruns_is_refused() {
        assert!(start("").is_ok());
        assert!(start("--trickle 20ms --trickle-period 100ms --quantum 10ms").is_ok());
        for wrong in ["--trickle 1us", "--trickle 600ms", "--trickle-period 20s", "--quantum 1us", "--quantum 1h"] {
            let said = start(wrong).expect_err(wrong).to_string();
            assert!(said.starts_with(wrong.split(' ').next().unwrap_or_default()) && !said.contains('\n'), "{said}");
        }
    }
}
