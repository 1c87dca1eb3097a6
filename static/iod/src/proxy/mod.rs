// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A proxy: the Linux process that performs the calls of one process of a node. It has the user's rights because
//! `tacet static run` is its parent, and never asks for others.
//!
//! The hidden subcommand calls `main` before anything else. Its own descriptors are in a table that only its service
//! threads have: the program's table begins with 0, 1 and 2, and is the program's alone.

mod numbers;
mod patience;
mod perform;
mod program;
mod raw;
mod service;
mod signals;
mod store;
mod thread;
mod threads;
mod worker;

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use nix::sys::prctl::{set_dumpable, set_pdeathsig};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::getppid;
use serde::{Deserialize, Serialize};
use tacet_wire::key::Key;

use crate::control::Dropped;
use crate::error::{Error, Result};
use crate::room::set_soft_limit;
pub(crate) use raw::send_signal;
use service::{Request, Service};

/// The descriptors that `submit` hands over.
pub(crate) const SOCKET: i32 = 3;
pub(crate) const STREAM: i32 = 4;

/// The proxy could not begin.
const FAILED: i32 = 126;

/// From the parent, by the stream: the key must not be in the arguments, which everybody can read.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub node: u32,
    pub job: u32,
    pub rank: u32,
    pub key: String,
    /// The process whose death is the proxy's.
    pub parent: i32,
    /// The soft limit of descriptors that the program has: the parent has raised its own.
    pub descriptors: u64,
}

/// To the parent, by the stream, as the first thing: from here on signals are the program's.
pub(crate) const READY: [u8; 1] = [b'\n'];

/// To the parent, by the stream, a line each.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Note {
    /// Signals for a program that makes no call: bit n - 1 is signal n.
    Signals(u64),
    /// The last one: the program has ended, and nothing has killed the proxy.
    Farewell(Dropped),
}

/// Performs calls until the program ends, or the parent.
pub fn main() -> ! {
    end_on_fault();
    let Err(error) = begin();
    eprintln!("tacet: {error}");
    std::process::exit(FAILED)
}

/// A thread that has a fault of its own would leave its compute thread waiting for ever: the whole proxy ends, and the
/// parent tells the node.
fn end_on_fault() {
    std::panic::set_hook(Box::new(|fault| {
        let place = fault.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
        let message = fault.payload_as_str().unwrap_or("no message");
        eprintln!("tacet: proxy: a fault of its own{place}: {message}");
        std::process::exit(FAILED);
    }));
}

fn begin() -> Result<std::convert::Infallible> {
    SigSet::all()
        .thread_block()
        .map_err(|errno| Error::new("proxy", errno, "the kernel must let signals be blocked"))?;
    raw::prepare_signals()?;
    let (socket, stream) = raw::inherited(SOCKET, STREAM)?;
    let orders = read_orders(&stream)?;
    die_with(orders.parent)?;
    set_soft_limit(orders.descriptors)?;
    let key = Key::from_hex(orders.key.as_bytes());
    let key = key.ok_or_else(|| Error::new("proxy", "its key is damaged", "start it by `tacet static run`"))?;
    let (requests, inbox) = channel();
    let (ready, is_ready) = channel();
    let start = move || {
        let service = raw::own_table().and_then(|()| Service::start(socket, stream, &orders, key, requests));
        match service {
            Ok(service) => {
                let _ = ready.send(service.say_ready());
                service.receive();
            }
            Err(error) => drop(ready.send(Err(error))),
        }
    };
    spawn("receive", start)?;
    let silent = || Error::new("proxy", "its service thread has ended", "start it by `tacet static run`");
    is_ready.recv().map_err(|_| silent())??;
    raw::close_range(SOCKET, None)?;
    // The program, which could name the proxy's memory by /proc, has no business there.
    set_dumpable(false).map_err(|errno| Error::new("proxy", errno, "the kernel must let it hide its memory"))?;
    make_threads(&inbox);
    Err(silent())
}

/// Each compute thread gets its proxy thread here: a thread has the descriptor table of the one that makes it.
fn make_threads(inbox: &Receiver<Request>) {
    for (service, thread) in inbox {
        let (for_service, for_thread) = (Arc::clone(&service), Arc::clone(&thread));
        if spawn("thread", move || worker::work(&for_service, &for_thread)).is_err() {
            worker::serve_without_thread(&service, &thread);
        }
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
    let builder = std::thread::Builder::new().name(name.into()).stack_size(worker::STACK_BYTES);
    builder.spawn(body).map(drop).map_err(|error| Error::new("proxy", error, "raise the limit of threads"))
}

fn read_orders(stream: &UnixStream) -> Result<Orders> {
    let failed = |error: &dyn std::fmt::Display| Error::new("proxy", error, "start it by `tacet static run`");
    let mut line = Vec::new();
    BufReader::with_capacity(1, stream).read_until(b'\n', &mut line).map_err(|error| failed(&error))?;
    serde_json::from_slice(&line).map_err(|error| failed(&error))
}

/// The kernel kills the proxy when its parent is gone, which may have happened already.
fn die_with(parent: i32) -> Result<()> {
    let gone = || Error::new("proxy", "its parent is gone", "start it by `tacet static run`");
    set_pdeathsig(Signal::SIGKILL).map_err(|_| gone())?;
    if getppid().as_raw() == parent { Ok(()) } else { Err(gone()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAULTY: &str = "proxy::tests::a_thread_has_a_fault";

    #[test]
    #[ignore = "the next test runs it in a process of its own"]
    fn a_thread_has_a_fault() {
        end_on_fault();
        let _ = std::thread::spawn(|| panic!("the thread's own")).join();
        eprintln!("the process continues");
    }

    #[test]
    fn a_thread_with_a_fault_ends_the_proxy_with_one_line() {
        let mut command = std::process::Command::new("/proc/self/exe");
        let output = command.args(["--exact", FAULTY, "--ignored", "--nocapture"]).output().unwrap();
        assert_eq!(output.status.code(), Some(FAILED));
        let said = String::from_utf8(output.stderr).unwrap();
        let line = said.strip_suffix('\n').filter(|line| !line.contains('\n')).expect("one line");
        assert!(line.starts_with("tacet: proxy: a fault of its own at static/iod/"), "{line}");
        assert!(line.ends_with(": the thread's own"), "{line}");
    }
}
