// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The loader's information for the other commands: a file that describes the loaded scheduler, and a lock that the
//! loader holds while it lives. The kernel releases the lock in whatever way the loader ends, so the lock shows whether
//! it lives.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tacet_words::Failure;
use tacet_words::status::NO;

use crate::Result;
use crate::options::Start;
use crate::support;

const DIRECTORY: &str = "/run/tacet";

/// The scheduler that is, or was, loaded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// the loader
    pub process: u32,
    pub since: SystemTime,
    pub options: Start,
    pub trickle_cpu: u32,
    /// those that were online at the start, whose places it knows; empty in records of older versions
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// the kernel's numbers of the maps with its counts
    pub counts_map: u32,
    pub loads_map: u32,
    pub programs: Vec<Program>,
    /// how it ended, once it has
    pub end: Option<End>,
}

/// The number of instructions that the verifier processed to accept a program; its limit is one million.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Program {
    pub name: String,
    pub verified_instructions: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub at: SystemTime,
    /// the kernel's text
    pub reason: String,
    pub message: String,
    /// the loader ended it on request
    pub asked: bool,
}

fn path(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(name)
}

/// Takes the lock, which the loader holds until it ends.
pub fn lock() -> Result<File> {
    fs::create_dir_all(DIRECTORY).map_err(|error| format!("{DIRECTORY}: {error}"))?;
    let name = path("sched.lock");
    // not truncated: it may be another loader's
    let failed = |error| format!("{}: {error}", name.display());
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(&name).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(failed)?;
            Ok(file)
        }
        Err(TryLockError::WouldBlock) if support::state() == "disabling" => Err(support::progress().into()),
        Err(TryLockError::WouldBlock) => {
            Err(Failure::new(NO, "HPL is loaded already; `tacet sched stop` ends it").into())
        }
        Err(TryLockError::Error(error)) => Err(format!("{}: {error}", name.display()).into()),
    }
}

/// Whether a loader is running.
pub fn is_held() -> bool {
    holder().is_some()
}

/// The loader that is running, which may still be loading, so that the record is an older one's; 0 in the moment before
/// it has written its number.
pub fn holder() -> Option<u32> {
    let mut file = File::open(path("sched.lock")).ok()?;
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    Some(text.trim().parse().unwrap_or(0))
}

impl Record {
    pub fn read() -> Result<Option<Record>> {
        let name = path("sched.json");
        match fs::read_to_string(&name) {
            Ok(text) => Ok(Some(serde_json::from_str(&text).map_err(|error| format!("{}: {error}", name.display()))?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", name.display()).into()),
        }
    }

    /// Writes the record in place of the last one.
    pub fn write(&self) -> Result<()> {
        let (name, new) = (path("sched.json"), path("sched.json.new"));
        let failed = |error| format!("{}: {error}", name.display());
        fs::write(&new, serde_json::to_string_pretty(self)?).map_err(failed)?;
        Ok(fs::rename(&new, &name).map_err(failed)?)
    }
}
