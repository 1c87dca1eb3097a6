// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command: `tacet-noise`, which `tacet noise` executes.

use std::process::ExitCode;

fn main() -> ExitCode {
    tacet_noise::commands::main()
}
