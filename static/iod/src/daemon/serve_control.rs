// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The control socket: a thread for each connection, which is one request or one job.
//!
//! Serves the daemon's own user and root; other users only if the daemon is for all, and then only about their own jobs. Who
//! asks, Linux says (SO_PEERCRED); a line must never name its sender.

use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::geteuid;
use tacet_wire::key::Key;
use tacet_wire::packet::MESSAGE_BYTES;

use super::GLANCE;
use super::asks::Asks;
use super::book::{Book, Owner};
use super::describe::{describe, random};
use crate::control::{Lines, Reply, Request, Start, Status, Submit, send};
use crate::error::{Error, Result};

pub fn spawn(listener: UnixListener, asks: Arc<Asks>, stop: Arc<AtomicBool>, all_users: bool) -> Result<()> {
    let accept = move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // Mostly too many descriptors, which connections give back.
                std::thread::sleep(GLANCE);
                continue;
            };
            let (asks, stop) = (Arc::clone(&asks), Arc::clone(&stop));
            // A connection that gets no thread is closed.
            let _ = std::thread::Builder::new()
                .name("control".into())
                .spawn(move || serve(&stream, &asks, &stop, all_users));
        }
    };
    let spawned = std::thread::Builder::new().name("accept".into()).spawn(accept);
    spawned.map(drop).map_err(|error| Error::new("daemon", error, "raise the limit of threads"))
}

fn serve(stream: &UnixStream, asks: &Asks, stop: &AtomicBool, all_users: bool) {
    if let Err(error) = serve_peer(stream, asks, stop, all_users) {
        let _ = send(stream, &Reply::Refused { reason: error.to_string() });
    }
}

fn serve_peer(stream: &UnixStream, asks: &Asks, stop: &AtomicBool, all_users: bool) -> Result<()> {
    let mut lines = Lines::new(stream);
    // Read before anything else: a peer that is refused while it still writes sees a broken pipe, and not the reason.
    let first = lines.read();
    let owner = owner_of(stream, all_users)?;
    let Some(request) = first? else { return Ok(()) };
    match request {
        Request::Submit(submit) => own_new(stream, &mut lines, asks, submit, owner),
        Request::Adopt(adoption) => {
            let (events, inbox) = channel();
            asks.with_book(|book| book.adopt(&adoption, owner, events))?;
            own(stream, &mut lines, asks, adoption.job, inbox)
        }
        Request::Start(_) | Request::Signal { .. } => {
            Err(Error::new("request", "this connection has no job", "submit one first"))
        }
        Request::Status {} => send(stream, &Reply::Status(Box::new(status(asks, owner)))),
        Request::Kill { job, signal } => {
            asks.with_book(|book| permit(book, job, owner).and_then(|()| book.kill(job, signal, Instant::now())))?;
            send(stream, &Reply::Done {})
        }
        Request::Map { job } => {
            let maps = asks.with_book(|book| permit(book, job, owner).and_then(|()| book.map_of(job)))?;
            send(stream, &Reply::Map { maps })
        }
        Request::Node { .. } | Request::Shutdown {} if !governs(owner) => {
            Err(Error::new("request", "the daemon is not yours", "ask root"))
        }
        Request::Node { node, order } => {
            asks.with_book(|book| book.govern(node, order, Instant::now()))?;
            send(stream, &Reply::Done {})
        }
        Request::Shutdown {} => {
            stop.store(true, Ordering::Relaxed);
            send(stream, &Reply::Done {})
        }
    }
}

fn owner_of(stream: &UnixStream, all_users: bool) -> Result<Owner> {
    let peer =
        getsockopt(stream, PeerCredentials).map_err(|error| Error::new("control socket", error, "connect again"))?;
    let owner = Owner { uid: peer.uid(), pid: peer.pid() };
    if all_users || governs(owner) {
        return Ok(owner);
    }
    let cause = format!("user {} is neither the daemon's user {} nor root", owner.uid, geteuid());
    Err(Error::new("control socket", cause, "start a daemon of your own"))
}

/// The nodes are this one's to give, and every job to end.
fn governs(peer: Owner) -> bool {
    peer.uid == geteuid().as_raw() || peer.uid == 0
}

/// A job that there is not has no owner: whoever asks gets the same line as for any.
fn permit(book: &Book, job: u32, peer: Owner) -> Result<()> {
    match book.job(job) {
        Some(found) if found.owner.uid != peer.uid && !governs(peer) => Err(Error::new(
            format!("job {job}"),
            format!("it is of user {}", found.owner.uid),
            "ask that user, or root",
        )),
        _ => Ok(()),
    }
}

fn own_new(
    stream: &UnixStream,
    lines: &mut Lines<&UnixStream>,
    asks: &Asks,
    submit: Submit,
    owner: Owner,
) -> Result<()> {
    let secret = random()?;
    let (events, inbox) = channel();
    let job = asks.with_book(|book| book.submit(submit, owner, secret, events))?;
    own(stream, lines, asks, job, inbox)
}

/// Serves the owner of a job until it is gone or the job is over.
fn own(
    stream: &UnixStream,
    lines: &mut Lines<&UnixStream>,
    asks: &Asks,
    job: u32,
    inbox: Receiver<Reply>,
) -> Result<()> {
    std::thread::scope(|scope| {
        scope.spawn(move || tell(stream, &inbox));
        let result = obey(lines, asks, job);
        // The book's sender goes with the job, and the teller with the sender.
        asks.with_book(|book| book.abandon(job));
        result
    })
}

fn tell(stream: &UnixStream, inbox: &Receiver<Reply>) {
    for event in inbox {
        if send(stream, &event).is_err() {
            return;
        }
    }
}

fn obey(lines: &mut Lines<&UnixStream>, asks: &Asks, job: u32) -> Result<()> {
    while let Some(request) = lines.read()? {
        match request {
            Request::Start(start) => {
                asks.with_book(|book| check(book, job, &start).and_then(|()| book.start(job, *start)))?;
            }
            // A job that has just ended needs no signal.
            Request::Kill { job: other, signal } if other == job => {
                let _ = asks.with_book(|book| book.kill(job, signal, Instant::now()));
            }
            Request::Signal { job: other, rank, signal } if other == job => {
                asks.with_book(|book| book.signal(job, rank, signal, Instant::now()))?;
            }
            _ => return Err(Error::new("request", "a job's connection takes start, kill and signal", "open another")),
        }
    }
    Ok(())
}

/// A description that does not fit is refused before any node has it.
fn check(book: &Book, id: u32, start: &Start) -> Result<()> {
    let Some(job) = book.job(id) else { return Ok(()) };
    let mut answer = vec![0; MESSAGE_BYTES];
    describe(id, job, start, 0, &Key::new(&[0; 32]), &mut answer).map(drop)
}

/// All nodes and jobs; what another user's job executes is for that user and root.
fn status(asks: &Asks, peer: Owner) -> Status {
    let (nodes, mut jobs) = asks.with_book(|book| (book.nodes_status(Instant::now()), book.jobs_status()));
    for job in jobs.iter_mut().filter(|job| job.uid != peer.uid && !governs(peer)) {
        job.name.clear();
    }
    Status { nodes, jobs, dropped: asks.dropped() }
}
