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
use crate::room::Room;

/// A proxy begins at once, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Child {
    pub rank: u32,
    pub node: u32,
    pub port: u16,
    /// Until somebody listens.
    socket: Option<UdpSocket>,
    process: std::process::Child,
    stream: Option<UnixStream>,
    /// Somebody here has killed it.
    pub killed: bool,
    pub ended: Option<Ended>,
}

impl Child {
    pub fn start(launcher: &Launcher, grant: &Grant, room: &Room, node: u32, rank: u32) -> Result<Self> {
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
        let descriptors = room.soft_limit;
        send(&stream, &Orders { node, job: grant.job, rank, key: grant.key.clone(), parent, descriptors })?;
        let (socket, stream) = (Some(socket), Some(stream));
        Ok(Child { rank, node, port, socket, process, stream, killed: false, ended: None })
    }

    /// A signal that comes earlier than this ends the proxy.
    pub fn await_ready(&mut self) -> Result<()> {
        let mut word = READY;
        let failed = self.failed("its own line says why, if there is one");
        let mut stream = self.stream.as_ref().ok_or_else(|| failed(&"somebody listens already"))?;
        let _ = stream.set_read_timeout(Some(PATIENCE));
        stream.read_exact(&mut word).map_err(|error| failed(&error))
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

    /// The proxy's words, for the thread that listens, and that keeps the stream until the proxy dies: its end would end
    /// the proxy.
    pub fn take_stream(&mut self) -> Result<UnixStream> {
        let failed = self.failed("run it again");
        let stream = self.stream.take().ok_or_else(|| failed(&"somebody listens already"))?;
        stream.set_read_timeout(None).map_err(|error| failed(&error))?;
        Ok(stream)
    }

    /// The proxy's socket, for whoever answers in its place; once.
    pub fn take_socket(&mut self) -> Result<UdpSocket> {
        let failed = self.failed("run it again");
        self.socket.take().ok_or_else(|| failed(&"somebody has its socket already"))
    }

    fn failed(&self, remedy: &'static str) -> impl Fn(&dyn std::fmt::Display) -> Error + use<> {
        let object = format!("proxy of rank {}", self.rank);
        move |cause| Error::new(&object, cause, remedy)
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
