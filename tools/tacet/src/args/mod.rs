// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line. The same structures are the tables of the configuration file.
//!
//! Read by clap and by `config.rs`. The help texts are also the man pages.

mod cluster;
mod compare;
mod examples;
mod job;
mod node;
mod partition;
mod static_nodes;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

pub use cluster::{ClusterCommand, ClusterNode, ClusterRun, NodeCluster};
pub use compare::CompareArgs;
pub use examples::described;
pub use job::{JobBegin, JobCommand, JobEnd, JobRelease, JobSweep};
pub use node::{NodeArgs, NodeCommand, NodeRun};
pub use partition::{
    Burst, DecoupleArgs, DownArgs, LogArgs, Memory, Order, RecoupleArgs, ResizeArgs, RunArgs, TopArgs, UpArgs,
};
pub use static_nodes::{
    IodArgs, StaticArgs, StaticBoot, StaticCommand, StaticConsole, StaticKill, StaticMap, StaticNode, StaticRun,
    StaticSet,
};

const AFTER_HELP: &str = "\
Configuration: ~/.config/tacet.toml, then /etc/tacet.toml (--config FILE replaces both).
A table has a command's name, its keys are the names of that command's flags:

    json = false
    [up]
    cpus = \"2-3\"
    memory = \"1G\"
    [run]
    follow = true

The command line overrides the user's file, and that overrides the system's.

Exit status: 0 done; 1 the answer is no (not up, noisy, drifted); 2 wrong arguments, configuration or files; 3 the
machine or the user's rights do not allow it; 4 half done, and undone. Commands that run a program end with its status;
125 if they failed themselves, 126 if it cannot be executed, 127 if it is not found.";

/// Runs programs on CPUs that execute nothing else.
#[derive(Parser)]
#[command(name = "tacet", version, after_long_help = AFTER_HELP)]
pub struct Cli {
    /// Print results as JSON, whose field names do not change
    #[arg(long, global = true)]
    pub json: bool,
    /// Read this configuration instead of /etc/tacet.toml and ~/.config/tacet.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Take /sys and /proc from below DIR (for tests of plans and checks)
    #[arg(long, global = true, hide = true, value_name = "DIR")]
    pub machine_root: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Take CPUs and memory from Linux and start the co-kernel on them
    Up(UpArgs),
    /// Stop the co-kernel and give everything back to Linux
    Down(DownArgs),
    /// Have CPUs and memory join the partition that is up, while programs run there
    Grow(ResizeArgs),
    /// Have CPUs and memory leave the partition for Linux; threads go to its other CPUs
    Shrink(ResizeArgs),
    /// Divide the partition into jobs, each with CPUs, memory and a user
    Job {
        #[command(subcommand)]
        command: JobCommand,
    },
    /// Show the state of the partition and of its cores
    Status,
    /// Run a program on the partition
    ///
    /// The program replaces this command: its exit status, signals, standard streams, terminal and job control are
    /// the same as without it. Its memory comes when it is touched, as on Linux; see `--populate`.
    Run(RunArgs),
    /// Move a running process to the partition
    Decouple(DecoupleArgs),
    /// Bring a process back to Linux
    Recouple(RecoupleArgs),
    /// List the hosted threads
    Ps,
    /// Show what hosted threads did since the previous table, repeatedly
    ///
    /// With PID, also show the total cost of each system call of that process, if it was started with
    /// `tacet run --profile`.
    Top(TopArgs),
    /// Show the fast paths of devices: cores give them commands without Linux
    ///
    /// For each device whether it has one, or why not; for each core how many calls it served and how many it
    /// forwarded, by cause; and the descriptors of hosted programs that may use it.
    Pico,
    /// Print the log of the module and of every core, merged by time
    Log(LogArgs),
    /// Check whether this machine can run a partition, and what to change if not
    Doctor {
        /// Check instead whether Slurm, as it is configured here, can give jobs CPUs of a partition (`srun --tacet`)
        #[arg(long)]
        slurm: bool,
    },
    /// Use a node in QEMU instead of this machine
    Node {
        #[command(subcommand)]
        command: NodeCommand,
        #[command(flatten)]
        args: NodeArgs,
    },
    /// Run programs on static nodes, whose I/O a daemon performs
    Static {
        #[command(subcommand)]
        command: StaticCommand,
    },
    /// Serve nodes of metal without Linux: their jobs and their I/O
    Iod(IodArgs),
    /// Measure noise, estimate its cost at scale, pass or fail by it (`tacet noise --help`)
    #[command(disable_help_flag = true)]
    Noise {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<OsString>,
    },
    /// Give HPC programs a scheduling class of their own (`tacet sched --help`)
    #[command(disable_help_flag = true)]
    Sched {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<OsString>,
    },
    /// Keep Linux's own work away from CPUs: plan, apply, verify, undo (`tacet tune --help`)
    #[command(disable_help_flag = true)]
    Tune {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<OsString>,
    },
    /// Run a program on each rung that this node offers, in turn, and say whether a higher rung pays
    ///
    /// The rungs are default Linux, tuned Linux, HPL and the co-kernel, on the same CPUs. Each run sets up its rung and
    /// removes it again, also after Ctrl-C. If the command was killed, clean up with `tacet tune undo`,
    /// `tacet sched stop` and `tacet down`. Needs root. The program's output is not shown; the program must end by
    /// itself, with status 0.
    Compare(CompareArgs),
    /// Cause a failure on purpose, for tests (needs a module with test hooks)
    #[command(hide = true)]
    Provoke {
        cpu: u32,
        #[arg(value_enum)]
        damage: Damage,
    },
    /// Write the man pages
    #[command(hide = true)]
    Man { directory: PathBuf },
    /// Print the completions for a shell
    #[command(hide = true)]
    Completions { shell: clap_complete::Shell },
    /// Print the description of all commands of the family
    #[command(hide = true)]
    Describe,
}

/// The values of `enum tacet_test`, in its order, from 1.
#[derive(ValueEnum, Clone, Copy)]
pub enum Damage {
    Panic = 1,
    Fault,
    Hang,
    Outbox,
    Entry,
    Full,
    Registers = 8,
    Selectors,
    Flags,
}
