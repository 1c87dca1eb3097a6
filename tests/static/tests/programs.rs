// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs all cases, or those that the arguments name: `cargo test -p tacet-static-tests -- NAME...`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tacet_static_tests::run(std::env::args().skip(1))
}
