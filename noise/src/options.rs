// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flags and their help texts; no code that uses them.

mod repeated;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use tacet_words::values::{count, small_count};

use crate::inject::Distribution;
use crate::measure::machine::parse_cpus;
use crate::predict::simulate::Synchronisation;
use crate::record::{Kernel, Method};
use crate::units::{Nanoseconds, Recurring};

pub use repeated::{Campaign, History};

/// Measures operating-system noise, predicts its cost at scale, and checks it against limits.
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
    History(History),
    Campaign(Campaign),
    Inject(Inject),
    Collect(Collect),
    Import(Import),
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
    /// Print the description of the flags, for `tacet`
    #[command(hide = true)]
    Describe,
}

/// Measure noise on CPUs of this machine and write a record.
#[derive(Debug, Args)]
pub struct Measure {
    /// How to measure
    #[arg(long, value_enum, default_value_t = Method::Fwq)]
    pub method: Method,
    /// The work of the measuring loop
    #[arg(long = "work", alias = "kernel", value_name = "WORK", value_enum, default_value_t = Kernel::Register)]
    pub kernel: Kernel,
    /// The CPUs to measure, all at once: 0-3,8 [default: all that this process may use]
    #[arg(long, value_name = "LIST", value_parser = CpuList::parse)]
    pub cpus: Option<CpuList>,
    /// The quantum (fwq), the interval (ftq) or the shortest detour (selfish) [default: 6.5ms, 1ms, 1us]
    #[arg(long, value_name = "TIME")]
    pub quantum: Option<Nanoseconds>,
    /// Units of work in a quantum (fwq), instead of a length
    #[arg(long, value_name = "COUNT", value_parser = count)]
    pub units: Option<u64>,
    /// How long to measure (wall time after warming up)
    #[arg(long, value_name = "TIME", default_value = "10s", conflicts_with = "samples")]
    pub duration: Nanoseconds,
    /// How many samples to take on each CPU, instead of a duration
    #[arg(long, value_name = "COUNT", value_parser = count)]
    pub samples: Option<u64>,
    /// Measure with this real-time priority (SCHED_FIFO), 1 to 99
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub realtime: Option<u8>,
    /// Measure even if the processor does not report an invariant time source; many virtual machines do not
    #[arg(long)]
    pub trust_clock: bool,
    /// Name of the record in tables and pictures [default: the host's name]
    #[arg(long)]
    pub label: Option<String>,
    /// File for the record
    #[arg(long, short, value_name = "FILE", default_value = "noise.parquet")]
    pub output: PathBuf,
    /// Leave out the host's name and the kernel arguments that do not affect noise
    #[arg(long)]
    pub redact: bool,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// Show what is found on the terminal meanwhile, even if every CPU is measured and one of them is disturbed by it
    #[arg(long)]
    pub live: bool,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Measure, and name the sources of the noise and how to stop them. Needs root.
/// Ctrl-C ends the measurement early and keeps its results.
#[derive(Debug, Args)]
pub struct Trace {
    #[command(flatten)]
    pub measure: Measure,
    /// End at the first noise this long, and show the events around it (fwq)
    #[arg(long, value_name = "TIME")]
    pub until: Option<Nanoseconds>,
    /// Also write all events into this file, for Perfetto (https://ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// The shortest noise that counts as a detour and is explained
    #[arg(long, value_name = "TIME", default_value = "1us")]
    pub threshold: Nanoseconds,
}

/// Show the statistics of records: noise length, rate, tail, groups; for fixed time also the spectrum.
#[derive(Debug, Args)]
pub struct Analyse {
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// The shortest noise that counts as a detour
    #[arg(long, value_name = "TIME", default_value = "1us")]
    pub threshold: Nanoseconds,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Compare records with the first one, by tests that assume nothing about the distribution of noise.
#[derive(Debug, Args)]
pub struct Compare {
    #[arg(required = true, num_args = 2.., value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Predict how much noise slows down a bulk-synchronous program (Eq. 1 of Gerofi et al., SC '21).
#[derive(Debug, Args)]
pub struct Predict {
    /// Number of threads that synchronise, for example 1e5
    #[arg(long, value_name = "COUNT", value_parser = count)]
    pub threads: u64,
    /// The program's own time between two synchronisations
    #[arg(long, value_name = "TIME")]
    pub interval: Nanoseconds,
    /// Noise on each thread: LENGTH@INTERVAL, for example 1ms@500s; may be given several times
    #[arg(long, value_name = "NOISE", required_unless_present = "record")]
    pub noise: Vec<Recurring>,
    /// Use the noise groups of this record
    #[arg(long, value_name = "RECORD", conflicts_with = "noise")]
    pub record: Option<PathBuf>,
    /// The shortest noise of the record that counts
    #[arg(long, value_name = "TIME", default_value = "1us")]
    pub threshold: Nanoseconds,
    /// Also simulate a program that computes this long on each thread; with a record, uses every noise in it
    #[arg(long, value_name = "TIME")]
    pub simulate: Option<Nanoseconds>,
    /// How the simulated threads wait for each other
    #[arg(long, value_enum, default_value_t = Synchronisation::Barrier, requires = "simulate")]
    pub synchronise: Synchronisation,
    /// Latency of one step of a simulated allreduce
    #[arg(long, value_name = "TIME", default_value = "1us", requires = "simulate")]
    pub latency: Nanoseconds,
    /// Simulate noise that hits all threads at the same time
    #[arg(long, requires = "simulate")]
    pub co_scheduled: bool,
    /// Seed of the simulation: the same seed gives the same result
    #[arg(long, default_value_t = 1, requires = "simulate")]
    pub seed: u64,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Draw records: one HTML page that works offline, and the figures as files.
#[derive(Debug, Args)]
pub struct Report {
    /// Up to seven records, shown side by side
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// File for the page
    #[arg(long, short, value_name = "FILE", default_value = "noise.html")]
    pub output: PathBuf,
    /// Also write each figure as a file into this folder
    #[arg(long, value_name = "FOLDER")]
    pub figures: Option<PathBuf>,
    /// Format of these files
    #[arg(long, value_enum, default_value_t = Format::Both, requires = "figures")]
    pub format: Format,
    /// The predicted program's number of threads [default: the CPUs of this machine, or the cores of the records]
    #[arg(long, value_name = "COUNT", value_parser = count)]
    pub threads: Option<u64>,
    /// The predicted program's own time between two synchronisations
    #[arg(long, value_name = "TIME", default_value = "250us")]
    pub interval: Nanoseconds,
    /// The shortest noise that counts as a detour
    #[arg(long, value_name = "TIME", default_value = "1us")]
    pub threshold: Nanoseconds,
    /// Leave out the host's name and the kernel arguments that do not affect noise
    #[arg(long)]
    pub redact: bool,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// The format of a figure's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Svg,
    Png,
    Both,
}

/// Check this machine, or a record, against limits: exit status 0 if it is within them, 1 if not, 2 if the measurement
/// is not enough to say (or on an error).
///
/// It is enough with 100 samples and 20 stretches of 100 ms on each CPU. One noise above --max-noise is noisy. The rate
/// has an interval (Student's t over the stretches, 95 % on each side, and above it 3 ms over the measured time of all
/// CPUs for noise that came in no sample): all of it must be on one side of --rate. A limit of 1e-5 so takes 300 s of
/// one CPU, or 5 s of 60.
#[derive(Debug, Args)]
pub struct Check {
    /// The longest noise that is accepted; this or --rate must be given, or saved in a configuration file
    #[arg(long, value_name = "TIME")]
    pub max_noise: Option<Nanoseconds>,
    /// The highest noise rate that is accepted, for example 1e-5
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    pub rate: Option<f64>,
    /// Check this record instead of measuring
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["cpus", "duration"])]
    pub record: Option<PathBuf>,
    /// The CPUs to measure [default: all that this process may use]
    #[arg(long, value_name = "LIST", value_parser = CpuList::parse)]
    pub cpus: Option<CpuList>,
    /// How long to measure (wall time); to name a thief it measures as long again
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub duration: Nanoseconds,
    /// Measure even if the processor does not report an invariant time source
    #[arg(long)]
    pub trust_clock: bool,
    /// Add the verdict to this file [default: /var/lib/tacet/noise/checks.jsonl for root, tacet/checks.jsonl in
    /// $XDG_STATE_HOME for others]; what `--record` says of an old record is not added
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Add noise to CPUs of this machine for a limited time, to find out how sensitive a program is to noise.
#[derive(Debug, Args)]
pub struct Inject {
    /// LENGTH@INTERVAL on each CPU, for example 100us@10ms
    #[arg(long, value_name = "NOISE")]
    pub noise: Recurring,
    /// How lengths vary around their mean
    #[arg(long, value_enum, default_value_t = Distribution::Fixed)]
    pub distribution: Distribution,
    /// The CPUs [default: all that this process may use]
    #[arg(long, value_name = "LIST", value_parser = CpuList::parse)]
    pub cpus: Option<CpuList>,
    /// How long to add noise
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub duration: Nanoseconds,
    /// Run with this real-time priority (SCHED_FIFO), 1 to 99; without it the scheduler shares the CPU
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub realtime: Option<u8>,
    /// Seed of the varying lengths
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Combine runs of the MPI program (tacet-mpi-fwq) into one record. All runs must have done the same work.
///
/// The record has the samples of the worst nodes, and the noise of all cores as a histogram. A second file beside it
/// (.ranks.parquet) has a row for each rank.
#[derive(Debug, Args)]
pub struct Collect {
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Name of the record in tables and pictures [default: as the first run]
    #[arg(long)]
    pub label: Option<String>,
    /// File for the record
    #[arg(long, short, value_name = "FILE", default_value = "noise.parquet")]
    pub output: PathBuf,
    /// Leave out the host's name and the kernel arguments that do not affect noise
    #[arg(long)]
    pub redact: bool,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Make a record of another tool's output: rtla osnoise/timerlat hist, cyclictest --histogram, the hwlat tracer, netgauge's
/// noise pattern, ftq.
///
/// Its samples are detours, or the quanta and intervals of netgauge and ftq. Latencies (timerlat, cyclictest) are not what a computing program lost; the record says which
/// of both it has, and what the output did not tell.
#[derive(Debug, Args)]
pub struct Import {
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its format [default: recognised]
    #[arg(long, value_enum)]
    pub format: Option<crate::import::Format>,
    /// The time between two samples, if cyclictest's output does not have it
    #[arg(long = "period", alias = "interval", value_name = "TIME")]
    pub interval: Option<Nanoseconds>,
    /// Name of the record in tables and pictures [default: the file's name]
    #[arg(long)]
    pub label: Option<String>,
    /// File for the record
    #[arg(long, short, value_name = "FILE", default_value = "noise.parquet")]
    pub output: PathBuf,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Count, in an emulated node, the instructions on a CPU that are not the program's; exact even on a busy host.
///
/// `tacet node run` boots a node with a counting plugin in its emulator. One CPU executes quanta of the same
/// instructions while the others run a load. All other instructions of that CPU are attributed to the kernel, by
/// function and by entry, or to other programs, by name. The results are numbers of instructions, not times.
#[derive(Debug, Args)]
pub struct Exact {
    /// Show this record instead of measuring
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["kernel", "boot_arguments", "cpus", "measured", "quanta", "quantum", "load", "share", "reproducible", "label", "output"])]
    pub record: Option<PathBuf>,
    /// The node's kernel: 6.1, 6.12 or 7
    #[arg(long, value_name = "VERSION", default_value = "6.12")]
    pub kernel: String,
    /// Words for the kernel's command line, for example 'nohz_full=3 isolcpus=3 rcu_nocbs=3'
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
    pub boot_arguments: String,
    /// Number of the node's CPUs
    #[arg(long = "node-cpus", alias = "cpus", value_name = "COUNT", default_value_t = 4, value_parser = small_count::<u32>)]
    pub cpus: u32,
    /// The CPU that executes the quanta [default: the last one]
    #[arg(long, value_name = "CPU")]
    pub measured: Option<u32>,
    /// Number of quanta
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = quanta)]
    pub quanta: u64,
    /// Instructions of the program in a quantum
    #[arg(long = "instructions", alias = "quantum", value_name = "COUNT", default_value_t = 1_000_000, value_parser = count)]
    pub quantum: u64,
    /// A shell command that loads the other CPUs during the measurement; '' for none [default: forks, pipes, files]
    #[arg(long, value_name = "COMMAND")]
    pub load: Option<String>,
    /// A directory that the load needs, at the same path in the node; may be given several times
    #[arg(long, value_name = "DIRECTORY")]
    pub share: Vec<PathBuf>,
    /// Repeat exactly, to the last instruction, with this seed: slower, busybox instead of Debian, no program names
    #[arg(long, value_name = "SEED", num_args = 0..=1, default_missing_value = "1")]
    pub reproducible: Option<u64>,
    /// Name of the record in tables and pictures [default: the kernel]
    #[arg(long)]
    pub label: Option<String>,
    /// File for the record
    #[arg(long, short, value_name = "FILE", default_value = "exact.parquet")]
    pub output: PathBuf,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// The plugin keeps each quantum in memory.
fn quanta(text: &str) -> Result<u64, String> {
    const MOST: u64 = 100_000_000;
    count(text).and_then(|count| if count <= MOST { Ok(count) } else { Err(format!("`{text}` is more than {MOST}")) })
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
