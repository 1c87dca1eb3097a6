// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process with all its descendants, by `/proc`. Used to end a test runner that hangs: its nodes and programs are its
//! descendants.

use std::collections::HashMap;
use std::fs;
use std::process::Command;

/// Kills the process and everything that it started, the process first, so that it starts nothing more.
pub fn kill(process: u32) {
    let parents = parents();
    let mut found = vec![process];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, own)| **own == parent).map(|(child, _)| *child));
        next += 1;
    }
    for process in found {
        // one that has ended meanwhile is no error
        Command::new("kill").args(["-KILL", &process.to_string()]).output().ok();
    }
}

/// The parent of each process.
fn parents() -> HashMap<u32, u32> {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    numbers.filter_map(|process| Some((process, parent(process)?))).collect()
}

/// The field after the state; the command's name, in brackets, may hold anything.
fn parent(process: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
