// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one decision whether KVM executes emulated nodes, of this crate and of `tacet static`. A `/dev/kvm` may open and
//! yet hang, or die at a program's first instruction, so KVM is believed only after a whole job ran under it.
//!
//! Owns the file with the answer, one for each boot of the host and each build. Every doubt means TCG: emulation is
//! slower, never wrong. Must never wait longer than [`LIMIT`] for the trial.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fs::{self, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::emulator::Qemu;
use super::process::Process;
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::spec::{Accelerator, NodeSpec};

/// The variable that overrides `auto`: `tcg` or `kvm`.
pub const VARIABLE: &str = "TACET_NODE_ACCEL";
/// What the program of the trial prints on its node, and nothing else.
pub const ALIVE: &str = "tacet trial: alive\n";
/// The words after `tacet` that run [`ALIVE`]'s program on a node of their own under KVM.
const TRIAL: [&str; 11] =
    ["--config", "/dev/null", "static", "run", "--own-nodes", "--node-cpus", "4", "--accel", "kvm", "--", ""];
/// The program's words after its name.
pub const PROGRAM: [&str; 2] = ["static", "trial"];
/// The whole trial takes a second or two where KVM works.
const LIMIT: Duration = Duration::from_secs(10);
const DEVICE: &str = "/dev/kvm";

/// How a node is executed, after the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Execution {
    Kvm,
    Tcg,
    TcgSingle,
}

/// The decision, and its reason for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub kvm: bool,
    pub why: String,
}

impl Choice {
    fn tcg(why: impl Into<String>) -> Choice {
        Choice { kvm: false, why: why.into() }
    }

    fn kvm(why: impl Into<String>) -> Choice {
        Choice { kvm: true, why: why.into() }
    }
}

/// Chooses how the described node is executed.
pub(crate) fn resolve(cache: &Cache, spec: &NodeSpec, qemu: &Qemu) -> Result<Execution> {
    if spec.reproducible.is_some() || spec.counted_time {
        return Ok(Execution::TcgSingle);
    }
    if spec.accelerator == Accelerator::TcgSingle {
        return Ok(Execution::TcgSingle);
    }
    if spec.accelerator == Accelerator::Auto && !spec.plugins.is_empty() && env::var_os(VARIABLE).is_none() {
        return Ok(Execution::Tcg);
    }
    let host = Host::here(Some(cache), &[qemu.program()]);
    Ok(if choose(spec.accelerator, &host)?.kvm { Execution::Kvm } else { Execution::Tcg })
}

/// Chooses KVM or TCG for nodes that want `wanted`. Runs the trial if this boot of the host and this build had none.
pub fn choose(wanted: Accelerator, host: &Host) -> Result<Choice> {
    asked_for(wanted, env::var(VARIABLE).ok().as_deref()).map(|asked| asked.unwrap_or_else(|| host.decide()))
}

/// The same for a person who only asks: without a trial, an unknown answer is TCG.
pub fn foresee(wanted: Accelerator, host: &Host) -> Result<Choice> {
    let unknown = || Choice::tcg("KVM was not tried since this machine started");
    let foreseen = || host.refusal().or_else(|| host.remembered()).unwrap_or_else(unknown);
    asked_for(wanted, env::var(VARIABLE).ok().as_deref()).map(|asked| asked.unwrap_or_else(foreseen))
}

/// What the description or the variable demand; `None`: nothing.
fn asked_for(wanted: Accelerator, variable: Option<&str>) -> Result<Option<Choice>> {
    Ok(match (wanted, variable) {
        (Accelerator::Kvm, _) => Some(Choice::kvm("asked for")),
        (Accelerator::Tcg | Accelerator::TcgSingle, _) => Some(Choice::tcg("asked for")),
        (Accelerator::Auto, None) => None,
        (Accelerator::Auto, Some("kvm")) => Some(Choice::kvm(format!("{VARIABLE}=kvm"))),
        (Accelerator::Auto, Some("tcg")) => Some(Choice::tcg(format!("{VARIABLE}=tcg"))),
        (Accelerator::Auto, Some(other)) => {
            return Err(Error::new(format!("{VARIABLE}={other}"), "no such accelerator", "use tcg or kvm"));
        }
    })
}

/// What the decision depends on.
pub struct Host {
    device: PathBuf,
    open: fn(&Path) -> io::Result<()>,
    /// The command that runs a job under KVM and prints [`ALIVE`].
    trial: Option<PathBuf>,
    limit: Duration,
    /// The directory of the answers and of the trial's log.
    memory: Option<Cache>,
    /// The answer's name: the boot of the host, and what was built.
    boot: String,
    build: u64,
}

impl Host {
    /// This machine. `files`: what else belongs to the build, the emulator for one.
    pub fn here(cache: Option<&Cache>, files: &[&Path]) -> Host {
        let trial = command();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let mut all: Vec<&Path> = files.to_vec();
        let image = trial.as_deref().and_then(Path::parent).map(|bin| bin.join("../lib/tacet/static.elf"));
        all.extend(trial.as_deref().into_iter().chain(image.as_deref()));
        Host {
            device: DEVICE.into(),
            open: |device| OpenOptions::new().read(true).write(true).open(device).map(drop),
            build: build_of(&all),
            trial,
            limit: LIMIT,
            memory: cache.cloned(),
            boot: boot.trim().to_owned(),
        }
    }

    /// KVM did not do what the trial promised: it is not believed again on this boot and build.
    pub fn distrust(&self, why: &str) {
        self.remember(&Choice::tcg(why));
    }

    fn decide(&self) -> Choice {
        if let Some(known) = self.refusal().or_else(|| self.remembered()) {
            return known;
        }
        let Some(memory) = &self.memory else {
            return Choice::tcg("KVM cannot be tried: no directory for the answer; set TACET_CACHE");
        };
        // two that start at once need one trial
        let _lock = memory.lock_for("lock-kvm").ok();
        if let Some(known) = self.remembered() {
            return known;
        }
        let choice = self.try_kvm(&memory.log("kvm"));
        self.remember(&choice);
        choice
    }

    /// A reason that needs no trial, and can go away before the next boot.
    fn refusal(&self) -> Option<Choice> {
        let error = (self.open)(&self.device).err()?;
        Some(Choice::tcg(match error.kind() {
            io::ErrorKind::NotFound => format!("{}: not there", self.device.display()),
            io::ErrorKind::PermissionDenied => format!("{}: not permitted to this user", self.device.display()),
            _ => format!("{}: {error}", self.device.display()),
        }))
    }

    fn try_kvm(&self, log: &Path) -> Choice {
        let Some(trial) = &self.trial else {
            return Choice::tcg("KVM cannot be tried: there is no `tacet` beside this program");
        };
        let mut command = Command::new(trial);
        let [words @ .., _] = TRIAL;
        command.args(words).arg(trial).args(PROGRAM).env_remove(VARIABLE);
        match run(command, log, self.limit) {
            Err(error) => Choice::tcg(format!("KVM cannot be tried: {error}")),
            Ok(None) => Choice::tcg(format!("a job under KVM did not end within {} s", self.limit.as_secs())),
            Ok(Some((true, said))) if said == ALIVE => Choice::kvm("a job ran under it"),
            Ok(Some((_, said))) => {
                let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
                Choice::tcg(format!("a job under KVM failed: {}", last.trim()))
            }
        }
    }

    fn file(&self) -> Option<PathBuf> {
        self.memory.as_ref().map(|cache| cache.accelerator_answer(&self.boot, self.build))
    }

    fn remembered(&self) -> Option<Choice> {
        let text = fs::read_to_string(self.file()?).ok()?;
        let (kvm, why) = text.trim_end().split_once(": ")?;
        Some(Choice { kvm: kvm == "kvm", why: why.to_owned() })
    }

    /// An answer that cannot be kept is found again.
    fn remember(&self, choice: &Choice) {
        let (Some(cache), Some(file)) = (&self.memory, self.file()) else { return };
        cache.forget_accelerator_answers();
        let text = format!("{}: {}\n", if choice.kvm { "kvm" } else { "tcg" }, choice.why);
        let new = file.with_extension("new");
        if fs::write(&new, text).and_then(|()| fs::rename(&new, &file)).is_err() {
            fs::remove_file(&new).ok();
        }
    }
}

/// The command `tacet` of the same build: this program, or the one beside it, or the tree's.
fn command() -> Option<PathBuf> {
    let own = env::current_exe().ok()?;
    let is_command = |path: &Path| path.file_name().is_some_and(|name| name == "tacet") && path.is_file();
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../build/bin/tacet");
    [own.clone(), own.with_file_name("tacet"), tree].into_iter().find(|path| is_command(path))?.canonicalize().ok()
}

/// Another emulator, command or image is another build: its size or time differs.
fn build_of(files: &[&Path]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in files {
        let facts = fs::metadata(file).ok().map(|facts| (facts.len(), facts.mtime(), facts.mtime_nsec()));
        (file, facts).hash(&mut hasher);
    }
    hasher.finish()
}

/// Runs the command to its end, or kills it at the limit: success, and all that it said. `None`: it did not end.
fn run(command: Command, log: &Path, limit: Duration) -> Result<Option<(bool, String)>> {
    let process = Process::start(command, log)?;
    let status = process.wait(limit);
    let said = fs::read(log).unwrap_or_default();
    Ok(status.map(|status| (status.success(), String::from_utf8_lossy(&said).into_owned())))
}

#[cfg(test)]
mod tests;
