// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet noise`: the laboratory, a program of its own beside this one. The judge does not link the accused.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use tacet_ctl::{Error, Result};

const PROGRAM: &str = "tacet-noise";

/// Becomes the laboratory; returns only if that fails.
pub fn noise(arguments: &[OsString], json: bool) -> Result<u8> {
    let beside = std::env::current_exe().ok().and_then(|here| Some(here.parent()?.join(PROGRAM)));
    let program = beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from(PROGRAM));
    let json = json.then_some("--json");
    let failed = Command::new(&program).args(arguments).args(json).exec();
    Err(Error::io(program.display(), &failed, "install it beside tacet: it is part of the same package"))
}
