// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The daemon: which nodes there are, and which job runs where. It performs no calls; proxies do.
//!
//! `tacet iod` runs it in the foreground, and `tacet static run` on a laptop in a thread. It must never need rights
//! beyond its user's: root's may serve all users because every `run` makes its own proxies, not for want of rights.

mod asks;
mod book;
mod describe;
mod drained;
mod job;
mod node;
mod numbers;
mod serve_control;
mod session;

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce};
use nix::unistd::geteuid;
use tacet_wire::key::Key;
use tacet_wire::packet::LARGE_PACKET_BYTES;

pub use describe::random;

use crate::control::NodeOrder;
use crate::error::{Error, Result};
use asks::Asks;
use book::Book;
use drained::Drained;
use numbers::Numbers;

/// The daemon looks so often whether it must stop, and whether a node must be reminded.
const GLANCE: Duration = Duration::from_millis(100);
/// Some messages of the greatest length.
const ROOM_BYTES: usize = 4 << 20;

#[derive(Debug, Clone)]
pub struct Config {
    /// Where nodes ask; port 0: any free one.
    pub asks: SocketAddr,
    /// Where `tacet static` asks.
    pub control: PathBuf,
    /// Of the set of nodes: their own keys are derived from it.
    pub key: Key,
    /// Remembers the numbers of jobs for the next daemon, and a file beside it the drained nodes; none: nodes and jobs do not outlive this one.
    pub numbers: Option<PathBuf>,
    /// Nodes are reset and powered off by who holds this daemon's [`Handle`], and not by themselves: they are emulated.
    pub machines_here: bool,
    /// How many nodes the set has, with numbers from 0, if that is known.
    pub nodes: Option<u32>,
    /// Every user may submit jobs, by the control socket; only root's daemon can serve others.
    pub all_users: bool,
}

#[derive(Debug)]
pub struct Daemon {
    asks: Arc<Asks>,
    socket: UdpSocket,
    listener: UnixListener,
    control: PathBuf,
    all_users: bool,
}

impl Daemon {
    /// Takes the addresses. The control socket of a dead daemon is replaced; a living one is not.
    pub fn bind(config: &Config) -> Result<Self> {
        let failed = |error| Error::new(config.asks, error, "choose a free address of this machine");
        let socket = UdpSocket::bind(config.asks).map_err(failed)?;
        socket.set_read_timeout(Some(GLANCE)).map_err(failed)?;
        roomy(&socket);
        let listener = listen(&config.control, config.all_users)?;
        let numbers = Numbers::new(config.numbers.as_deref())?;
        let drained = Drained::new(config.numbers.as_ref().map(|file| file.with_extension("drained")))?;
        let book = Book::new(config, numbers, drained);
        let asks = Asks::new(socket.try_clone().map_err(failed)?, config.key.clone(), book);
        let (control, all_users) = (config.control.clone(), config.all_users);
        Ok(Daemon { asks: Arc::new(asks), socket, listener, control, all_users })
    }

    /// Where nodes ask.
    pub fn address(&self) -> Result<SocketAddr> {
        self.socket.local_addr().map_err(|error| Error::new("socket of asks", error, "start the daemon again"))
    }

    /// Serves in a thread of its own.
    pub fn start(self) -> Result<Handle> {
        let (address, stop, asks) = (self.address()?, Arc::new(AtomicBool::new(false)), Arc::clone(&self.asks));
        let stopped = Arc::clone(&stop);
        let builder = std::thread::Builder::new().name("iod".into());
        let thread = builder.spawn(move || self.run(&stopped));
        let thread = thread.map_err(|error| Error::new("daemon", error, "raise the limit of threads"))?;
        Ok(Handle { asks, address, stop, thread: Some(thread) })
    }

    /// Serves until `stop` is set, here or by a request. Jobs that run go on.
    pub fn run(self, stop: &Arc<AtomicBool>) -> Result<()> {
        serve_control::spawn(self.listener, Arc::clone(&self.asks), Arc::clone(stop), self.all_users)?;
        let mut datagram = [0; LARGE_PACKET_BYTES];
        let mut reminded = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            match self.socket.recv_from(&mut datagram) {
                Ok((bytes, from)) => {
                    if let Some(datagram) = datagram.get(..bytes) {
                        self.asks.receive(datagram, from);
                    }
                }
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(Error::new("socket of asks", error, "start the daemon again")),
            }
            let now = Instant::now();
            if now.saturating_duration_since(reminded) >= GLANCE {
                reminded = now;
                self.asks.remind(now);
            }
        }
        let _ = std::fs::remove_file(&self.control);
        Ok(())
    }
}

/// A daemon in a thread of this process; it stops when this is dropped.
#[derive(Debug)]
pub struct Handle {
    asks: Arc<Asks>,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Handle {
    /// Where nodes ask.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the daemon has stopped: by a request, or because its socket failed.
    pub fn has_stopped(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Nodes that the holder of this handle shall reset or power off, since the last question.
    pub fn ends(&self) -> Vec<(u32, NodeOrder)> {
        self.asks.with_book(Book::take_ends)
    }

    /// This node will not be heard again. The owner of its job ends the node's proxies.
    pub fn node_lost(&self, node: u32, why: &str) {
        self.asks.node_lost(node, why);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Asks Linux for room for what many threads or nodes send at once. With less, more packets are lost, and come again.
pub(crate) fn roomy(socket: &UdpSocket) {
    if setsockopt(socket, RcvBufForce, &ROOM_BYTES).is_err() {
        let _ = setsockopt(socket, RcvBuf, &ROOM_BYTES);
    }
}

/// Whether receiving may go on: an earlier datagram found no receiver, a signal came, or no datagram did.
pub(crate) fn is_transient(error: &std::io::Error) -> bool {
    let kinds = [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted, ErrorKind::ConnectionRefused];
    kinds.contains(&error.kind())
}

fn listen(path: &Path, all_users: bool) -> Result<UnixListener> {
    if all_users && !geteuid().is_root() {
        let remedy = "start it as root, or for your own jobs alone";
        return Err(Error::new(
            path.display(),
            "a daemon for all users must be root's: nobody asks another user's",
            remedy,
        ));
    }
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(Error::new(path.display(), "another daemon serves it", "stop that one, or choose another path"));
    }
    if std::fs::symlink_metadata(path).is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()))
    {
        let _ = std::fs::remove_file(path);
    }
    let failed = |error| Error::new(path.display(), error, "choose a path that you may write");
    let listener = UnixListener::bind(path).map_err(failed)?;
    if all_users {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o666)).map_err(failed)?;
    }
    Ok(listener)
}
