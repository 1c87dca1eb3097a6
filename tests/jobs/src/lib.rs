// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The module's own files about jobs and CPUs (`linux/partition/`, `linux/process/`) outside of a kernel: built with as
//! much of Linux as they need, and asked to begin and end jobs, to let CPUs join and leave, while programs run and
//! steps fail.
//!
//! Called by this crate's tests. `c/main.c` says what a request looks like.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of everything here; an error's text is one line.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const MODULE: [&str; 6] = [
    "linux/base/state.c",
    "linux/partition/jobs.c",
    "linux/partition/kept.c",
    "linux/partition/resize.c",
    "linux/process/jobs.c",
    "linux/process/placement.c",
];
const WORLD: [&str; 4] =
    ["tests/jobs/c/faults.c", "tests/jobs/c/machine.c", "tests/jobs/c/main.c", "tests/jobs/c/programs.c"];
/// `c` comes first: its `compat.h` is found instead of `linux/compat.h`.
const FLAGS: [&str; 9] =
    ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-Itests/jobs/c", "-I.", "-Ilinux", "-Iabi/include"];
/// The headers of Linux that the module's files name: each is `c/kernel.h`.
const HEADERS: [&str; 24] = [
    "cpumask",
    "cred",
    "ctype",
    "delay",
    "hrtimer",
    "interrupt",
    "kernel",
    "kref",
    "ktime",
    "list",
    "maple_tree",
    "math64",
    "mm",
    "mmu_notifier",
    "module",
    "mutex",
    "percpu",
    "preempt",
    "rcupdate",
    "sched",
    "slab",
    "spinlock",
    "task_work",
    "wait",
];
const MORE_HEADERS: [&str; 2] = ["sched/signal", "workqueue"];

/// The program; it is gone when this is dropped.
pub struct World {
    _directory: tempfile::TempDir,
    program: PathBuf,
}

impl World {
    pub fn build() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        std::fs::create_dir_all(directory.path().join("linux/sched"))?;
        for header in HEADERS.iter().chain(&MORE_HEADERS) {
            std::fs::write(directory.path().join(format!("linux/{header}.h")), "#include <kernel.h>\n")?;
        }
        let program = directory.path().join("jobs");
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut compile = Command::new("cc");
        compile.args(FLAGS).arg("-I").arg(directory.path()).arg("-o").arg(&program).args(MODULE).args(WORLD);
        let compiled = compile.current_dir(top).output()?;
        if !compiled.status.success() {
            return Err(format!("jobs: cc failed: {}", String::from_utf8_lossy(&compiled.stderr)).into());
        }
        Ok(World { _directory: directory, program })
    }

    /// Executes requests, and returns a line for each, in the order in which they ended.
    pub fn run(&self, requests: &str) -> Result<Vec<String>> {
        let mut child = Command::new(&self.program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut input = child.stdin.take().ok_or("jobs: no input")?;
        let requests = requests.to_owned();
        let writer = std::thread::spawn(move || input.write_all(requests.as_bytes()));
        let output = child.wait_with_output()?;
        let written = writer.join().map_err(|_| "jobs: the writer has panicked")?;
        let said = String::from_utf8(output.stdout)?;
        match said.lines().last() {
            Some(last) if !output.status.success() => Err(format!("jobs: {last}").into()),
            None if !output.status.success() => Err(format!("jobs: {}", output.status).into()),
            _ => {
                written?;
                Ok(said.lines().map(str::to_owned).collect())
            }
        }
    }
}
