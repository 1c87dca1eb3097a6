// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flags and their help; nothing here does anything.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::inject::Distribution;
use crate::measure::machine::parse_cpus;
use crate::predict::simulate::Synchronisation;
use crate::record::{Kernel, Method};
use crate::units::{Nanoseconds, Recurring};

/// Measures operating-system noise, says what it costs at scale, and gates on it.
///
/// Only `trace` needs root. The output is for people; --json is for programs.
#[derive(Debug, Parser)]
#[command(name = "tacet noise", bin_name = "tacet noise", version, max_term_width = 100)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Measure(Measure),
    Trace(Trace),
    Analyse(Analyse),
    Compare(Compare),
    Predict(Predict),
    Report(Report),
    Check(Check),
    Inject(Inject),
    Collect(Collect),
    Exact(Exact),
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

/// Measure noise on CPUs of this machine and keep a record.
#[derive(Debug, Args)]
pub struct Measure {
    /// How noise shows itself
    #[arg(long, value_enum, default_value_t = Method::Fwq)]
    pub method: Method,
    /// What the measuring loop works on
    #[arg(long, value_enum, default_value_t = Kernel::Register)]
    pub kernel: Kernel,
    /// The CPUs to measure, all at once: 0-3,8 [default: all that this process may use]
    #[arg(long, value_name = "LIST", value_parser = CpuList::parse)]
    pub cpus: Option<CpuList>,
    /// The quantum (fwq), the interval (ftq) or the least detour (selfish) [default: 6.5ms, 1ms, 1us]
    #[arg(long, value_name = "TIME")]
    pub quantum: Option<Nanoseconds>,
    /// Units of work in a quantum (fwq), instead of as many as the quantum takes
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub units: Option<u64>,
    /// How long to measure
    #[arg(long, value_name = "TIME", default_value = "10s", conflicts_with = "samples")]
    pub duration: Nanoseconds,
    /// How many samples to take on each CPU, instead of a duration
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub samples: Option<u64>,
    /// Measure with this real-time priority (SCHED_FIFO), 1 to 99
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub realtime: Option<u8>,
    /// Measure although the processor does not say that its time source is invariant, as many virtual machines do not
    #[arg(long)]
    pub trust_clock: bool,
    /// What to call the record in tables and pictures [default: the host's name]
    #[arg(long)]
    pub label: Option<String>,
    /// Where to write it
    #[arg(long, short, value_name = "FILE", default_value = "noise.parquet")]
    pub output: PathBuf,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Measure, and name what took the time: what the kernel ran meanwhile, and what stops it. Needs root.
/// Ctrl-C ends it early and keeps what was found (fwq).
#[derive(Debug, Args)]
pub struct Trace {
    #[command(flatten)]
    pub measure: Measure,
    /// End at the first noise this long, and tell what happened around it (fwq)
    #[arg(long, value_name = "TIME")]
    pub until: Option<Nanoseconds>,
    /// The least noise that is a detour, to be explained
    #[arg(long, value_name = "TIME", default_value = "1us")]
    pub threshold: Nanoseconds,
}

/// Statistics of a record: noise length, rate, tail, groups, and of fixed time the spectrum.
#[derive(Debug, Args)]
pub struct Analyse {
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// The least noise that is a detour
    #[arg(long, value_name = "TIME", default_value = "1us")]
    pub threshold: Nanoseconds,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Compare records with the first one, without an assumption about how noise is distributed.
#[derive(Debug, Args)]
pub struct Compare {
    #[arg(required = true, num_args = 2.., value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Predict what noise costs a bulk-synchronous program (Eq. 1 of Gerofi et al., SC '21).
#[derive(Debug, Args)]
pub struct Predict {
    /// Threads that synchronise
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub threads: u64,
    /// The program's own time between two synchronisations
    #[arg(long, value_name = "TIME")]
    pub interval: Nanoseconds,
    /// Noise on each thread: LENGTH@INTERVAL, for example 1ms@500s; may be given several times
    #[arg(long, value_name = "NOISE", required_unless_present = "record")]
    pub noise: Vec<Recurring>,
    /// Take the noise groups of this record
    #[arg(long, value_name = "RECORD", conflicts_with = "noise")]
    pub record: Option<PathBuf>,
    /// The least noise of the record that counts
    #[arg(long, value_name = "TIME", default_value = "1us")]
    pub threshold: Nanoseconds,
    /// Simulate a program that computes for so long on each thread: with a record, every noise that it holds
    #[arg(long, value_name = "TIME")]
    pub simulate: Option<Nanoseconds>,
    /// How the simulated threads wait for each other
    #[arg(long, value_enum, default_value_t = Synchronisation::Barrier, requires = "simulate")]
    pub synchronise: Synchronisation,
    /// One step of a simulated allreduce
    #[arg(long, value_name = "TIME", default_value = "1us", requires = "simulate")]
    pub latency: Nanoseconds,
    /// Simulated noise comes to all threads at once
    #[arg(long, requires = "simulate")]
    pub co_scheduled: bool,
    /// Of the simulation: the same seed, the same result
    #[arg(long, default_value_t = 1, requires = "simulate")]
    pub seed: u64,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Picture records: one HTML page that works offline, and the figures as files.
#[derive(Debug, Args)]
pub struct Report {
    /// Up to seven, side by side
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// Where to write the page
    #[arg(long, short, value_name = "FILE", default_value = "noise.html")]
    pub output: PathBuf,
    /// Write each figure as a file into this folder too
    #[arg(long, value_name = "FOLDER")]
    pub figures: Option<PathBuf>,
    /// What files
    #[arg(long, value_enum, default_value_t = Format::Both, requires = "figures")]
    pub format: Format,
    /// Of the predicted program: its own time between two synchronisations
    #[arg(long, value_name = "TIME", default_value = "250us")]
    pub interval: Nanoseconds,
    /// The least noise that is a detour
    #[arg(long, value_name = "TIME", default_value = "1us")]
    pub threshold: Nanoseconds,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Of a figure's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Svg,
    Png,
    Both,
}

/// Judge this machine, or a record, by limits: exit status 0 if it keeps them, 1 if not, 2 if that cannot be said.
#[derive(Debug, Args)]
pub struct Check {
    /// The longest noise that is accepted
    #[arg(long, value_name = "TIME", required_unless_present = "rate")]
    pub max_noise: Option<Nanoseconds>,
    /// The highest noise rate that is accepted, for example 1e-5
    #[arg(long, value_name = "RATE")]
    pub rate: Option<f64>,
    /// Judge this record instead of measuring
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cpus", "duration"])]
    pub record: Option<PathBuf>,
    /// The CPUs to measure [default: all that this process may use]
    #[arg(long, value_name = "LIST", value_parser = CpuList::parse)]
    pub cpus: Option<CpuList>,
    /// How long to measure
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub duration: Nanoseconds,
    /// Measure although the processor does not say that its time source is invariant
    #[arg(long)]
    pub trust_clock: bool,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Add noise to CPUs of this machine, to see how a program bears it; it ends by itself.
#[derive(Debug, Args)]
pub struct Inject {
    /// LENGTH@INTERVAL on each CPU, for example 100us@10ms
    #[arg(long, value_name = "NOISE")]
    pub noise: Recurring,
    /// How lengths vary about their mean
    #[arg(long, value_enum, default_value_t = Distribution::Fixed)]
    pub distribution: Distribution,
    /// The CPUs [default: all that this process may use]
    #[arg(long, value_name = "LIST", value_parser = CpuList::parse)]
    pub cpus: Option<CpuList>,
    /// How long
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub duration: Nanoseconds,
    /// Go first: real-time priority (SCHED_FIFO), 1 to 99; without it the scheduler shares the CPU
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub realtime: Option<u8>,
    /// Of the lengths that vary
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Make one record of runs of the MPI program (tacet-mpi-fwq), one or several that did the same.
///
/// Samples are those of the worst nodes; the noise of all cores is in the record as a histogram, and in a second file
/// beside it (.ranks.parquet) each rank has a row.
#[derive(Debug, Args)]
pub struct Collect {
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// What to call the record in tables and pictures [default: as the first run]
    #[arg(long)]
    pub label: Option<String>,
    /// Where to write it
    #[arg(long, short, value_name = "FILE", default_value = "noise.parquet")]
    pub output: PathBuf,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Count, in an emulated node, the instructions on a CPU that are not the program's: exact on the busiest host.
///
/// A node is booted by `tacet node run` with a counting plugin in its emulator. One CPU executes quanta of the same
/// instructions while the others carry a load; what else that CPU executes is booked to the kernel, by function and by
/// the way into it, or to other programs, by name. Instructions, never time.
#[derive(Debug, Args)]
pub struct Exact {
    /// Show this record instead of measuring
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kernel", "boot_arguments", "cpus", "measured", "quanta", "quantum", "load", "share", "reproducible", "label", "output"])]
    pub record: Option<PathBuf>,
    /// The node's kernel: 6.1, 6.12 or 7
    #[arg(long, value_name = "VERSION", default_value = "6.12")]
    pub kernel: String,
    /// Words for its command line, for example 'nohz_full=3 isolcpus=3 rcu_nocbs=3'
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
    pub boot_arguments: String,
    /// The node's CPUs
    #[arg(long, value_name = "COUNT", default_value_t = 4)]
    pub cpus: u32,
    /// The CPU that executes the quanta [default: the last one]
    #[arg(long, value_name = "CPU")]
    pub measured: Option<u32>,
    /// How many quanta
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub quanta: u64,
    /// Instructions of the program in a quantum
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    pub quantum: u64,
    /// A shell command for the other CPUs, ended with the measurement; '' for none [default: forks, pipes, files]
    #[arg(long, value_name = "COMMAND")]
    pub load: Option<String>,
    /// A directory that the load needs, at the same path in the node; may be given several times
    #[arg(long, value_name = "DIRECTORY")]
    pub share: Vec<PathBuf>,
    /// Repeatable to the last instruction under this seed: slower, on busybox instead of Debian; names no programs
    #[arg(long, value_name = "SEED", num_args = 0..=1, default_missing_value = "1")]
    pub reproducible: Option<u64>,
    /// What to call the record in tables and pictures [default: the kernel]
    #[arg(long)]
    pub label: Option<String>,
    /// Where to write it
    #[arg(long, short, value_name = "FILE", default_value = "exact.parquet")]
    pub output: PathBuf,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// A list of CPUs.
#[derive(Debug, Clone)]
pub struct CpuList(pub Vec<u32>);

impl CpuList {
    fn parse(text: &str) -> Result<CpuList, String> {
        parse_cpus(text).map(CpuList)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_are_consistent() {
        Options::command().debug_assert();
    }
}
