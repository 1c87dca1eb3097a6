// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A running node: boot it once, run many commands in it, drop it.
//!
//! Owns the emulator process, the shares and the run directory. Used by tests, benches and `tacet node`. A node that
//! is dropped is killed; one that died leaves its console log in the cache.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::cache::Cache;
use crate::command::{Command, Output};
use crate::error::{Error, OnPath, Result};
use crate::job::Job;
use crate::kernel::Kernel;
use crate::link::Link;
use crate::qemu::accelerator::{self, Execution};
use crate::qemu::arguments::{self, Wiring};
use crate::qemu::emulator::Qemu;
use crate::qemu::process::Process;
use crate::run_directory::RunDirectory;
use crate::share;
use crate::spec::{NodeSpec, ShareKind};
use crate::wire::{Frame, Kind};

/// How long a node may take to power off when asked.
const POWER_OFF: Duration = Duration::from_secs(20);

/// A booted node.
pub struct Node {
    pub(crate) link: Link,
    // dropped in this order: the emulator before what it is connected to
    qemu: Process,
    _shares: Vec<Process>,
    run: RunDirectory,
    release: String,
    execution: Execution,
    command_timeout: Duration,
}

impl Node {
    /// Boots a node and waits until it takes commands. Everything must have been provisioned
    /// ([`crate::provision::ensure`]).
    pub fn boot(cache: &Cache, spec: &NodeSpec) -> Result<Node> {
        spec.check()?;
        let kernel = Kernel::installed(cache, spec.kernel)?;
        let emulator = Qemu::find(cache, spec.emulator)?;
        let execution = accelerator::resolve(cache, spec, &emulator)?;
        let run = RunDirectory::create(cache)?;

        let agent = run.path().join("agent");
        let listener = UnixListener::bind(&agent).on(&agent)?;
        let (mut wires, mut servers) = (Vec::new(), Vec::new());
        for (index, share) in spec.shares.iter().enumerate() {
            let (wire, server) = share::prepare(cache, share, index, run.path())?;
            wires.push(wire);
            servers.extend(server);
        }
        let wiring = Wiring {
            agent,
            console: run.path().join("console.log"),
            plugin_log: run.path().join("plugin.log"),
            root: cache.root_image(),
            initramfs: kernel.initramfs(),
            shares: wires,
        };
        let mut command = emulator.command();
        command.args(arguments::arguments(spec, &kernel, &wiring, execution, emulator.version));
        let qemu = Process::start(command, &run.path().join("qemu.log"))?;
        let link = connect(&listener, &qemu, spec.boot_timeout).map_err(|cause| run.died(&cause))?;

        let command_timeout = spec.command_timeout;
        let node = Node { link, qemu, _shares: servers, run, release: kernel.release, execution, command_timeout };
        for (index, share) in spec.shares.iter().enumerate() {
            let kind = if share.kind == ShareKind::Live { "virtiofs" } else { "ext4" };
            node.mount(kind, &arguments::share_source(&wiring, index), &share.path)?;
        }
        Ok(node)
    }

    /// Runs a command to its end. A command that fails is an [`Output`]; an error means that there is no result.
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

    /// Whether KVM executes it; otherwise it is emulated.
    pub fn is_kvm(&self) -> bool {
        self.execution == Execution::Kvm
    }

    /// The emulator's process id, to look at from outside.
    pub fn pid(&self) -> u32 {
        self.qemu.pid()
    }

    /// What its kernel said on the console so far.
    pub fn console(&self) -> String {
        self.run.console()
    }

    /// What its plugins wrote so far. Complete after [`Node::power_off`].
    pub fn plugin_log(&self) -> PathBuf {
        self.run.path().join("plugin.log")
    }

    /// Whether the emulator still runs.
    pub fn is_alive(&self) -> bool {
        self.qemu.status().is_none()
    }

    /// Waits until the emulator is gone: for a guest that ends itself, by panic or power-off.
    pub fn wait_for_end(&self, limit: Duration) -> Result<()> {
        match self.qemu.wait(limit) {
            Some(_) => Ok(()),
            None => Err(Error::new("node", format!("still running after {limit:?}"), "see its console log")),
        }
    }

    /// Powers it off in an orderly way and returns what its plugins wrote.
    pub fn power_off(self) -> Result<String> {
        self.link.send(0, Kind::PowerOff, &[])?;
        match self.qemu.wait(POWER_OFF) {
            Some(status) if status.success() => Ok(fs::read_to_string(self.plugin_log()).unwrap_or_default()),
            Some(status) => Err(self.run.died(&format!("the emulator ended with {status} at power-off"))),
            None => Err(self.run.died("it does not power off")),
        }
    }

    fn mount(&self, kind: &str, source: &str, at: &Path) -> Result<()> {
        let script = "mkdir -p \"$2\" && exec mount -t \"$0\" \"$1\" \"$2\"";
        let at = at.display().to_string();
        let output = self.run(&Command::new(["sh", "-c", script, kind, source, &at]))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::new(format!("share {at}"), output.error_text(), "see the node's console log"))
    }
}

/// Waits for the emulator's connection and the agent's first word on it.
fn connect(listener: &UnixListener, qemu: &Process, limit: Duration) -> std::result::Result<Link, String> {
    let text = |e: std::io::Error| e.to_string();
    let until = Instant::now() + limit;
    listener.set_nonblocking(true).map_err(text)?;
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(e) if e.kind() != ErrorKind::WouldBlock => return Err(text(e)),
            Err(_) if qemu.status().is_some() => return Err("the emulator did not start".to_owned()),
            Err(_) if Instant::now() > until => return Err("the emulator does not connect".to_owned()),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    stream.set_nonblocking(false).map_err(text)?;
    first_word(&mut stream, until)?;
    stream.set_read_timeout(None).map_err(text)?;
    Link::new(stream).map_err(text)
}

fn first_word(stream: &mut UnixStream, until: Instant) -> std::result::Result<(), String> {
    let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    stream.set_read_timeout(Some(left)).map_err(|e| e.to_string())?;
    match Frame::read(stream) {
        Ok(Frame { kind: Kind::Ready, .. }) => Ok(()),
        Ok(frame) => Err(format!("its agent began with {:?}", frame.kind)),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Err("it ended while booting".to_owned()),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Err("it did not boot in time".to_owned())
        }
        Err(e) => Err(e.to_string()),
    }
}
