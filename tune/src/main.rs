// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command: `tacet-tune`, which `tacet tune` executes.

use std::process::ExitCode;

fn main() -> ExitCode {
    tacet_tune::commands::main()
}
