// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet noise`, `tacet tune` and `tacet sched`: separate programs, installed beside this one. The program that
//! measures noise must not link the code that it measures, and all three work on a plain Linux without the rest of
//! Tacet.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use tacet_ctl::{Error, Result};

/// The program beside this one; if there is none, the one in PATH.
pub fn program(name: &str) -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|here| Some(here.parent()?.join(name)));
    beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from(name))
}

/// Replaces this process by the program `name`; returns only on failure.
pub fn beside(name: &str, arguments: impl Iterator<Item = OsString>) -> Result<u8> {
    let program = program(name);
    let failed = Command::new(&program).args(arguments).exec();
    Err(Error::io(program.display(), &failed, "install it beside tacet: it is part of the same package"))
}
