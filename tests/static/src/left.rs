// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The leftovers of a set of nodes: processes that name its directory, and files there. There must be none.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::nodes::Nodes;
use crate::process::until;

/// Waits until nothing of the set is left.
pub fn nothing_of(nodes: &Nodes) -> Result<()> {
    let directory = nodes.directory();
    until(&format!("no process names {directory}"), || naming(&directory).is_empty())?;
    until(&format!("{directory} is removed"), || !Path::new(&directory).exists())
}

/// Processes whose command line has this text, other than this one.
pub fn naming(text: &str) -> Vec<u32> {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let names = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(text)
    };
    numbers.filter(|pid| *pid != std::process::id()).filter(names).collect()
}

/// The children of a process.
pub fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    tasks
        .flat_map(|task| of(task).split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
        .collect()
}
