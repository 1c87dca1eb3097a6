// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A network switch for emulated nodes: one Unix stream for each port, as QEMU's `-netdev stream` speaks it (four bytes of
//! length, big-endian, then the frame).
//!
//! Owned by a cluster. It learns where addresses are; what it knows no place for goes to all ports. A node may end and
//! another connect in its place. A test may have frames dropped or delayed ([`Rule`]), and reads what became of them
//! ([`Counts`]). A port that does not read must never hold up the others: its queue is bounded, and what finds no room is
//! counted.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::{OnPath, Result};

/// Frames that wait for a port.
const QUEUE: usize = 1024;
/// No frame of a node is longer: virtio joins segments up to 64 KiB.
const LONGEST: usize = 80 << 10;
/// Two addresses of six bytes, and a type.
const SHORTEST: usize = 14;

type Address = [u8; 6];
type Waiting = (Instant, Arc<[u8]>);

/// Drops or delays frames that go from one port to another; without a port: any. Ports count from 1, as nodes do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rule {
    /// Frames that came from this port.
    pub from: Option<u8>,
    /// Frames that would leave by this port.
    pub to: Option<u8>,
    /// Every frame of so many is dropped: 1 drops all, 0 none.
    pub drop_each: u64,
    /// The others are delivered so much later.
    pub delay: Duration,
}

/// A port's frames, counted by their fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// From its node.
    pub received: u64,
    /// To its node.
    pub sent: u64,
    /// Would have gone to its node, but a rule dropped them.
    pub dropped: u64,
    /// Had no room in its queue, or found no node.
    pub lost: u64,
}

/// A switch that runs until it is dropped.
pub struct Switch {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    ports: Vec<Port>,
    places: Mutex<HashMap<Address, usize>>,
    rules: Mutex<Vec<(Rule, u64)>>,
    over: AtomicBool,
}

struct Port {
    socket: PathBuf,
    node: Mutex<Option<(UnixStream, SyncSender<Waiting>)>>,
    counts: [AtomicU64; 4],
}

/// Indices of a port's counts.
const RECEIVED: usize = 0;
const SENT: usize = 1;
const DROPPED: usize = 2;
const LOST: usize = 3;

impl Switch {
    /// A switch with so many ports, whose sockets are in this directory.
    pub fn start(directory: &Path, ports: u8) -> Result<Switch> {
        let port = |number| Port {
            socket: directory.join(format!("port{number}")),
            node: Mutex::new(None),
            counts: Default::default(),
        };
        let shared = Arc::new(Shared {
            ports: (1..=ports).map(port).collect(),
            places: Mutex::default(),
            rules: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let mut threads = Vec::new();
        for index in 0..shared.ports.len() {
            let socket = &shared.ports[index].socket;
            let listener = UnixListener::bind(socket).on(socket)?;
            let shared = Arc::clone(&shared);
            threads.push(thread::spawn(move || serve(&shared, index, &listener)));
        }
        Ok(Switch { shared, threads })
    }

    /// The socket of a port.
    pub fn socket(&self, port: u8) -> PathBuf {
        self.port(port).socket.clone()
    }

    /// The frames of a port so far.
    pub fn counts(&self, port: u8) -> Counts {
        let [received, sent, dropped, lost] =
            self.port(port).counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        Counts { received, sent, dropped, lost }
    }

    /// From now on these rules hold, the first that fits a frame. Without rules each frame is delivered.
    pub fn set_rules(&self, rules: &[Rule]) {
        *locked(&self.shared.rules) = rules.iter().map(|rule| (*rule, 0)).collect();
    }

    fn port(&self, number: u8) -> &Port {
        &self.shared.ports[usize::from(number).saturating_sub(1)]
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        for port in &self.shared.ports {
            // a thread waits for a node, or for what a node sends
            UnixStream::connect(&port.socket).ok();
            if let Some((stream, _)) = &*locked(&port.node) {
                stream.shutdown(Shutdown::Both).ok();
            }
        }
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
        for port in &self.shared.ports {
            std::fs::remove_file(&port.socket).ok();
        }
    }
}

/// Serves one node after the other at a port.
fn serve(shared: &Arc<Shared>, index: usize, listener: &UnixListener) {
    while let Ok((stream, _)) = listener.accept() {
        let (Ok(reader), Ok(writer)) = (stream.try_clone(), stream.try_clone()) else { continue };
        let (queue, waiting) = sync_channel(QUEUE);
        *locked(&shared.ports[index].node) = Some((stream, queue));
        // Drop has set this before it looked for a stream to shut down
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        let (writers, at) = (Arc::clone(shared), index);
        let writer = thread::spawn(move || deliver(&writers.ports[at], writer, &waiting));
        receive(shared, index, reader);
        *locked(&shared.ports[index].node) = None;
        writer.join().ok();
    }
}

/// Takes a node's frames until the node ends, or sends what is no frame.
fn receive(shared: &Shared, from: usize, mut node: UnixStream) {
    while let Ok(frame) = read(&mut node) {
        count(&shared.ports[from], RECEIVED);
        let [to, source] = [address(&frame, 0), address(&frame, 6)];
        let is_group = to[0] & 1 == 1;
        let place = {
            let mut places = locked(&shared.places);
            places.insert(source, from);
            if is_group { None } else { places.get(&to).copied() }
        };
        for port in 0..shared.ports.len() {
            if port != from && place.is_none_or(|place| place == port) {
                forward(shared, from, port, &frame);
            }
        }
    }
    node.shutdown(Shutdown::Both).ok();
}

fn forward(shared: &Shared, from: usize, to: usize, frame: &Arc<[u8]>) {
    let port = &shared.ports[to];
    let Some(delay) = judged(&mut locked(&shared.rules), from, to) else { return count(port, DROPPED) };
    let queued = match &*locked(&port.node) {
        Some((_, queue)) => queue.try_send((Instant::now() + delay, Arc::clone(frame))).is_ok(),
        None => false,
    };
    if !queued {
        count(port, LOST);
    }
}

/// How much later a frame is delivered; `None`: it is dropped.
fn judged(rules: &mut [(Rule, u64)], from: usize, to: usize) -> Option<Duration> {
    let is = |port: Option<u8>, index: usize| port.is_none_or(|port| usize::from(port) == index + 1);
    let Some((rule, seen)) = rules.iter_mut().find(|(rule, _)| is(rule.from, from) && is(rule.to, to)) else {
        return Some(Duration::ZERO);
    };
    *seen += 1;
    let dropped = rule.drop_each > 0 && seen.is_multiple_of(rule.drop_each);
    (!dropped).then_some(rule.delay)
}

/// Sends a node what waits for it, until either is gone.
fn deliver(port: &Port, mut node: UnixStream, waiting: &Receiver<Waiting>) {
    while let Ok((when, frame)) = waiting.recv() {
        thread::sleep(when.saturating_duration_since(Instant::now()));
        let mut bytes = (frame.len() as u32).to_be_bytes().to_vec();
        bytes.extend_from_slice(&frame);
        if node.write_all(&bytes).is_err() {
            return;
        }
        count(port, SENT);
    }
}

fn read(node: &mut UnixStream) -> std::io::Result<Arc<[u8]>> {
    let mut length = [0; 4];
    node.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if !(SHORTEST..=LONGEST).contains(&length) {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    let mut frame = vec![0; length];
    node.read_exact(&mut frame)?;
    Ok(frame.into())
}

fn address(frame: &[u8], at: usize) -> Address {
    frame.get(at..at + 6).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default()
}

fn count(port: &Port, what: usize) {
    port.counts[what].fetch_add(1, Ordering::Relaxed);
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
