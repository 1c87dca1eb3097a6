// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the command, the programs and their sources are. `TACET_COMMAND` names another command.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::Result;

/// The top of the source tree.
pub fn top() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    here.canonicalize().unwrap_or(here)
}

pub fn command() -> PathBuf {
    std::env::var_os("TACET_COMMAND").map_or_else(|| top().join("build/bin/tacet"), PathBuf::from)
}

/// A program of `tests/static/programs`.
pub fn program(name: &str) -> String {
    top().join("build/tests/static").join(name).display().to_string()
}

/// A program of `tests/user`, built for this host.
pub fn user_program(name: &str) -> String {
    top().join("build/tests/static/user").join(name).display().to_string()
}

/// A cache of one's own that holds the emulator and remembers nothing.
pub fn empty_cache() -> Result<TempDir> {
    let text = |error: std::io::Error| error.to_string();
    let scratch = TempDir::new().map_err(text)?;
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let usual =
        variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache"))).map(|all| all.join("tacet"));
    let usual = variable("TACET_CACHE").or(usual).ok_or("no cache: HOME is not set")?;
    for part in ["tree", "qemu"] {
        std::os::unix::fs::symlink(usual.join(part), scratch.path().join(part)).map_err(text)?;
    }
    Ok(scratch)
}
