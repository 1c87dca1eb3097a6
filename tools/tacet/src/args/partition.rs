// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flags of the commands that use a partition, and their keys in the configuration file.
//!
//! An argument that makes sense for one call only (a process, a program) is not a key.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Deserialize;
use tacet_words::values::{checked, count, cpus, duration_or_seconds, size};

#[derive(Args, Deserialize, Debug, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct UpArgs {
    /// CPUs to take, like 2-3 or 1,4-6,8-14:2 [default: all but the first core]
    #[arg(long, value_name = "LIST", value_parser = checked(cpus))]
    pub cpus: Option<String>,
    /// CPUs that `tacet grow` may add later; without --cpus, the partition begins with none
    #[arg(long, value_name = "LIST", value_parser = checked(cpus))]
    pub spare: Option<String>,
    /// Memory to take, split evenly over the NUMA nodes of the CPUs [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = checked(size), conflicts_with = "numa_memory")]
    pub memory: Option<String>,
    /// Memory to take of each NUMA node, like 0=512M,1=512M
    #[arg(long, value_name = "NODE=SIZE,...")]
    pub numa_memory: Option<String>,
    /// Host programs of several users at a time, even where the processor lets one read another's data
    #[arg(long)]
    pub mix_users: bool,
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

#[derive(Args, Deserialize, Debug, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct DownArgs {
    /// Send hosted threads back to Linux first, where they continue
    #[arg(long)]
    pub force: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args, Debug)]
pub struct ResizeArgs {
    /// The CPUs, like 2-3
    #[arg(long, value_name = "LIST", value_parser = checked(cpus), required_unless_present = "memory")]
    pub cpus: Option<String>,
    /// Memory, like 1G, in multiples of 2M; what joined may leave again, where no program has it
    #[arg(long, value_name = "SIZE", value_parser = checked(size))]
    pub memory: Option<String>,
    /// The NUMA node of that memory [default: any]
    #[arg(long, value_name = "NODE", requires = "memory")]
    pub node: Option<u32>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

/// Where a program's anonymous memory comes from: Linux, or the partition (`Own`). `All` adds its `.data` and `.bss`.
#[derive(ValueEnum, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    Linux,
    Own,
    All,
}

/// Whether a thread stays on Linux while it makes many calls.
#[derive(ValueEnum, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Burst {
    Off,
    Auto,
}

#[derive(Args, Deserialize, Debug, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RunArgs {
    /// CPUs that the program may use [default: all of the partition]
    #[arg(long, value_name = "LIST", value_parser = checked(cpus))]
    pub cpus: Option<String>,
    /// Host its child processes too; without it they start on Linux
    #[arg(long)]
    pub follow: bool,
    /// Fault in the program's memory ahead; if the user may lock memory without limit (`ulimit -l unlimited`), lock what
    /// it has of Linux's memory, too. Calls then answer as they do for locked memory. Memory that is only reserved
    /// (`MAP_NORESERVE`, `PROT_NONE`) is not populated [default: Linux's and the partition's memory comes when touched]
    #[arg(long, conflicts_with = "no_populate")]
    pub populate: bool,
    /// The default: for scripts and configurations that say so
    #[arg(long, hide = true)]
    pub no_populate: bool,
    /// Where the program's anonymous memory comes from: `own` (the partition), `linux`, or `all` (the partition, also
    /// for .data and .bss if the program is position-independent and has 8 MiB of them) [default: own]
    #[arg(long = "memory-from", alias = "memory", value_name = "WHOSE")]
    #[serde(rename = "memory-from", alias = "memory")]
    pub memory: Option<Memory>,
    /// Bind each thread to one CPU: `compact` (neighbours first), `scatter` (cores first, their second hardware threads
    /// last) or a list like 3,2,4-7 in the order of the threads [default: threads are placed by topology, not bound]
    #[arg(long, value_name = "HOW")]
    pub bind: Option<String>,
    /// Let each rank of a parallel job use all CPUs [default: the ranks of a node divide them]
    #[arg(long)]
    pub undivided: bool,
    /// Let Linux serve all of the program's I/O, also on devices that have a fast path (see `tacet pico`)
    #[arg(long)]
    pub no_pico: bool,
    /// `auto`: a thread that makes many calls, and a program that begins, stays on Linux until it computes; `off`: every
    /// thread is on a core whenever it is not in a call [default: off]
    #[arg(long, value_name = "WHEN")]
    pub burst: Option<Burst>,
    /// If another user has the partition, wait until those programs have ended, at most this long; a number alone is
    /// seconds [default: do not wait; without a TIME: as long as it takes]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, value_parser = duration_or_seconds)]
    #[serde(skip)]
    pub wait: Option<Option<Duration>>,
    /// After the program has ended, show on standard error what took its time on the cores besides its own code
    /// (with --json as one object)
    #[arg(long)]
    pub profile: bool,
    /// Write the profile to FILE, as JSON
    #[arg(long, value_name = "FILE")]
    pub profile_to: Option<PathBuf>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    #[serde(skip)]
    pub command: Vec<OsString>,
}

#[derive(Args, Deserialize, Debug, Default)]
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
    /// Also the first process of the machine (PID 1), by which everything else is started and ended
    #[arg(long)]
    #[serde(skip)]
    pub force: bool,
    /// Treat PID as one thread and move only that
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

#[derive(Args, Deserialize, Debug, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RecoupleArgs {
    /// The process
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    #[serde(skip)]
    pub pid: i32,
    /// Treat PID as one thread and bring back only that
    #[arg(long)]
    #[serde(skip)]
    pub thread: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args, Deserialize, Debug, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LogArgs {
    /// Keep printing new records
    #[arg(long, short)]
    pub follow: bool,
}

/// By what `top` sorts: shares and rates from the highest, others from the lowest.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    User,
    Calls,
    Faults,
    Pid,
    Tid,
    #[value(name = "on-cpu")]
    OnCpu,
    Name,
}

#[derive(Args)]
pub struct TopArgs {
    /// Show only this process, with its total costs
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    pub pid: Option<i32>,
    /// Time between two tables; a number alone is seconds
    #[arg(long = "every", alias = "interval", value_name = "TIME", default_value = "2s", value_parser = duration_or_seconds)]
    pub interval: Duration,
    /// Stop after this many tables [default: never]
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = count)]
    pub iterations: Option<u64>,
    /// The order of the threads; on a terminal the first letter of another one changes it, and q ends
    #[arg(long, value_name = "COLUMN", value_enum, default_value_t = Order::User)]
    pub sort: Order,
}
