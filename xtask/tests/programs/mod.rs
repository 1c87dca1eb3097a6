// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs that the documents' tests execute: those in the folder that TACET_PROGRAMS names, or this tree's own, which a run of
//! all tests has built. Built here are only missing ones: Cargo compiles much anew for another choice of packages.
//!
//! Called by `commands.rs`, `getting_started.rs` and `notebook.rs`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of programs to test instead of this tree's own.
const PROGRAMS: &str = "TACET_PROGRAMS";

const NAMES: [&str; 4] = ["tacet", "tacet-noise", "tacet-sched", "tacet-tune"];

pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder with all of them.
pub fn folder() -> PathBuf {
    std::env::var_os(PROGRAMS).map(PathBuf::from).or_else(built).unwrap_or_else(build)
}

/// Where Cargo puts programs, above the folder of this test.
fn built() -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.parent()?.parent()?.to_owned();
    NAMES.iter().all(|name| folder.join(name).is_file()).then_some(folder)
}

fn build() -> PathBuf {
    let packages = ["tacet-cli", "tacet-noise", "tacet-sched", "tacet-tune"]
        .into_iter()
        .flat_map(|package| ["--package", package]);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--message-format=json-render-diagnostics"]).args(packages).current_dir(top());
    let output = cargo.output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut executables = messages.split("\"executable\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let tacet = executables.find(|path| path.ends_with("/tacet")).expect("cargo names what it built");
    Path::new(tacet).parent().expect("a folder").to_owned()
}
