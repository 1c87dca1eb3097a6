// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The contract of all commands (docs/command-line.md), command by command: the list comes from the descriptions of the
//! arguments, so a new command is tested without a change here. Needs no root, no module and no node.
//!
//! The programs of the family lie in one directory: `tacet` as it was built, and this test in the place of the other
//! three, whose libraries it links.

mod bench;
mod commands;
mod family;
mod words;

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let name = std::env::args_os().next().unwrap_or_default();
    match Path::new(&name).file_name().and_then(|name| name.to_str()) {
        Some("tacet-noise") => tacet_noise::commands::main(),
        Some("tacet-sched") => tacet_sched::commands::main(),
        Some("tacet-tune") => tacet_tune::commands::main(),
        _ => test(),
    }
}

fn test() -> ExitCode {
    let arguments = Arguments::from_args();
    let bench: &'static bench::Bench = Box::leak(Box::new(bench::Bench::new()));
    let trials = [commands::trials(bench), family::trials(bench), words::trials(bench)].concat_trials();
    let conclusion = libtest_mimic::run(&arguments, trials);
    bench.remove();
    conclusion.exit_code()
}

trait ConcatTrials {
    fn concat_trials(self) -> Vec<libtest_mimic::Trial>;
}

impl<const N: usize> ConcatTrials for [Vec<libtest_mimic::Trial>; N] {
    fn concat_trials(self) -> Vec<libtest_mimic::Trial> {
        self.into_iter().flatten().collect()
    }
}
