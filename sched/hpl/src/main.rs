// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command: `tacet-sched`, which `tacet sched` executes.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    tacet_sched::commands::main()
}
