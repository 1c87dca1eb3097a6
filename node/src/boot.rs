// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Boots a node from its description: finds the files, connects the sockets, starts the emulator, waits for the agent.
//!
//! Called by `node.rs` and `once.rs`, which give the node different commands. A failure must not leave a process
//! behind: each process is owned by a value that kills it when dropped.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::cache::Cache;
use crate::error::{OnPath, Result};
use crate::kernel::Kernel;
use crate::link::{Event, Link};
use crate::node::Node;
use crate::patience::Patience;
use crate::qemu::accelerator::{self, Execution};
use crate::qemu::arguments::{self, Wire, Wiring};
use crate::qemu::emulator::Qemu;
use crate::qemu::{Guarded, Process};
use crate::run_directory::RunDirectory;
use crate::spec::{NodeSpec, ShareKind};
use crate::wire::{Frame, Kind};
use crate::{secure_boot, share};

/// Everything a node needs, found and connected, before its emulator starts.
pub(crate) struct Prepared {
    pub wiring: Wiring,
    pub run: RunDirectory,
    kernel: Kernel,
    emulator: Qemu,
    execution: Execution,
    servers: Vec<Process>,
}

impl Prepared {
    pub fn new(cache: &Cache, spec: &NodeSpec) -> Result<Prepared> {
        spec.check()?;
        let kernel = Kernel::installed(cache, spec.kernel)?;
        let emulator = Qemu::find(cache, spec.emulator)?;
        let execution = accelerator::resolve(cache, spec, &emulator)?;
        let run = RunDirectory::create(cache)?;
        let (mut shares, mut servers) = (Vec::new(), Vec::new());
        for (index, share) in spec.shares.iter().enumerate() {
            if spec.reproducible.is_some() {
                shares.push(Wire::Packed);
                continue;
            }
            let (wire, server) = share::prepare(cache, share, index, run.path())?;
            shares.push(wire);
            servers.extend(server);
        }
        let wiring = Wiring {
            agent: run.path().join("agent"),
            console: run.path().join("console.log"),
            monitor: run.path().join("monitor"),
            guard: spec.reproducible.is_none().then(|| run.path().join("guard")),
            plugin_log: run.path().join("plugin.log"),
            root: cache.root_image(),
            cluster: spec.port.as_ref().map(|port| cache.cluster_disk(port.slurm)),
            initramfs: kernel.initramfs(),
            shares,
            secure: spec.secure_boot.then(|| secure_boot::prepare(&kernel, run.path())).transpose()?,
            nvme: nvme_disk(spec, &run)?,
        };
        Ok(Prepared { wiring, run, kernel, emulator, execution, servers })
    }

    /// A script that mounts the shares inside.
    pub fn mounts(&self, spec: &NodeSpec) -> String {
        let mut script = String::from("set -e\n");
        for (index, share) in spec.shares.iter().enumerate() {
            if matches!(self.wiring.shares.get(index), Some(Wire::Packed)) {
                continue;
            }
            let kind = if share.kind == ShareKind::Live { "virtiofs" } else { "ext4" };
            let (source, at) =
                (arguments::share_source(&self.wiring, index), quoted(&share.path.display().to_string()));
            script.push_str(&format!("mkdir -p {at}; mount -t {kind} {source} {at}\n"));
        }
        script
    }

    /// Starts the emulator and waits for the agent. The events belong to the command that the node was given at boot,
    /// if any.
    pub fn start(self, spec: &NodeSpec) -> Result<(Node, Receiver<Event>)> {
        let Prepared { wiring, run, kernel, emulator, execution, servers } = self;
        let listener = UnixListener::bind(&wiring.agent).on(&wiring.agent)?;
        let mut command = emulator.command();
        command.args(arguments::arguments(spec, &kernel, &wiring, execution, emulator.version));
        let qemu = Guarded::start(command, &run.path().join("qemu.log"), wiring.guard.as_deref())?;
        let (link, first) =
            connect(&listener, &qemu, spec.boot_timeout * spec.kernel.slowness()).map_err(|cause| run.died(&cause))?;
        let command_timeout = spec.command_timeout * spec.kernel.slowness();
        let node = Node { link, qemu, _shares: servers, run, release: kernel.release, execution, command_timeout };
        Ok((node, first))
    }
}

/// An empty file of the size that the node wants, if it wants one. It takes room only where the node writes.
fn nvme_disk(spec: &NodeSpec, run: &RunDirectory) -> Result<Option<PathBuf>> {
    if spec.nvme_mib == 0 {
        return Ok(None);
    }
    let image = run.path().join("nvme");
    let file = File::create(&image).on(&image)?;
    let more_mib = if spec.nvme_more { 3 * 32 } else { 0 };
    file.set_len(u64::from(spec.nvme_mib + more_mib) << 20).on(&image)?;
    Ok(Some(image))
}

/// Quotes a word for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

type Connected = std::result::Result<(Link, Receiver<Event>), String>;

/// Waits until the emulator connects and the agent sends its first frame.
fn connect(listener: &UnixListener, qemu: &Guarded, limit: Duration) -> Connected {
    let text = |e: std::io::Error| e.to_string();
    let patience = Patience::new(qemu.pid(), limit);
    listener.set_nonblocking(true).map_err(text)?;
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(e) if e.kind() != ErrorKind::WouldBlock => return Err(text(e)),
            Err(_) if qemu.status().is_some() => return Err("the emulator did not start".to_owned()),
            Err(_) if patience.left().is_zero() => return Err("the emulator does not connect".to_owned()),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    stream.set_nonblocking(false).map_err(text)?;
    first_word(&mut stream, &patience)?;
    Link::new(stream, qemu.pid()).map_err(text)
}

fn first_word(stream: &mut UnixStream, patience: &Patience) -> std::result::Result<(), String> {
    while !can_be_read(stream, patience.left())? {
        if patience.left().is_zero() {
            return Err("it did not boot in time".to_owned());
        }
    }
    match Frame::read(stream) {
        Ok(Frame { kind: Kind::Ready, .. }) => Ok(()),
        Ok(frame) => Err(format!("its agent began with {:?}", frame.kind)),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Err("it ended while booting".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

/// There is something to read, or the other end is gone, before this time is over.
fn can_be_read(stream: &UnixStream, limit: Duration) -> std::result::Result<bool, String> {
    let limit = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)], limit) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(e) => Err(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_survive_a_shell() {
        for text in ["plain", "two words", "it's", "$HOME `x`"] {
            let output = std::process::Command::new("sh").args(["-c", &format!("printf %s {}", quoted(text))]).output();
            assert_eq!(output.expect("sh").stdout, text.as_bytes());
        }
    }
}
