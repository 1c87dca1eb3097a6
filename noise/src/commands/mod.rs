// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands: each reads or makes records, and prints a table or JSON.

mod analyse;
mod check;
mod collect;
mod exact;
mod generate;
mod inject;
mod measure;
mod predict;
mod report;
mod trace;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use crate::Result;
use crate::options::Command;
use crate::record::Record;

/// Executes the command. Returns the exit status, or an error.
pub fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Measure(options) => measure::run(options),
        Command::Analyse(options) => analyse::run(options),
        Command::Compare(options) => analyse::compare_all(options),
        Command::Predict(options) => predict::run(options),
        Command::Check(options) => check::run(options),
        Command::Report(options) => report::run(options),
        Command::Inject(options) => inject::run(options),
        Command::Trace(options) => trace::run(options),
        Command::Collect(options) => collect::run(options),
        Command::Man { directory } => generate::man(&directory),
        Command::Completions { shell } => generate::completions(shell),
        Command::Exact(options) => exact::run(options),
    }
}

fn read_all(paths: &[PathBuf]) -> Result<Vec<Record>> {
    paths.iter().map(|path| Record::read(path)).collect()
}

/// Prints to standard output. A reader that closes the pipe early is not an error.
fn print(text: &str) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}").into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn print_json(facts: &impl Serialize) -> Result<ExitCode> {
    print(&(serde_json::to_string_pretty(facts)? + "\n"))
}
