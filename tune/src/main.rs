// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command: `tacet-tune`, which `tacet tune` executes.

use std::process::ExitCode;

use clap::Parser;
use tacet_tune::{commands, options::Options};

fn main() -> ExitCode {
    commands::run(Options::parse()).unwrap_or_else(|error| {
        eprintln!("tacet tune: {error}");
        ExitCode::from(2)
    })
}
