// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scenarios as a test. It prints lines of `ok` and `not ok`, then `N passed, N failed`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tacet_scenarios::run(&tacet_scenarios::Options::from_environment())
}
