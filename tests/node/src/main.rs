// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The runner as a program; the test `nodes` does the same.

use std::process::ExitCode;

fn main() -> ExitCode {
    tacet_scenarios::run(&tacet_scenarios::Options::from_environment())
}
