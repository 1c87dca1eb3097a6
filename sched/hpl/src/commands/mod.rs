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

use crate::options::Command;
use crate::{Result, resident};

/// Executes the command. Returns the exit status, or an error.
pub fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Start(options) => start::run(&options),
        Command::Stay(options) => resident::stay(&options),
        Command::Stop => stop::run(),
        Command::Status(options) => status::run(&options),
        Command::Top(options) => top::run(&options),
        Command::Run(options) => run::run(&options),
        Command::Count(options) => count::run(&options),
        Command::Man { directory } => generate::man(&directory),
        Command::Completions { shell } => generate::completions(shell),
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
