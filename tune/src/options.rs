// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flags and their help, nothing else.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use tacet_words::values::{checked, nanoseconds, small_count};

use crate::claim::Owner;
use crate::cpus::Cpus;

/// Quiet Linux: shows, applies, checks and undoes countermeasures that keep Linux's own work away from an application's
/// CPUs.
///
/// Old values are saved in /var/lib/tacet/tune before anything is changed, so `undo` restores them even after a crash.
/// No change outlives a boot. Exit status: 0 done; 1 done, but something was refused, drifted or could not be restored,
/// or nothing is applied; 2 wrong arguments; 3 the machine or the user's rights do not allow it; 4 interrupted, and
/// undone.
#[derive(Debug, Parser)]
#[command(name = "tacet tune", bin_name = "tacet tune", version, max_term_width = 100)]
pub struct Options {
    /// Print results as JSON, whose field names do not change
    #[arg(long, global = true)]
    pub json: bool,
    /// Take /proc, /sys and /var from below DIR (for tests)
    #[arg(long, global = true, hide = true, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what would be changed on this node, why and at what cost; needs no root
    Plan {
        #[command(flatten)]
        claim: Wanted,
        /// Show each object instead of one line for similar objects
        #[arg(long)]
        all: bool,
    },
    /// Apply the plan to this node, until `undo` or the next boot
    Apply {
        #[command(flatten)]
        claim: Wanted,
        #[command(flatten)]
        rehearsal: Rehearsal,
    },
    /// Check that all changes are in force, and name objects that drifted, are gone or are new
    Verify,
    /// Restore the old values, for the node and all jobs
    Undo {
        #[command(flatten)]
        rehearsal: Rehearsal,
    },
    /// Show what is applied, for which owner, and since which boot
    Status,
    /// List the countermeasures, or describe one in full
    List {
        /// The countermeasure to describe
        #[arg(value_name = "COUNTERMEASURE")]
        name: Option<String>,
    },
    /// Apply for one job, and undo at its end
    Job {
        #[command(subcommand)]
        command: Job,
    },
    /// Measure what each countermeasure is worth on this node
    ///
    /// All are applied, then one at a time is switched off, and fixed work on the application's CPUs is measured each
    /// time (Gerofi et al., SC '21, Table 2). Nothing may be applied before, and nothing is applied afterwards. If the
    /// command was killed, clean up with `tacet tune undo`. Needs root and the noise laboratory.
    Ablate {
        #[command(flatten)]
        claim: Wanted,
        #[command(flatten)]
        how: Ablation,
        #[command(flatten)]
        rehearsal: Rehearsal,
    },
    /// Write the plan as files for another tool, for sites that deploy those
    Export {
        #[arg(value_enum)]
        format: Format,
        /// Write the files below DIR, for example /etc, instead of printing them
        #[arg(long, short = 'o', alias = "output", value_name = "DIR")]
        directory: Option<PathBuf>,
        /// Overwrite existing files
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        claim: Wanted,
    },
    /// Print the words for the kernel's boot line, or have the distribution's tool write them
    ///
    /// What only a boot can do: nohz_full=, rcu_nocbs= and others. `--write` uses update-grub (a file in
    /// /etc/default/grub.d) or grubby; `--undo` takes out exactly what it wrote. Both act at the next boot.
    BootLine {
        #[command(flatten)]
        claim: Wanted,
        /// Write them, instead of what an earlier call wrote; needs root
        #[arg(long, conflicts_with = "undo")]
        write: bool,
        /// Take out what an earlier call wrote; needs root
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        rehearsal: Rehearsal,
    },
    /// Run a program on the quiet CPUs
    Run {
        /// Use the CPUs of this job instead of the node's
        #[arg(long, value_name = "ID")]
        job: Option<Owner>,
        #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Run a program on these CPUs, whether they are a partition or not
    #[command(hide = true)]
    Bound {
        cpus: Cpus,
        #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Write the man pages
    #[command(hide = true)]
    Man { directory: PathBuf },
    /// Print the completions for a shell
    #[command(hide = true)]
    Completions { shell: clap_complete::Shell },
    /// Print the description of the flags, for `tacet`
    #[command(hide = true)]
    Describe,
}

#[derive(Debug, Subcommand)]
pub enum Job {
    /// For a prologue: apply to the CPUs of this job, beside those of the node and of other jobs
    Begin {
        /// The job's id: letters, digits, `.`, `_`, `-`
        id: Owner,
        /// Move this process, and what it starts later, to the job's CPUs
        #[arg(long, value_name = "PID")]
        pid: Option<u32>,
        #[command(flatten)]
        claim: Wanted,
        #[command(flatten)]
        rehearsal: Rehearsal,
    },
    /// For an epilogue: undo what only this job wanted
    End {
        id: Owner,
        #[command(flatten)]
        rehearsal: Rehearsal,
    },
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Format {
    /// tuned/tacet/tuned.conf, a profile
    Tuned,
    /// sysctl.d, tmpfiles.d and drop-ins of slices
    Systemd,
}

/// The CPUs that must be quiet, and the countermeasures.
#[derive(Debug, Args)]
pub struct Wanted {
    /// The application's CPUs: 2-7,10 [default: whole cores, all but the first]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<Cpus>,
    /// Only these countermeasures, instead of the usual ones
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Add these countermeasures, NAME or NAME=NUMBER
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub with: Vec<String>,
    /// Leave out these countermeasures
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub without: Vec<String>,
}

/// For commands that change the node.
#[derive(Debug, Args)]
pub struct Rehearsal {
    /// Only say what would be done; needs no root
    #[arg(long)]
    pub dry_run: bool,
}

/// How an ablation is measured.
#[derive(Debug, Args)]
pub struct Ablation {
    /// How often each countermeasure is switched off; every other round has the reverse order
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = small_count::<u16>)]
    pub rounds: u16,
    /// Duration of each measurement
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = checked(nanoseconds))]
    pub duration: String,
    /// The fixed work
    #[arg(long, value_name = "TIME", default_value = "6.5ms", value_parser = checked(nanoseconds))]
    pub quantum: String,
    /// Measure even if the processor does not report an invariant time source, as in many virtual machines
    #[arg(long)]
    pub trust_clock: bool,
    /// Do not trace: takes half of the time, but names no thieves
    #[arg(long)]
    pub no_trace: bool,
    /// Also draw the table, as SVG
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
    /// The noise laboratory's program
    #[arg(long, hide = true, value_name = "PROGRAM")]
    pub laboratory: Option<PathBuf>,
}
