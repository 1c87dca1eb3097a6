// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command: `tacet-noise`, which `tacet noise` executes.

use std::process::ExitCode;

use clap::Parser;
use tacet_noise::{commands, options::Options};

fn main() -> ExitCode {
    commands::run(Options::parse().command).unwrap_or_else(|error| {
        eprintln!("tacet noise: {error}");
        ExitCode::from(2)
    })
}
