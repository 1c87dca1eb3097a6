// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands.

mod count;
mod generate;
mod run;
mod start;
mod status;
mod stop;
mod top;

use std::io::{self, Write};
use std::process::ExitCode;

use tacet_words::{Failure, Tool};

use crate::examples::described;
use crate::options::{Command, Options};
use crate::{Result, resident};

const TOOL: Tool = Tool { name: "tacet sched", command: described, runners: &["run", "count"] };

/// The whole program.
pub fn main() -> ExitCode {
    match TOOL.parse::<Options>() {
        Ok(options) => run(options).unwrap_or_else(|error| TOOL.fail(Failure::status_of(&*error), &error, false)),
        Err(status) => status,
    }
}

/// Executes the command. Returns the exit status, or an error.
pub fn run(options: Options) -> Result<ExitCode> {
    let json = options.json;
    match options.command {
        Command::Start(options) => start::run(&options, json),
        Command::Stay(options) => resident::stay(&options),
        Command::Stop { dry_run } => stop::run(dry_run, json),
        Command::Status => status::run(json),
        Command::Top(options) => top::run(&options, json),
        Command::Run(options) => run::run(&options),
        Command::Count(options) => count::run(&options),
        Command::Man { directory } => generate::man(&directory),
        Command::Completions { shell } => generate::completions(shell),
        Command::Describe => generate::describe(),
    }
}

/// Prints to standard output. A reader that closes the pipe early is not an error.
fn print(text: &str) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}").into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}
