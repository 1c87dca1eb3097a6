// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One exact measurement: runs `tacet node` as a process, which boots a node with the plugin in its emulator.
//!
//! Owns the arguments to the node and the reading of its output (`exact/measure.sh`). Must never return a result that
//! was not measured: it checks the number of quanta, the CPU and the program's own instructions.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tacet_words::Failure;
use tacet_words::status::UNDONE;

use super::folder::Folder;
use super::instruments::{Instruments, PLUGIN};
use super::log::Log;
use super::record::{About, Quantum, Record, SCHEMA};
use super::summary::Culprits;
use super::symbols::Symbols;
use crate::Result;
use crate::measure::machine;

const INTERRUPTED: &str = "interrupted: a node tells its counts at its end, so this is not enough to say; repeat it";
/// How long it may take until a request to stop is seen.
const LOOK: Duration = Duration::from_millis(100);
/// Time limit of the node; a reproducible emulator is slow on a busy host.
const TIMEOUT_SECONDS: &str = "3600";

/// A description of the measurement.
#[derive(Debug, Clone)]
pub struct Plan {
    pub label: String,
    /// A kernel's name in `tacet node`.
    pub kernel: String,
    pub cpus: u32,
    pub measured_cpu: u32,
    pub quanta: u64,
    /// Instructions of the program in a quantum.
    pub quantum_instructions: u64,
    pub boot_arguments: String,
    /// A shell command to run on the other CPUs; `None` leaves them idle.
    pub load: Option<String>,
    /// Directories that the load needs.
    pub shares: Vec<PathBuf>,
    pub seed: Option<u64>,
    pub arguments: Vec<String>,
    /// Ends the node early, without a record.
    pub stop: Arc<AtomicBool>,
}

impl Plan {
    pub fn measure(self) -> Result<Record> {
        let folder = self.folder()?;
        let instruments = Instruments::write(folder.path())?;
        let log = folder.path().join("plugin.log");
        let mut command = Command::new(tacet());
        command.current_dir(folder.path()).args(["node", "run", "--timeout", TIMEOUT_SECONDS]);
        command.args(["--kernel", &self.kernel, "--node-cpus", &self.cpus.to_string()]);
        command.arg("--boot-arguments").arg(&self.boot_arguments);
        command.arg("--plugin").arg(folder.path().join(PLUGIN)).arg("--plugin-log").arg(&log);
        match self.seed {
            Some(seed) => command.args(["--reproducible", &seed.to_string()]),
            None => command.args(["--accel", "tcg"]),
        };
        for share in &self.shares {
            command.arg("--share").arg(share);
        }
        command.args(["--", "sh"]).arg(instruments.script()).args(self.script_words());
        let output = output(&mut command, &self.stop)
            .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::new(UNDONE, INTERRUPTED).into());
        }
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let complaints = String::from_utf8_lossy(&output.stderr);
            let last = complaints.trim().lines().last().map(|line| line.trim_start_matches("tacet: "));
            let why = format!("no measurement: {}", last.unwrap_or(&output.status.to_string()));
            return Err(Failure::machine(why).into());
        }
        self.record(&said, &std::fs::read_to_string(&log).map_err(|error| format!("the plugin's log: {error}"))?)
    }

    fn folder(&self) -> Result<Folder> {
        let parent = std::env::temp_dir();
        let wait = |path: &Path| eprintln!("{}: waiting for another measurement with this seed", path.display());
        let failed = |error| format!("{}: cannot make a folder for the node: {error}", parent.display());
        Ok(Folder::new(&parent, self.seed, wait).map_err(failed)?)
    }

    /// The script's arguments: QUANTA ROUNDS CPU OTHERS LOAD.
    fn script_words(&self) -> [String; 5] {
        let others = (0..self.cpus).filter(|cpu| *cpu != self.measured_cpu).fold(0u64, |mask, cpu| mask | 1 << cpu);
        [
            self.quanta.to_string(),
            (self.quantum_instructions / 2).to_string(),
            self.measured_cpu.to_string(),
            format!("{others:x}"),
            self.load.clone().unwrap_or_default(),
        ]
    }

    fn record(self, said: &str, log: &str) -> Result<Record> {
        let (facts, symbols) = said.split_once("\nsymbols\n").ok_or("the node did not print its kernel's symbols")?;
        let fact = |name: &str| facts.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        if fact("quanta") != Some(&format!("{} cpu {}", self.quanta, self.measured_cpu)) {
            return Err("the program did not finish its quanta on the measured cpu".into());
        }
        let log = Log::parse(log);
        let quanta = log.quanta.last().ok_or("the plugin saw no markers")?;
        quanta.check(self.quanta, self.quantum_instructions / 2 * 2, self.measured_cpu)?;
        let mut rows = vec![Quantum { program: quanta.user, ..Quantum::default() }; quanta.quanta as usize];
        for hit in &quanta.hits {
            if let Some(row) = rows.get_mut(hit.index as usize) {
                *row = Quantum::from(hit);
            }
        }
        let about = About {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            label: self.label,
            host: machine::host(),
            kernel_release: fact("release").unwrap_or("unknown").to_owned(),
            kernel_arguments: fact("arguments").unwrap_or("unknown").to_owned(),
            arguments: self.arguments,
            began_unix_s: machine::unix_seconds(),
            cpus: self.cpus,
            measured_cpu: self.measured_cpu,
            load: self.load,
            seed: self.seed,
            plugin_interface: log.interface,
            sees_interrupts: log.sees_interrupts,
            culprits: Culprits::of(quanta, &Symbols::parse(symbols)),
        };
        Ok(Record { about, quanta: rows })
    }
}

/// The command's output. When `stop` is set the command is asked to end, and the kernel ends its node.
fn output(command: &mut Command, stop: &AtomicBool) -> io::Result<Output> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let id = Pid::from_raw(child.id().cast_signed());
    std::thread::scope(|scope| {
        let said = scope.spawn(|| child.wait_with_output());
        while !said.is_finished() && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
        }
        if !said.is_finished() {
            // it may end at this moment by itself
            let _ = kill(id, Signal::SIGTERM);
        }
        said.join().unwrap_or_else(|_| Err(io::Error::other("a thread died")))
    })
}

/// The command that boots nodes: the one beside this program, otherwise the one in the PATH.
fn tacet() -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|here| Some(here.parent()?.join("tacet")));
    beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from("tacet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_ends_the_command() {
        let stop = AtomicBool::new(true);
        let ended = output(Command::new("sleep").arg("3600"), &stop).expect("it starts");
        assert!(!ended.status.success());
        let whole = output(Command::new("echo").arg("counts"), &AtomicBool::new(false)).expect("it starts");
        assert_eq!((whole.status.success(), whole.stdout.as_slice()), (true, &b"counts\n"[..]));
    }
}
