// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet noise`, `tacet tune` and `tacet sched`: programs of their own beside this one. The judge does not link the
//! accused, and a plain Linux is tuned and scheduled without any of the rest.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use tacet_ctl::{Error, Result};

/// Becomes that program; returns only if that fails.
pub fn beside(name: &str, arguments: impl Iterator<Item = OsString>) -> Result<u8> {
    let beside = std::env::current_exe().ok().and_then(|here| Some(here.parent()?.join(name)));
    let program = beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from(name));
    let failed = Command::new(&program).args(arguments).exec();
    Err(Error::io(program.display(), &failed, "install it beside tacet: it is part of the same package"))
}
