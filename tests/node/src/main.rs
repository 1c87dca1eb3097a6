// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The runner as a command of its own; the same as the test `nodes`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tacet_scenarios::run(&tacet_scenarios::Options::from_environment())
}
