// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The noise laboratory, a separate program beside this one: the program that measures and the program that is measured
//! do not link each other.
//!
//! Owns the arguments of `tacet-noise` and the reading of its JSON. Each run is started by `tacet-tune bound`, which
//! gets a program onto the measured CPUs whether they are a partition or not.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tacet_words::status;
use tempfile::TempDir;

use crate::cpus::Cpus;
use crate::error::{Error, Result};

/// How often this process, on a CPU of the system, checks whether a measurement has ended.
const POLL: Duration = Duration::from_millis(100);
const REMEDY: &str = "it is part of the same package; install it beside tacet-tune";

/// The noise that fixed work met on the application's CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub max_noise_ns: f64,
    pub noise_rate: f64,
}

/// A thief: something that ran on those CPUs besides the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    pub kind: String,
    pub name: String,
    pub origin: Option<String>,
    pub count: u64,
    /// The noise that it explains.
    pub explained_ns: f64,
}

pub trait Laboratory {
    fn measure(&mut self, cpus: &Cpus) -> Result<Reading>;
    /// The thieves on the CPUs; an inner error says why this node cannot name them.
    fn trace(&mut self, cpus: &Cpus) -> Result<std::result::Result<Vec<Source>, String>>;
}

/// How to measure, as arguments of the laboratory.
#[derive(Debug, Clone)]
pub struct Words {
    pub duration: String,
    pub quantum: String,
    pub trust_clock: bool,
    pub trace: bool,
}

/// `tacet-noise`: the one beside this program; if there is none, the one in PATH.
pub struct Program {
    program: PathBuf,
    words: Words,
    /// Set when the user asks to stop.
    stop: Arc<AtomicBool>,
    folder: TempDir,
}

#[derive(Deserialize)]
struct Traced {
    thieves: Thieves,
}

#[derive(Deserialize)]
struct Thieves {
    sources: Vec<Source>,
}

impl Program {
    /// Runs the laboratory once, on one of the caller's CPUs, so that wrong arguments are refused before anything is
    /// applied.
    pub fn open(given: Option<&Path>, words: Words, stop: Arc<AtomicBool>) -> Result<Program> {
        let beside = std::env::current_exe().ok().and_then(|here| Some(here.parent()?.join("tacet-noise")));
        let beside = beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from("tacet-noise"));
        let program = given.map_or(beside, Path::to_owned);
        let folder = tempfile::tempdir().map_err(|error| Error::io("folder for records", &error, ""))?;
        let laboratory = Program { program, words, stop, folder };
        let mut once = Command::new(&laboratory.program);
        once.args(["measure", "--samples", "1", "--units", "1"]).args(laboratory.common());
        laboratory.finish(once).map(|_| laboratory)
    }

    /// The arguments common to `measure` and `trace`.
    fn common(&self) -> Vec<String> {
        let mut words = ["--json", "--force", "--quantum", &self.words.quantum, "--output"].map(str::to_owned).to_vec();
        words.push(self.folder.path().join("record.parquet").display().to_string());
        if self.words.trust_clock {
            words.push("--trust-clock".to_owned());
        }
        words
    }

    fn on(&self, cpus: &Cpus, command: &str) -> Result<String> {
        let cpus = cpus.to_string();
        let here = std::env::current_exe().map_err(|error| Error::io("this program", &error, ""))?;
        let mut bound = Command::new(here);
        bound.args(["bound", &cpus, "--"]).arg(&self.program);
        bound.args([command, "--cpus", &cpus, "--duration", &self.words.duration]).args(self.common());
        self.finish(bound)
    }

    /// Waits for its end and returns its output.
    fn finish(&self, mut command: Command) -> Result<String> {
        let path = |name: &str| self.folder.path().join(name);
        let failed = |error: std::io::Error| Error::io(self.program.display(), &error, REMEDY);
        command.stdout(File::create(path("said")).map_err(failed)?);
        command.stderr(File::create(path("complained")).map_err(failed)?);
        let child = command.spawn().map_err(failed)?;
        let well = self.wait(child)?;
        let read = |name| fs::read_to_string(path(name)).map_err(failed);
        if well {
            return read("said");
        }
        let complained = read("complained")?;
        let last = complained.trim().lines().last().unwrap_or("it failed");
        Err(Error::new(self.program.display(), last.trim_start_matches("tacet noise: "), ""))
    }

    fn wait(&self, mut child: Child) -> Result<bool> {
        let failed = |error: std::io::Error| Error::io(self.program.display(), &error, "");
        loop {
            let ended = child.try_wait().map_err(failed)?;
            if self.stop.load(Ordering::Relaxed) {
                if ended.is_none() {
                    child.kill().and_then(|()| child.wait()).map_err(failed)?;
                }
                return Err(Error::new("ablation", "it was interrupted", "all is undone").with_status(status::UNDONE));
            }
            match ended {
                Some(status) => return Ok(status.success()),
                None => std::thread::sleep(POLL),
            }
        }
    }
}

impl Laboratory for Program {
    fn measure(&mut self, cpus: &Cpus) -> Result<Reading> {
        parse(&self.on(cpus, "measure")?)
    }

    fn trace(&mut self, cpus: &Cpus) -> Result<std::result::Result<Vec<Source>, String>> {
        if !self.words.trace {
            return Ok(Err("not asked for".to_owned()));
        }
        match self.on(cpus, "trace") {
            Ok(said) => parse::<Traced>(&said).map(|traced| Ok(traced.thieves.sources)),
            Err(error) if self.stop.load(Ordering::Relaxed) => Err(error),
            Err(error) => Ok(Err(error.to_string())),
        }
    }
}

fn parse<T: DeserializeOwned>(said: &str) -> Result<T> {
    serde_json::from_str(said).map_err(|error| Error::new("what tacet-noise said", error, REMEDY))
}
