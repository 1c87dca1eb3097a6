// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The daemon: which nodes there are, and which job runs where. It performs no calls; proxies do.
//!
//! `tacet iod` runs it in the foreground, and `tacet static run` on a laptop in a thread. It must never need rights
//! beyond its user's.

mod asks;
mod book;
mod describe;
mod job;
mod serve_control;
mod session;

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce};
use tacet_shipping::key::Key;
use tacet_shipping::packet::LARGE_PACKET_BYTES;

pub use describe::random;

use crate::error::{Error, Result};
use asks::Asks;
use book::Book;

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
    /// Of the set of nodes.
    pub key: Key,
}

#[derive(Debug)]
pub struct Daemon {
    asks: Arc<Asks>,
    socket: UdpSocket,
    listener: UnixListener,
    control: PathBuf,
}

impl Daemon {
    /// Takes the addresses. The control socket of a dead daemon is replaced; a living one is not.
    pub fn bind(config: &Config) -> Result<Self> {
        let failed = |error| Error::new(config.asks, error, "choose a free address of this machine");
        let socket = UdpSocket::bind(config.asks).map_err(failed)?;
        socket.set_read_timeout(Some(GLANCE)).map_err(failed)?;
        roomy(&socket);
        let listener = listen(&config.control)?;
        let book = Book::new(config.asks.ip());
        let asks = Asks::new(socket.try_clone().map_err(failed)?, config.key.clone(), book);
        Ok(Daemon { asks: Arc::new(asks), socket, listener, control: config.control.clone() })
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
        serve_control::spawn(self.listener, Arc::clone(&self.asks), Arc::clone(stop))?;
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

fn listen(path: &Path) -> Result<UnixListener> {
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(Error::new(path.display(), "another daemon serves it", "stop that one, or choose another path"));
    }
    if std::fs::symlink_metadata(path).is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()))
    {
        let _ = std::fs::remove_file(path);
    }
    UnixListener::bind(path).map_err(|error| Error::new(path.display(), error, "choose a path that you may write"))
}
