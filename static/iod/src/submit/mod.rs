// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs a job: asks the daemon for nodes, makes the proxies as children of the calling process, and waits for them.
//!
//! `tacet static run` calls `run`, in a process that may get signals for the job. The proxies have the caller's
//! credentials, umask, limits, directories and standard streams, as any child. Nothing here may need more rights.

mod child;
mod events;
mod gone;
mod running;

use std::ffi::OsString;
use std::net::{IpAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use nix::unistd::{getegid, geteuid, getgid, getuid};
use tacet_wire::key::Key;

use crate::control::{Dropped, Proxy, Reply, Request, Start, Submit, connect, send};
use crate::daemon::roomy;
use crate::error::{Error, Result};
use crate::room::{self, Room};
use child::Child;
use events::{Event, Events};
use running::Running;

/// A job that has not begun after this long says that it waits.
const PATIENCE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
pub struct Submission {
    /// The daemon's control socket.
    pub control: PathBuf,
    pub submit: Submit,
    /// Without proxies and credentials, which `run` fills in.
    pub start: Start,
    /// The nodes are emulated, and live no longer than their daemon.
    pub nodes_end_with_daemon: bool,
}

/// The command that calls [`crate::proxy::main`].
#[derive(Debug, Clone)]
pub struct Launcher {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

/// How a rank has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exit(i32),
    Signal(i32),
    /// Not by itself: its node or its proxy is gone.
    Lost,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub job: u32,
    /// By rank.
    pub ranks: Vec<Ended>,
    /// Packets that the proxies did not serve.
    pub dropped: Dropped,
    /// A program has begun on some node.
    pub begun: bool,
}

/// The exit status of a job with a lost rank.
pub const LOST: u8 = 125;

impl Outcome {
    /// A node or a proxy was lost, and no program has done anything.
    pub fn lost_at_start(&self) -> bool {
        !self.begun && self.ranks.contains(&Ended::Lost)
    }

    /// As a shell shows it: of the first rank that was lost, or else of the first that failed.
    pub fn shell_status(&self) -> u8 {
        let mut statuses = self.ranks.iter().map(|rank| match *rank {
            Ended::Exit(status) => u8::try_from(status & 0xff).unwrap_or(u8::MAX),
            Ended::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
            Ended::Lost => LOST,
        });
        let failed = statuses.find(|status| *status != 0);
        if self.ranks.contains(&Ended::Lost) { LOST } else { failed.unwrap_or(0) }
    }
}

/// Refuses a job that `run` has no room for, before anything of it begins.
pub fn check(submit: &Submit) -> Result<()> {
    room::check(ranks(submit))
}

fn ranks(submit: &Submit) -> u64 {
    u64::from(submit.nodes) * u64::from(submit.processes)
}

/// Runs a job to its end. `report` gets lines for the person who waits. The calling thread must live as long as the
/// job: the kernel ends the proxies with it.
pub fn run(submission: &Submission, launcher: &Launcher, report: &mut dyn FnMut(&str)) -> Result<Outcome> {
    let room = Room::make(ranks(&submission.submit))?;
    let stream = connect(&submission.control)?;
    send(&stream, &Request::Submit(submission.submit.clone()))?;
    let (events, inbox) = Events::begin(&stream)?;
    let grant = granted(&inbox, submission, report)?;
    // From here on signals are the job's. Before, they end the caller, and the daemon forgets the job.
    events.take_signals()?;
    let mut children = make_proxies(&grant, submission.submit.processes, launcher, &room)?;
    let over = Arc::new(AtomicBool::new(false));
    for child in &mut children {
        let place = gone::Place { socket: child.take_socket()?, key: grant.key()?, over: Arc::clone(&over) };
        events.listen_to(child.rank, child.pid(), child.take_stream()?, place)?;
    }
    let start = Start {
        proxies: children.iter().map(|child| Proxy { port: child.port, process_id: child.process_id() }).collect(),
        credentials: [getuid().as_raw(), getgid().as_raw(), geteuid().as_raw(), getegid().as_raw()],
        ..submission.start.clone()
    };
    send(&stream, &Request::Start(Box::new(start)))?;
    Ok(Running::new(grant, submission, children, stream, events, over, report).until_over(&inbox))
}

/// Nodes of a job, and what its proxies need to know.
#[derive(Debug, Clone)]
struct Grant {
    job: u32,
    key: String,
    nodes: Vec<u32>,
    address: IpAddr,
    voucher: String,
}

impl Grant {
    fn key(&self) -> Result<Key> {
        let key = Key::from_hex(self.key.as_bytes());
        key.ok_or_else(|| Error::new("daemon", "the job's key is damaged", "restart it"))
    }
}

fn granted(inbox: &Receiver<Event>, submission: &Submission, report: &mut dyn FnMut(&str)) -> Result<Grant> {
    let object = || submission.control.display().to_string();
    let gone = || Error::new(object(), "the daemon is gone", "start it, then run the job again");
    let mut number = 0;
    let mut is_said = false;
    loop {
        let event = match inbox.recv_timeout(PATIENCE) {
            Err(RecvTimeoutError::Timeout) if !is_said => {
                let nodes = submission.submit.nodes;
                report(&format!("job {number} waits for {nodes} ready node{}", if nodes == 1 { "" } else { "s" }));
                is_said = true;
                continue;
            }
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) | Ok(Event::ControlGone) => return Err(gone()),
            Ok(event) => event,
        };
        match event {
            Event::Control(Reply::Queued { job }) => number = job,
            Event::Control(Reply::Granted { job, key, nodes, address, voucher }) => {
                return Ok(Grant { job, key, nodes, address, voucher });
            }
            Event::Control(Reply::Refused { reason }) => {
                return Err(Error::new(object(), reason, "see `tacet static status`"));
            }
            _ => {}
        }
    }
}

fn make_proxies(grant: &Grant, processes: u32, launcher: &Launcher, room: &Room) -> Result<Vec<Child>> {
    let ranks = grant.nodes.iter().flat_map(|node| (0..processes).map(move |_| *node)).zip(0..);
    let mut children: Vec<_> =
        ranks.map(|(node, rank)| Child::start(launcher, grant, room, node, rank)).collect::<Result<_>>()?;
    children.iter_mut().try_for_each(Child::await_ready)?;
    Ok(children)
}

fn listen(address: IpAddr) -> Result<UdpSocket> {
    let failed = |error| Error::new(address, error, "the daemon must be on this machine");
    let socket = UdpSocket::bind((address, 0)).map_err(failed)?;
    roomy(&socket);
    Ok(socket)
}

fn pair() -> Result<(UnixStream, UnixStream)> {
    UnixStream::pair().map_err(|error| Error::new("proxy", error, "raise the limit of descriptors"))
}
