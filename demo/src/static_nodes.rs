// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One Python program on this Linux, and on four emulated nodes without any, whose I/O comes back here.
//!
//! Called by `main.rs`. The nodes are emulators beside the one of the other steps, and end with the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::Result;
use crate::row::Row;

/// Not the first one on PATH: that may be a script which chooses one.
const PYTHON: &str = "/usr/bin/python3";
const NODES: usize = 4;
/// Seconds; four emulators on a busy host are slow.
const LIMIT_S: u32 = 150;
/// The status by which `timeout` tells that it ended its program.
const TIMED_OUT: i32 = 124;
const SOURCE: (&str, &str) = ("words.py", include_str!("../programs/words.py"));
/// The file that they read.
const TEXT: (&str, &str) = ("words.txt", include_str!("main.rs"));

/// The program's output, here and on the nodes.
pub struct Both {
    linux: String,
    nodes: String,
}

/// The command of the nodes, for the line of progress.
pub fn title() -> String {
    format!("no Linux: tacet static run --nodes {NODES} -- python3 {} {}", SOURCE.0, TEXT.0)
}

/// Runs it at both places, from `build/demo`.
pub fn run() -> Result<Both> {
    let top = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let directory = top.join("build/demo");
    fs::create_dir_all(&directory)?;
    for (name, text) in [SOURCE, TEXT] {
        fs::write(directory.join(name), text)?;
    }
    let words = [PYTHON, SOURCE.0, TEXT.0];
    let linux = limited(&PathBuf::from(PYTHON)).args(&words[1..]).current_dir(&directory).output()?;
    let mut tacet = limited(&top.join("build/bin/tacet"));
    let nodes = NODES.to_string();
    tacet.args(["--config", "/dev/null", "static", "run", "--own-nodes", "--nodes", &nodes, "--"]);
    let output = tacet.args(words).current_dir(&directory).output()?;
    Ok(Both { linux: said(&linux)?, nodes: said(&output)? })
}

/// Each node's process must print what the program prints here.
pub fn row(both: &Result<Both>) -> Row {
    let what = format!("Python on {NODES} static nodes; their I/O is done here");
    match both {
        Ok(Both { linux, nodes }) => Row::same(&what, linux, nodes, *nodes == linux.repeat(NODES)),
        Err(error) => Row::same(&what, "", &error.to_string(), false),
    }
}

/// A program that is ended at the limit.
fn limited(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", &LIMIT_S.to_string()]).arg(program);
    command
}

fn said(output: &Output) -> Result<String> {
    if output.status.code() == Some(TIMED_OUT) {
        return Err(format!("it did not end within {LIMIT_S} s: {}", title()).into());
    }
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
