// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs commands at the top of the repository, echoes them, and names a failure in one line.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::{Result, top};

/// `cargo`, the one that runs us.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(top());
    command
}

/// Any program, at the top of the tree.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(top());
    command
}

/// Runs it, with its output shown.
pub fn run(command: &mut Command) -> Result<()> {
    let text = said(command);
    eprintln!("+ {text}");
    let status = command.stdin(Stdio::null()).status().map_err(|e| format!("{text}: cannot start: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{text}: {status}").into()) }
}

/// The command as a person would type it.
pub fn said(command: &Command) -> String {
    let name = command.get_program().to_string_lossy();
    let name = name.rsplit('/').next().unwrap_or_default().to_owned();
    std::iter::once(name)
        .chain(command.get_args().map(|a| a.to_string_lossy().into_owned()))
        .collect::<Vec<_>>()
        .join(" ")
}
