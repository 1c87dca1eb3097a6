// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A set of emulated nodes for the cases, by the command that users have.
//!
//! Dropping it ends the nodes.

use std::ffi::OsStr;
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::process::{self, Ended};
use crate::{Result, place};

/// The card of all nodes for which the case names no board and no link.
static CARD: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("TACET_TEST_CARD").ok());

/// A set of nodes of this process.
pub struct Nodes {
    pub name: String,
}

impl Nodes {
    /// Boots a set, with further flags.
    pub fn boot(count: u32, flags: &[&str]) -> Result<Nodes> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let nodes = Nodes { name };
        let count = count.to_string();
        let words = ["boot", "--name", &nodes.name, "--nodes", &count];
        let card = CARD.iter().flat_map(|card| ["--machine", "q35", "--link", "net", "--card", card]);
        let card = card.filter(|_| !flags.contains(&"--machine") && !flags.contains(&"--link"));
        let ended = process::run(tacet(&words).args(flags).args(card), b"")?;
        match ended.status {
            0 => Ok(nodes),
            status => Err(format!("boot: status {status}: {}", ended.error_text())),
        }
    }

    /// `tacet static run` on these nodes.
    pub fn run(&self, flags: &[&str], program: &[impl AsRef<OsStr>]) -> Command {
        let mut command = tacet(&["run", "--name", &self.name]);
        command.args(flags).arg("--").args(program);
        command
    }

    /// The output of `tacet static status`.
    pub fn status(&self) -> Result<Value> {
        let ended = process::run(&mut tacet(&["status", "--json", "--name", &self.name]), b"")?;
        serde_json::from_slice(&ended.stdout).map_err(|error| format!("status: {error}: {}", ended.error_text()))
    }

    /// Nodes that could run a job now.
    pub fn ready(&self) -> usize {
        let Ok(status) = self.status() else { return 0 };
        let nodes = status["nodes"].as_array().map_or(&[][..], Vec::as_slice);
        nodes.iter().filter(|node| node["state"] == "ready").count()
    }

    /// Nodes that the daemon knows and has not lost.
    pub fn alive(&self) -> usize {
        let Ok(status) = self.status() else { return 0 };
        let nodes = status["nodes"].as_array().map_or(&[][..], Vec::as_slice);
        nodes.iter().filter(|node| node["state"] != "lost").count()
    }

    /// Where its sockets and logs are.
    pub fn directory(&self) -> String {
        let parent = std::env::var("XDG_RUNTIME_DIR").unwrap_or_else(|_| "/run".into());
        let parent = if is_root() { "/run".into() } else { parent };
        format!("{parent}/tacet-static/{}", self.name)
    }

    /// A node's words on its serial line.
    pub fn console(&self, node: u32) -> String {
        std::fs::read_to_string(format!("{}/node-{node}.log", self.directory())).unwrap_or_default()
    }

    pub fn down(&self) -> Result<Ended> {
        process::run(&mut tacet(&["boot", "--down", "--name", &self.name]), b"")
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.down().ok();
    }
}

/// `tacet static` with these words.
pub fn tacet(words: &[&str]) -> Command {
    let mut command = Command::new(place::command());
    command.args(["--config", "/dev/null", "static"]).args(words);
    command
}

pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|facts| facts.uid() == 0)
}
