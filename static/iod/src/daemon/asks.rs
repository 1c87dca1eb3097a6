// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The asks of nodes: greetings, requests for work, news of jobs. One UDP socket for all nodes.
//!
//! The daemon's own thread calls `receive`; the control socket's threads call `with_book`, after which waiting nodes get
//! their answers. A packet that no key has signed must never change anything, nor be answered.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tacet_wire::ask::{Answer, Ask, Refusal, WATCHER};
use tacet_wire::client::Ignored;
use tacet_wire::key::Key;
use tacet_wire::packet::{Kind, PACKET_BYTES, Packet, Party};
use tacet_wire::server::{Event, Server};

use super::book::{Book, signals::TAKING};
use super::describe::{describe, random};
use super::job::{Order, Stage};
use super::node::Means;
use super::session::{Greeting, Parked, Session};
use crate::control::{Dropped, NodeOrder};
use crate::refusal::refuse;

/// Greetings of one node that wait for its first ask; old ones may be repeated by anybody.
const CANDIDATES: usize = 4;

#[derive(Debug)]
pub struct Asks {
    socket: UdpSocket,
    /// The set's. No packet is signed with it: each node has a key of its own, derived from it.
    set: Key,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    book: Book,
    links: BTreeMap<u32, Link>,
    dropped: Dropped,
}

#[derive(Debug, Default)]
struct Link {
    session: Option<Session>,
    candidates: Vec<Session>,
}

impl Asks {
    pub fn new(socket: UdpSocket, set: Key, book: Book) -> Self {
        let inner = Inner { book, links: BTreeMap::new(), dropped: Dropped::default() };
        Asks { socket, set, inner: Mutex::new(inner) }
    }

    /// Changes the book, then gives the waiting nodes the answers that follow from it.
    pub fn with_book<T>(&self, change: impl FnOnce(&mut Book) -> T) -> T {
        let mut inner = self.lock();
        let result = change(&mut inner.book);
        self.settle(&mut inner);
        result
    }

    /// Forgets a node that is lost. If the node is heard again, it must greet first.
    pub fn node_lost(&self, node: u32, why: &str) {
        self.lock().links.remove(&node);
        self.with_book(|book| book.lost(node, why));
    }

    pub fn dropped(&self) -> Dropped {
        self.lock().dropped
    }

    /// Takes a datagram from anybody.
    pub fn receive(&self, datagram: &[u8], from: SocketAddr) {
        let mut inner = self.lock();
        let Ok(packet) = Packet::parse(datagram) else {
            inner.dropped.malformed += 1;
            return;
        };
        let Party { node, job: 0, process: 0, .. } = packet.header.party else {
            inner.dropped.malformed += 1;
            return;
        };
        if packet.header.kind != Kind::Ask {
            inner.dropped.malformed += 1;
        } else if inner.promote(node, &packet, from) {
            inner.ask(node, &packet, from, &self.socket);
            self.settle(&mut inner);
        } else {
            let key = self.set.of_node(node);
            if packet.is_genuine(&key) {
                self.greet(&mut inner, &packet, &key, from);
            } else {
                inner.dropped.strangers += 1;
                self.refuse(&inner, &packet, &key, from);
            }
        }
    }

    /// A greeting, signed with the node's key: the node gets a nonce, and the same one if it asks again.
    fn greet(&self, inner: &mut Inner, packet: &Packet<'_>, key: &Key, from: SocketAddr) {
        let party = packet.header.party;
        let mut server = Server::new(Kind::Ask, party);
        let mut message = [0; PACKET_BYTES];
        let event = server.receive(packet, key, &mut message);
        let Ok(Event::Message(bytes)) = event else {
            inner.dropped.malformed += 1;
            return;
        };
        let Some(Ask::Hello { nonce, cpus, memory_bytes, service_cpu }) = message.get(..bytes).and_then(Ask::decode)
        else {
            inner.dropped.malformed += 1;
            return;
        };
        let link = inner.links.entry(party.node).or_default();
        let known = link.candidates.iter().find(|candidate| candidate.greeting.boot_nonce == nonce);
        let daemon_nonce = match known {
            Some(candidate) => candidate.greeting.daemon_nonce,
            None => {
                let Ok(daemon_nonce) = random() else { return };
                let greeting =
                    Greeting { boot_nonce: nonce, daemon_nonce, means: Means { cpus, memory_bytes, service_cpu } };
                link.candidates.truncate(CANDIDATES - 1);
                link.candidates.insert(0, Session::new(party.node, key, greeting));
                daemon_nonce
            }
        };
        let mut datagram = [0; PACKET_BYTES];
        let welcome = Answer::Welcome { nonce: daemon_nonce };
        if let Some(bytes) = welcome.encode(&mut message)
            && server.reply(bytes).is_some()
            && let Some(bytes) = server.next_packet(key, &message, &mut datagram)
        {
            self.send(datagram.get(..bytes), from);
        }
    }

    /// Tells a node whose session an earlier daemon had to greet again. Nodes that this daemon knows hear nothing: their
    /// packets have their key.
    fn refuse(&self, inner: &Inner, packet: &Packet<'_>, key: &Key, from: SocketAddr) {
        if inner.links.get(&packet.header.party.node).is_some_and(|link| link.session.is_some()) {
            return;
        }
        if let Some(refusal) = refuse(packet, Refusal::NoSession, key) {
            self.send(Some(&refusal), from);
        }
    }

    /// Gives nodes to jobs, jobs to nodes and orders to watchers.
    fn settle(&self, inner: &mut Inner) {
        let Inner { book, links, .. } = inner;
        book.allocate(Instant::now());
        for (node, link) in links {
            let Some(session) = &mut link.session else { continue };
            for thread in 0..session.streams.len() {
                if let Some(parked) = session.streams.get(thread).and_then(|stream| stream.parked)
                    && serve(book, *node, session, thread, parked)
                {
                    session.flush(thread, &self.socket);
                }
            }
        }
    }

    /// Reminds nodes of orders that they have not fetched, and gives up those that are deaf or silent. The daemon calls it once
    /// in a `GLANCE`.
    pub fn remind(&self, now: Instant) {
        let (deaf, silent) = {
            let book = &mut self.lock().book;
            (book.deaf(now), book.look())
        };
        for node in deaf {
            self.node_lost(node, &format!("it has not taken a signal for {} s", TAKING.as_secs()));
        }
        for node in silent {
            self.node_lost(node, "it is silent");
        }
        let mut inner = self.lock();
        let Inner { book, links, .. } = &mut *inner;
        for (node, link) in links {
            if let Some(session) = &mut link.session
                && session.reminds(book.has_orders(*node), now)
            {
                session.flush(WATCHER as usize, &self.socket);
            }
        }
    }

    fn send(&self, datagram: Option<&[u8]>, to: SocketAddr) {
        let _ = datagram.map(|datagram| self.socket.send_to(datagram, to));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Whether the packet is of the node's session. A greeting's first ask makes the greeting the session.
    fn promote(&mut self, node: u32, packet: &Packet<'_>, from: SocketAddr) -> bool {
        let Some(link) = self.links.get_mut(&node) else { return false };
        if link.session.as_ref().is_some_and(|session| packet.is_genuine(&session.key)) {
            return true;
        }
        let Some(place) = link.candidates.iter().position(|candidate| packet.is_genuine(&candidate.key)) else {
            return false;
        };
        let session = link.candidates.swap_remove(place);
        link.candidates.clear();
        let Greeting { boot_nonce, means, .. } = session.greeting;
        let same_boot = link.session.as_ref().is_some_and(|before| before.greeting.boot_nonce == boot_nonce);
        if !same_boot {
            self.book.booted(node, means, from.to_string(), Instant::now());
        }
        link.session = Some(session);
        true
    }

    /// Takes a genuine packet of a node.
    fn ask(&mut self, node: u32, packet: &Packet<'_>, from: SocketAddr, socket: &UdpSocket) {
        let Some(session) = self.links.get_mut(&node).and_then(|link| link.session.as_mut()) else { return };
        let thread = packet.header.party.thread as usize;
        let received = session.receive(packet, from);
        if received.is_ok() {
            self.book.heard(node, Instant::now());
        }
        let answered = match received {
            Ok(Some(message)) => match Ask::decode(message) {
                Some(ask) => note(&mut self.book, node, &ask),
                None => {
                    self.dropped.malformed += 1;
                    None
                }
            },
            Ok(None) => None,
            Err(Ignored::Stale) => {
                self.dropped.stale += 1;
                None
            }
            Err(_) => {
                self.dropped.malformed += 1;
                None
            }
        };
        if let Some(Noted::JobOver | Noted::Parked(Parked::Next)) = answered {
            // The node does not wait for this answer any more, but the stream's next question waits for its end.
            session.release_watcher();
        }
        match answered {
            Some(Noted::Answered | Noted::JobOver) => session.answer(thread, &Answer::Noted),
            Some(Noted::Parked(parked)) => {
                if let Some(stream) = session.streams.get_mut(thread) {
                    stream.parked = Some(parked);
                }
            }
            None => {}
        }
        session.flush(thread, socket);
    }
}

enum Noted {
    Answered,
    JobOver,
    Parked(Parked),
}

/// Writes an ask into the book. `None`: it has no place in a session.
fn note(book: &mut Book, node: u32, ask: &Ask<'_>) -> Option<Noted> {
    match *ask {
        Ask::Hello { .. } => return None,
        Ask::Next => {
            book.ready(node);
            return Some(Noted::Parked(Parked::Next));
        }
        Ask::Watch { job } => {
            // Parked in any case: a node whose question is answered asks the next one.
            book.watches(node, job);
            return Some(Noted::Parked(Parked::Watch { job }));
        }
        Ask::Started { job, map } => book.started(node, job, map),
        Ask::Corrected { errors } => book.corrected(node, errors),
        Ask::Ended { job, failure } => {
            book.ended(node, job, &String::from_utf8_lossy(failure));
            return Some(Noted::JobOver);
        }
    }
    Some(Noted::Answered)
}

/// Answers a parked ask if the book has something for it; whether it had.
fn serve(book: &mut Book, node: u32, session: &mut Session, thread: usize, parked: Parked) -> bool {
    match parked {
        Parked::Next => {
            if let Some(order) = book.end_of(node) {
                let answer = if order == NodeOrder::Reset { Answer::Reset } else { Answer::PowerOff };
                session.answer(thread, &answer);
                return true;
            }
            let Some((id, job, place)) = book.work_of(node) else { return false };
            let Stage::Running(start) = &job.stage else { return false };
            let Some(stream) = session.streams.get_mut(thread) else { return false };
            match describe(id, job, start, place, &session.key, stream.reply_buffer()) {
                Ok(bytes) => stream.replied(bytes),
                Err(error) => book.ended(node, id, &error.to_string()),
            }
            true
        }
        Parked::Watch { job } => {
            let Some(order) = book.order_of(node, job) else { return false };
            let answer = match order {
                Order::Signal { rank, signal } => {
                    Answer::Signal { process: rank, signal: u32::try_from(signal).unwrap_or_default() }
                }
                Order::Orphaned => Answer::Orphaned,
            };
            session.answer(thread, &answer);
            true
        }
    }
}
