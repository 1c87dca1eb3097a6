// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One proxy as its parent sees it.
//!
//! `run` starts it. The parent keeps the proxy's UDP socket, to answer a node that asks after the proxy has died.

use std::io::Read;
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use command_fds::{CommandFdExt, FdMapping};
use nix::unistd::Pid;

use super::{Ended, Grant, Launcher, listen, pair};
use crate::control::send;
use crate::error::{Error, Result};
use crate::proxy::{Orders, READY, SOCKET, STREAM, send_signal};

/// A proxy begins at once, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Child {
    pub rank: u32,
    pub node: u32,
    pub port: u16,
    pub socket: UdpSocket,
    process: std::process::Child,
    stream: UnixStream,
    /// Somebody here has killed it.
    pub killed: bool,
    pub ended: Option<Ended>,
}

impl Child {
    pub fn start(launcher: &Launcher, grant: &Grant, node: u32, rank: u32) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(format!("proxy of rank {rank}"), error, "raise the limits of processes and descriptors")
        };
        let socket = listen(grant.address)?;
        let port = socket.local_addr().map_err(|error| failed(&error))?.port();
        let (stream, theirs) = pair()?;
        let handed = socket.try_clone().map_err(|error| failed(&error))?;
        let mut command = Command::new(&launcher.program);
        command.args(&launcher.arguments);
        let mappings = vec![
            FdMapping { parent_fd: handed.into(), child_fd: SOCKET },
            FdMapping { parent_fd: theirs.into(), child_fd: STREAM },
        ];
        command.fd_mappings(mappings).map_err(|error| failed(&error))?;
        let process = command.spawn().map_err(|error| failed(&error))?;
        let parent = Pid::this().as_raw();
        send(&stream, &Orders { node, job: grant.job, rank, key: grant.key.clone(), parent })?;
        Ok(Child { rank, node, port, socket, process, stream, killed: false, ended: None })
    }

    /// A signal that comes earlier than this ends the proxy.
    pub fn await_ready(&mut self) -> Result<()> {
        let mut word = READY;
        let object = format!("proxy of rank {}", self.rank);
        let _ = self.stream.set_read_timeout(Some(PATIENCE));
        self.stream
            .read_exact(&mut word)
            .map_err(|error| Error::new(object, error, "its own line says why, if there is one"))
    }

    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().cast_signed())
    }

    pub fn is_alive(&self) -> bool {
        self.ended.is_none()
    }

    /// Sends the proxy a signal. Its program gets every signal but SIGKILL, which kills the proxy.
    pub fn signal(&mut self, signal: i32) {
        if self.is_alive() {
            self.killed |= signal == libc::SIGKILL;
            send_signal(self.pid(), signal);
        }
    }

    pub fn kill(&mut self) {
        self.signal(libc::SIGKILL);
    }

    /// The proxy's words, for the thread that listens.
    pub fn stream(&self) -> Result<UnixStream> {
        let failed =
            |error| Error::new(format!("proxy of rank {}", self.rank), error, "raise the limit of descriptors");
        self.stream.set_read_timeout(None).and_then(|()| self.stream.try_clone()).map_err(failed)
    }

    /// Not even SIGKILL ends it: it is left to Linux, and to whoever repairs what it waits for.
    pub fn leave(&mut self) {
        self.ended = Some(Ended::Lost);
    }

    /// Takes the status of a child that has died.
    pub fn bury(&mut self) -> Ended {
        let status = self.process.wait();
        let ended = match status.map(|status| (status.code(), status.signal())) {
            Ok((Some(code), _)) => Ended::Exit(code),
            Ok((None, Some(signal))) => Ended::Signal(signal),
            _ => Ended::Lost,
        };
        self.ended = Some(ended);
        ended
    }
}

/// A job that does not begin leaves no proxies.
impl Drop for Child {
    fn drop(&mut self) {
        if self.is_alive() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}
