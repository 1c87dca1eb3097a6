// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each command does.

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

/// The exit status, unless something went wrong.
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

/// To standard output. Who reads no further has what he wanted.
fn print(text: &str) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}").into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}
