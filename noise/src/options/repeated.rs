// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flags of the commands about measurements that are repeated over time.

use std::path::PathBuf;

use clap::Args;
use tacet_words::values::count;

/// Show the verdicts of earlier checks on this machine, the oldest first.
#[derive(Debug, Args)]
pub struct History {
    /// The file to read [default: that of `check`]
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Only the last ones
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = count)]
    pub last: Option<u64>,
    /// Print facts as JSON
    #[arg(long)]
    pub json: bool,
}

/// Do the measurements that a file describes, each in a process of its own, and keep each result with the machine's facts.
///
/// The file has `directory` (for the results, beside the file), `repetitions`, and for each `[[step]]` a `name`, a `command`
/// (measure, trace or check), `options` (its flags) and, if they differ, `repetitions`. Status 1: interrupted.
#[derive(Debug, Args)]
pub struct Campaign {
    /// The campaign, as TOML
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Go on with a campaign that was interrupted, or whose step failed
    #[arg(long)]
    pub resume: bool,
    /// Only check the file, and say what would be run
    #[arg(long)]
    pub dry_run: bool,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
}
