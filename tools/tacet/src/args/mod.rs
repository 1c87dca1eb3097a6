// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The words of the command, and with them the keys of the configuration file:
//! one structure is both.
//!
//! Read by clap and by `config.rs`. Help texts are also the man pages.

mod compare;
mod node;
mod partition;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

pub use compare::CompareArgs;
pub use node::{NodeArgs, NodeCommand, NodeRun};
pub use partition::{DecoupleArgs, DownArgs, LogArgs, Memory, RecoupleArgs, RunArgs, TopArgs, UpArgs};

const AFTER_HELP: &str = "\
Configuration: /etc/tacet.toml, then ~/.config/tacet.toml (or FILE of --config instead of both).
Keys are the flags' names, in a table of the command's name:

    json = false
    [up]
    cpus = \"2-3\"
    memory = \"1G\"
    [run]
    follow = true

What the command line says comes first.

Exit status: 0 done; 1 not done, and nothing changed; 2 wrong arguments or configuration.
`tacet run` ends with the status of the program; 126 if it cannot be executed, 127 if it is not found.";

/// Runs programs on CPUs that execute nothing else.
#[derive(Parser)]
#[command(name = "tacet", version, after_long_help = AFTER_HELP)]
pub struct Cli {
    /// Print facts as JSON, with names that stay
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
    /// Say what the partition is and does
    Status,
    /// Run a program on the partition
    ///
    /// The program replaces this command: its exit status, signals, standard streams, terminal and job control are
    /// those that it has without. Its memory is faulted in before its first instruction and, if the user may lock
    /// memory without limit (`ulimit -l unlimited`), locked, then and later.
    Run(RunArgs),
    /// Move a running process to the partition
    Decouple(DecoupleArgs),
    /// Bring a process back to Linux
    Recouple(RecoupleArgs),
    /// List the hosted threads
    Ps,
    /// What hosted threads did since the last time, again and again
    ///
    /// With PID also what that process spent in all, call by call, if it was started with `tacet run --profile`.
    Top(TopArgs),
    /// Print the log of the module and of every core, merged by time
    Log(LogArgs),
    /// Say whether this machine can run a partition, and what to change
    Doctor,
    /// Use a node in QEMU instead of this machine
    Node {
        #[command(subcommand)]
        command: NodeCommand,
        #[command(flatten)]
        args: NodeArgs,
    },
    /// Measure noise, say what it costs at scale, judge by it (`tacet noise --help`)
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
    /// Run a program on each rung that this node has, turn by turn, and say whether a higher one pays
    ///
    /// The rungs: default Linux, tuned Linux, HPL, the co-kernel; on the same CPUs. Each run enters its rung and leaves
    /// it; Ctrl-C leaves it too. After a kill, `tacet tune undo`, `tacet sched stop` and `tacet down` do. Needs root. The
    /// program's output is not shown; it must end by itself, with status 0.
    Compare(CompareArgs),
    /// Do damage on purpose, for tests (needs a module with test hooks)
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
}

/// As `enum tacet_test` has them, from 1.
#[derive(ValueEnum, Clone, Copy)]
pub enum Damage {
    Panic = 1,
    Fault,
    Hang,
    Outbox,
    Entry,
    Full,
}
