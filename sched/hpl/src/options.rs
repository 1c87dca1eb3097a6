// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flags and their help texts; no code that uses them, except checks of their values.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use serde::{Deserialize, Serialize};
use tacet_words::values::{count, duration};

use crate::Result;
use crate::keep::{self, Kept};

/// Puts HPC programs into a scheduling class of their own, between real-time and normal.
///
/// On a CPU with a runnable HPC task no normal task runs. HPC tasks are placed once, by the machine's topology, and
/// stay there. Needs a kernel with sched_ext and, except for `run`, root.
#[derive(Debug, Parser)]
#[command(name = "tacet sched", bin_name = "tacet sched", version, max_term_width = 100)]
pub struct Options {
    /// Print results as JSON, whose field names do not change
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Start(Start),
    /// Unload the scheduler: all tasks return to Linux's own scheduler
    Stop {
        /// Only say what would be done; needs no root
        #[arg(long)]
        dry_run: bool,
    },
    /// Show whether HPL schedules, and its counts
    Status,
    Top(Top),
    Run(Run),
    Count(Count),
    /// Load the scheduler and stay with it until a signal comes
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
    /// Print the description of the flags, for `tacet`
    #[command(hide = true)]
    Describe,
}

/// Load the scheduler into the kernel.
///
/// A small process stays with it; if this process dies in any way, Linux's own scheduler takes over. A program is in
/// the HPC class if it has the policy SCHED_EXT (`tacet sched run`, `chrt --ext 0`, sched_setscheduler), or is in a
/// group named here, or is a daemon named here. Children inherit the policy and the group.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
pub struct Start {
    /// A control group whose tasks, and those in its subgroups, are HPC tasks: a directory, or a path below
    /// /sys/fs/cgroup
    #[arg(long = "group", value_name = "GROUP")]
    pub groups: Vec<PathBuf>,
    /// Put a running daemon, by the name of its process, into the HPC class (not the processes that it starts later)
    #[arg(long = "daemon", value_name = "NAME")]
    pub daemons: Vec<String>,
    /// Time that normal tasks get in each period if every CPU that they may use has HPC tasks
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = duration)]
    pub trickle: Duration,
    /// Length of this period
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub trickle_period: Duration,
    /// CPU on which normal tasks get this time [default: the first one]
    #[arg(long, value_name = "CPU")]
    pub trickle_cpu: Option<u32>,
    /// What stays usable while every CPU computes: a user (name or number), or a control group (a path with a '/', or a
    /// name with a '.'); [default: the login sessions of root]. These tasks run before HPC tasks, for at most 10 ms in
    /// each 100 ms on a CPU. `none` keeps nothing
    #[arg(long, value_name = "USER|CGROUP")]
    #[serde(default)]
    pub keep: Vec<String>,
    /// Turn of an HPC task that is not alone on its CPU; tasks that wake go first and share half of this time
    #[arg(long = "turn", alias = "quantum", value_name = "TIME", default_value = "100ms", value_parser = duration)]
    pub quantum: Duration,
    /// Stay in the foreground (for a service manager)
    #[arg(long)]
    pub foreground: bool,
    /// Only say what would be done; needs no root
    #[arg(long)]
    #[serde(default)]
    pub dry_run: bool,
}

/// Print the increase of the counts each second, until Ctrl-C.
#[derive(Debug, Args)]
pub struct Top {
    /// End after this number of tables
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = count)]
    pub iterations: Option<u64>,
    /// Time between two tables
    #[arg(long = "every", alias = "interval", value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub interval: Duration,
}

/// Run a program in the HPC class, with its children: `tacet sched run -- mpiexec -n 8 ./a.out`.
///
/// The program replaces this command. Needs no privilege.
#[derive(Debug, Args)]
pub struct Run {
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Count switches and migrations of the whole node while a program runs, with any scheduler; prints JSON.
#[derive(Debug, Args)]
pub struct Count {
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

const SHORTEST: Duration = Duration::from_micros(100);
/// The kernel ends a scheduler that lets a task wait for 30 s, or the watchdog's own work for 15 s. With these limits
/// each normal task gets its turn within 8 s, unless hundreds wait (`bpf/trickle.h`), and up to 14 HPC tasks can share
/// a CPU.
const LONGEST_PERIOD: Duration = Duration::from_secs(3);
const LONGEST_QUANTUM: Duration = Duration::from_secs(2);

impl Start {
    /// Checks the values before anything is changed.
    pub fn check(&self) -> Result<()> {
        Kept::read(&self.keep, keep::user)?;
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
            return Err(format!("--turn {}: use 1ms to 2s", time(self.quantum)).into());
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
    fn bad_times_are_refused() {
        assert!(start("").is_ok());
        assert!(start("--trickle 20ms --trickle-period 100ms --quantum 10ms").is_ok());
        for wrong in ["--trickle 1us", "--trickle 600ms", "--trickle-period 20s", "--turn 1us", "--turn 1h"] {
            let said = start(wrong).expect_err(wrong).to_string();
            assert!(said.starts_with(wrong.split(' ').next().unwrap_or_default()) && !said.contains('\n'), "{said}");
        }
    }
}
