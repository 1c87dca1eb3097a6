// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs on emulated static nodes: each prints the same and ends the same as on this Linux. Then everything that
//! can be unplugged is, and nothing may be left.
//!
//! `cargo xtask test` runs it after building `build/bin/tacet`, `build/lib/tacet/static.elf` and `build/tests/static`.
//! Must never assert a time; a program that hangs is killed after a while, and has failed.

mod batch;
mod boot;
mod calls;
mod calls_table;
mod cards;
mod case;
mod left;
mod long_frames;
mod newcomer;
mod nodes;
mod options;
mod packages;
mod place;
mod process;
mod programs;
mod real;
mod refused;
mod runner;
mod stopped;
mod unplug;
mod user;
mod user_table;
mod users;

use std::process::ExitCode;

/// Why a case failed, in a few lines.
type Result<T> = std::result::Result<T, String>;

/// Runs the cases that the words choose, and prints the sum.
pub fn run(words: impl Iterator<Item = String>) -> ExitCode {
    let options = options::Options::parse(words);
    match runner::run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("static: {error}");
            ExitCode::FAILURE
        }
    }
}
