// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the command, the programs and their sources are. `TACET_COMMAND` names another command.

use std::path::PathBuf;

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
