// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The words of the command, and with them the keys of the configuration file:
//! one structure is both.
//!
//! Read by clap and by `config.rs`. Help texts are also the man pages.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use serde::Deserialize;

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
    /// Write the man pages
    #[command(hide = true)]
    Man { directory: PathBuf },
    /// Print the completions for a shell
    #[command(hide = true)]
    Completions { shell: clap_complete::Shell },
}

#[derive(Args, Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct UpArgs {
    /// CPUs to take, like 2-3 or 1,4-6,8-14:2 [default: all but the first core]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Memory to take, split evenly over the NUMA nodes of the CPUs [default: 64M]
    #[arg(long, value_name = "SIZE", conflicts_with = "numa_memory")]
    pub memory: Option<String>,
    /// Memory to take of each NUMA node, like 0=512M,1=512M
    #[arg(long, value_name = "NODE=SIZE,...")]
    pub numa_memory: Option<String>,
    /// Co-kernel image [default: the one installed with this command]
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Load the module with test_hooks=1
    #[arg(long, hide = true)]
    #[serde(skip)]
    pub test_hooks: bool,
    /// With test hooks: fail before this step of the start
    #[arg(long, hide = true, value_name = "STEP")]
    #[serde(skip)]
    pub fail_step: Option<u32>,
}

#[derive(Args, Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct DownArgs {
    /// Send hosted threads back to Linux first, where they go on
    #[arg(long)]
    pub force: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args, Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RunArgs {
    /// CPUs that the program may use [default: all of the partition]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Host its child processes too; without it they start on Linux
    #[arg(long)]
    pub follow: bool,
    /// Leave the program's memory to be faulted in as it is touched
    #[arg(long)]
    pub no_populate: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    #[serde(skip)]
    pub command: Vec<OsString>,
}

#[derive(Args, Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct DecoupleArgs {
    /// The process (all its threads, and those to come)
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    #[serde(skip)]
    pub pid: i32,
    /// CPU of the partition [default: a free one]
    #[arg(long, value_name = "CPU")]
    #[serde(skip)]
    pub cpu: Option<u32>,
    /// PID is one thread: move it alone
    #[arg(long)]
    #[serde(skip)]
    pub thread: bool,
    /// Host its child processes too
    #[arg(long)]
    pub follow: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args, Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RecoupleArgs {
    /// The process
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    #[serde(skip)]
    pub pid: i32,
    /// PID is one thread: bring it back alone
    #[arg(long)]
    #[serde(skip)]
    pub thread: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args, Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LogArgs {
    /// Go on printing what comes
    #[arg(long, short)]
    pub follow: bool,
}

#[derive(Subcommand)]
pub enum NodeCommand {
    /// Boot a node, run a command in it, end with its status
    ///
    /// The current directory is shared with the node, and this tacet is there too. Standard input is empty; for
    /// programs that ask, use `tacet node shell`.
    Run {
        /// Only say what would be booted
        #[arg(long)]
        dry_run: bool,
        /// The command and its arguments
        #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Boot a node and open a shell in it
    Shell,
    /// List the kernels that a node can boot
    List,
    /// Fetch and build what a node needs
    Setup {
        /// Only say what is missing
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Args, Deserialize, Default, Clone)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct NodeArgs {
    /// Kernel: 6.1, 6.12 or 7 [default: 6.12]
    #[arg(long, global = true, value_name = "VERSION")]
    pub kernel: Option<String>,
    /// Virtual CPUs [default: 4]
    #[arg(long, global = true, value_name = "COUNT")]
    pub cpus: Option<u32>,
    /// Memory of the node [default: 2G]
    #[arg(long, global = true, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Seconds that a command may take [default: a day]
    #[arg(long, global = true, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// auto (KVM if a probe boots a guest), kvm or tcg
    #[arg(long, global = true, value_name = "KIND")]
    pub accel: Option<String>,
}
