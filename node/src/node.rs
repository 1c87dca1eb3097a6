// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A running node: boot it once, run many commands in it, drop it.
//!
//! Owns the emulator process, the shares and the run directory. Used by tests, benches and `tacet node`. Dropping a
//! node kills it; a node that died leaves its console log in the cache.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::boot::Prepared;
use crate::cache::Cache;
use crate::command::{Command, Output};
use crate::error::{Error, OnPath, Result};
use crate::job::Job;
use crate::link::Link;
use crate::qemu::accelerator::Execution;
use crate::qemu::{Guarded, Process};
use crate::run_directory::RunDirectory;
use crate::spec::NodeSpec;
use crate::wire::Kind;

/// How long a node may take to power off on request.
const POWER_OFF: Duration = Duration::from_secs(60);
/// How long the emulator may take to answer its monitor.
const MONITOR: Duration = Duration::from_secs(30);
/// How often a boot is tried if the emulator breaks the guest's kernel.
const BOOTS: u32 = 3;

/// Names a file to which every repetition is added: a test run tells them at its end.
const REPEATS: &str = "TACET_TEST_REPEATS";

/// A booted node.
pub struct Node {
    pub(crate) link: Link,
    // Dropped in this order: the emulator before the processes it is connected to.
    pub(crate) qemu: Guarded,
    pub(crate) _shares: Vec<Process>,
    pub(crate) run: RunDirectory,
    pub(crate) release: String,
    pub(crate) execution: Execution,
    pub(crate) command_timeout: Duration,
}

impl Node {
    /// Boots a node and waits until it accepts commands. Everything must have been provisioned
    /// ([`crate::provision::ensure`]). Boots again, with a message, if the emulator broke the guest's kernel.
    pub fn boot(cache: &Cache, spec: &NodeSpec) -> Result<Node> {
        if spec.reproducible.is_some() {
            let remedy = "use `Node::run_once`";
            return Err(Error::new("node description", "commands from outside would not be reproducible", remedy));
        }
        for _ in 1..BOOTS {
            match Node::boot_once(cache, spec) {
                Err(error) if error.is_emulator_fault() => {
                    tell(&format!(
                        "booting again: the emulator executed a breakpoint that was gone from memory: {error}"
                    ));
                }
                result => return result,
            }
        }
        Node::boot_once(cache, spec)
    }

    fn boot_once(cache: &Cache, spec: &NodeSpec) -> Result<Node> {
        let prepared = Prepared::new(cache, spec)?;
        let mounts = prepared.mounts(spec);
        let (node, _) = prepared.start(spec)?;
        let output = node.run(&Command::shell(&mounts))?;
        if output.status.success() {
            return Ok(node);
        }
        Err(node.run.died(&format!("its shares cannot be mounted: {}", output.error_text())))
    }

    /// Runs a command to its end. A command that fails still gives an [`Output`]; an error means that there is no
    /// result.
    pub fn run(&self, command: &Command) -> Result<Output> {
        self.start(command)?.wait()
    }

    /// Starts a command and returns at once; several may run side by side.
    pub fn start(&self, command: &Command) -> Result<Job> {
        Job::start(&self.link, command, self.command_timeout)
    }

    /// The release of its kernel.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Does KVM execute it? Otherwise it is emulated.
    pub fn is_kvm(&self) -> bool {
        self.execution == Execution::Kvm
    }

    /// The emulator's process id, for tools that observe it from outside.
    pub fn pid(&self) -> u32 {
        self.qemu.pid()
    }

    /// Says one command to the emulator's monitor, and returns the answer.
    pub fn monitor(&self, command: &str) -> Result<String> {
        let at = self.run.path().join("monitor");
        let mut monitor = UnixStream::connect(&at).on(&at)?;
        monitor.set_read_timeout(Some(MONITOR)).on(&at)?;
        until_prompt(&mut monitor).on(&at)?;
        writeln!(monitor, "{command}").on(&at)?;
        until_prompt(&mut monitor).on(&at)
    }

    /// The console output of its kernel so far.
    pub fn console(&self) -> String {
        self.run.console()
    }

    /// The file with the output of its plugins, complete after [`Node::power_off`].
    pub fn plugin_log(&self) -> PathBuf {
        self.run.path().join("plugin.log")
    }

    /// Does the emulator still run?
    pub fn is_alive(&self) -> bool {
        self.qemu.status().is_none()
    }

    /// Waits until the emulator has ended, for a guest that panics or powers itself off.
    pub fn wait_for_end(&self, limit: Duration) -> Result<()> {
        match self.qemu.wait(limit) {
            Some(_) => Ok(()),
            None => Err(Error::new("node", format!("still running after {limit:?}"), "see its console log")),
        }
    }

    /// Ends the emulator, as a loss of power ends a machine, also while others wait for a command in it.
    pub fn kill(&self) -> Result<()> {
        self.qemu.kill();
        self.wait_for_end(POWER_OFF)
    }

    /// Powers the node off in an orderly way and returns the output of its plugins.
    pub fn power_off(self) -> Result<String> {
        self.link.send(0, Kind::PowerOff, &[])?;
        match self.qemu.wait(POWER_OFF) {
            Some(status) if status.success() => Ok(fs::read_to_string(self.plugin_log()).unwrap_or_default()),
            Some(status) => Err(self.run.died(&format!("the emulator ended with {status} at power-off"))),
            None => Err(self.run.died("it does not power off")),
        }
    }
}

/// What the monitor says until it waits for a command.
fn until_prompt(monitor: &mut UnixStream) -> std::io::Result<String> {
    let (mut said, mut byte) = (Vec::new(), [0]);
    while !said.ends_with(b"(qemu) ") {
        monitor.read_exact(&mut byte)?;
        said.extend(byte);
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// Says that something is repeated: aloud, and to the test run that wants to know.
fn tell(what: &str) {
    eprintln!("{what}");
    let Some(path) = std::env::var_os(REPEATS) else { return };
    let added = fs::File::options().create(true).append(true).open(path);
    if let Err(error) = added.and_then(|mut file| writeln!(file, "{what}")) {
        eprintln!("{REPEATS}: {error}");
    }
}
