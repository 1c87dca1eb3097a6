// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The connection to a node's agent: one writer, one reader thread, a channel for each job.
//!
//! Owns the socket and the job numbers. Frames of a job arrive in order: output, then one end. The reader must never
//! block on a job whose events nobody receives: the agent, and with it the whole node, would wait.

use std::collections::HashMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::command::Status;
use crate::error::{Error, Result};
use crate::wire::{self, Frame, Kind};

/// An event of a job.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Ended(Status),
    /// It could not be started.
    Failed(String),
}

/// The connection. Jobs hold it too; it closes with the last of them.
#[derive(Clone)]
pub(crate) struct Link {
    writer: Arc<Mutex<UnixStream>>,
    jobs: Arc<Mutex<Jobs>>,
    emulator: u32,
}

#[derive(Default)]
struct Jobs {
    last: u16,
    /// `None` once the agent is gone: no job can start any more
    running: Option<HashMap<u16, Sender<Event>>>,
}

impl Link {
    /// Takes over a connection on which the agent has reported that it is ready. The events belong to job 0, which
    /// exists only in a node that was given its command at boot.
    pub fn new(stream: UnixStream, emulator: u32) -> std::io::Result<(Link, Receiver<Event>)> {
        let reader = stream.try_clone()?;
        let (sender, first) = mpsc::channel();
        let jobs = Arc::new(Mutex::new(Jobs { last: 0, running: Some(HashMap::from([(0, sender)])) }));
        let link = Link { writer: Arc::new(Mutex::new(stream)), jobs: Arc::clone(&jobs), emulator };
        thread::spawn(move || distribute(reader, &jobs));
        Ok((link, first))
    }

    /// Starts a job. The last event is `Ended` or `Failed`; the channel closes without one if the node died.
    pub fn start(&self, payload: &[u8]) -> Result<(u16, Receiver<Event>)> {
        let (sender, events) = mpsc::channel();
        let mut jobs = locked(&self.jobs);
        let id = jobs.last.wrapping_add(1).max(1);
        jobs.last = id;
        match &mut jobs.running {
            Some(running) => running.insert(id, sender),
            None => return Err(Error::new("node", "it no longer runs", "see its console log")),
        };
        drop(jobs);
        self.send(id, Kind::Run, payload)?;
        Ok((id, events))
    }

    /// The emulator's process.
    pub fn emulator(&self) -> u32 {
        self.emulator
    }

    /// Sends the agent a frame about a job.
    pub fn send(&self, job: u16, kind: Kind, payload: &[u8]) -> Result<()> {
        let mut writer = locked(&self.writer);
        wire::send(&mut *writer, job, kind, payload)
            .and_then(|()| writer.flush())
            .map_err(|e| Error::new("node", format!("cannot reach its agent: {e}"), "see its console log"))
    }
}

fn distribute(mut reader: UnixStream, jobs: &Mutex<Jobs>) {
    while let Ok(Frame { job, kind, payload }) = Frame::read(&mut reader) {
        let event = match kind {
            Kind::Stdout => Event::Stdout(payload),
            Kind::Stderr => Event::Stderr(payload),
            Kind::Exit => Event::Ended(Status::from_wait(payload.try_into().map_or(0xff00, u32::from_le_bytes))),
            _ => Event::Failed(String::from_utf8_lossy(&payload).into_owned()),
        };
        let last = matches!(event, Event::Ended(_) | Event::Failed(_));
        if let Some(running) = &mut locked(jobs).running {
            if let Some(sender) = running.get(&job) {
                // the receiver is gone if the job was dropped
                sender.send(event).ok();
            }
            if last {
                running.remove(&job);
            }
        }
    }
    locked(jobs).running = None;
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(job: u16, kind: Kind, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        wire::send(&mut bytes, job, kind, payload).expect("small");
        bytes
    }

    #[test]
    fn events_reach_their_job_and_a_dead_node_ends_all() {
        let (host, mut guest) = UnixStream::pair().expect("pair");
        let (link, _) = Link::new(host, std::process::id()).expect("link");
        let (a, from_a) = link.start(b"").expect("starts");
        let (b, from_b) = link.start(b"").expect("starts");
        for bytes in [frame(b, Kind::Stdout, b"b"), frame(a, Kind::Stderr, b"a"), frame(a, Kind::Exit, &[0, 3, 0, 0])] {
            guest.write_all(&bytes).expect("writes");
        }
        assert_eq!(from_a.recv(), Ok(Event::Stderr(b"a".to_vec())));
        assert_eq!(from_a.recv(), Ok(Event::Ended(Status::Code(3))));
        assert_eq!(from_b.recv(), Ok(Event::Stdout(b"b".to_vec())));
        drop(guest);
        assert!(from_b.recv().is_err());
        assert!(link.start(b"").is_err());
    }
}
