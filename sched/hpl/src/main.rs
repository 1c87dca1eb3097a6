// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command: `tacet-sched`, which `tacet sched` executes.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use tacet_sched::{commands, options::Options};

fn main() -> ExitCode {
    commands::run(Options::parse().command).unwrap_or_else(|error| {
        eprintln!("tacet sched: {error}");
        ExitCode::from(2)
    })
}
