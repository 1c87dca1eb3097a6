// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Replaces itself by the program in its arguments. This is the last step of `tacet run`; tests use it where there is
//! no device.

fn main() -> std::process::ExitCode {
    let command: Vec<_> = std::env::args_os().skip(1).collect();
    let error = tacet_ctl::execute(&command);
    eprintln!("become: {error}");
    error.status().into()
}
