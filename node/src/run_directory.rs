// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scratch directory of one running node: sockets, console log, copies.
//!
//! Owns its creation and removal. It is kept if the node died, so that the error can name the console log. Directories
//! of processes that no longer exist are removed after a day.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::cache::Cache;
use crate::error::{Error, OnPath, Result};
use crate::stale::stale_breakpoint;

const KEPT: Duration = Duration::from_secs(24 * 3600);

pub(crate) struct RunDirectory {
    path: PathBuf,
    keep: AtomicBool,
}

impl RunDirectory {
    pub fn create(cache: &Cache) -> Result<RunDirectory> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let all = cache.running();
        fs::create_dir_all(&all).on(&all)?;
        remove_old(&all);
        let path = all.join(format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)));
        if path.exists() {
            // an earlier process had the same id
            fs::remove_dir_all(&path).on(&path)?;
        }
        fs::create_dir(&path).on(&path)?;
        Ok(RunDirectory { path, keep: false.into() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn console(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.path.join("console.log")).unwrap_or_default()).into_owned()
    }

    /// The error for a node that ended or hangs; keeps the directory.
    pub fn died(&self, cause: &str) -> Error {
        self.keep.store(true, Ordering::Relaxed);
        let emulator = fs::read_to_string(self.path.join("qemu.log")).unwrap_or_default();
        let said = telling(&emulator).or_else(|| telling(&self.console())).unwrap_or_default();
        let remedy = format!("see {}", self.path.join("console.log").display());
        Error::new("node", format!("{cause} ({said})"), remedy).caused_by_emulator(stale_breakpoint(&self.console()))
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        if !self.keep.load(Ordering::Relaxed) {
            fs::remove_dir_all(&self.path).ok();
        }
    }
}

/// The line that tells most about a node's end: a panic, else a message of init, else the last line.
fn telling(log: &str) -> Option<String> {
    let told = |l: &&str| l.contains("Kernel panic") || l.contains("node init:") || l.contains("Assertion");
    log.lines().rev().find(told).or_else(|| log.lines().rev().find(|l| !l.trim().is_empty())).map(str::to_owned)
}

fn remove_old(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.split('-').next().unwrap_or_default().to_owned();
        let old = entry.metadata().and_then(|m| m.modified()).is_ok_and(|t| t.elapsed().is_ok_and(|age| age > KEPT));
        if old && !Path::new("/proc").join(owner).exists() {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_telling_line_is_the_panic() {
        let log = "boot\n[ 1.0] Kernel panic - not syncing: x\n[ 1.1] Kernel Offset: 0\n";
        assert_eq!(telling(log).as_deref(), Some("[ 1.0] Kernel panic - not syncing: x"));
        assert_eq!(telling("a\nb\n\n").as_deref(), Some("b"));
        assert_eq!(telling(""), None);
    }

    #[test]
    fn a_dead_node_keeps_its_directory() {
        let scratch = tempfile::tempdir().expect("scratch");
        let cache = Cache::at(scratch.path()).expect("cache");
        let run = RunDirectory::create(&cache).expect("directory");
        let path = run.path().to_owned();
        run.died("it ended");
        drop(run);
        assert!(path.exists());
    }
}
