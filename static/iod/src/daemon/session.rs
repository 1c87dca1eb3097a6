// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A node's session with the daemon: its key, and its two streams of asks.
//!
//! `asks.rs` has one for each node that has greeted. A greeting alone changes nothing, since anybody can repeat an old
//! one: the session counts from its first ask, which only the node can sign.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use tacet_wire::ask::{Answer, WATCHER};
use tacet_wire::client::Ignored;
use tacet_wire::key::{Key, NONCE_BYTES};
use tacet_wire::packet::{Kind, LARGE_PACKET_BYTES, MESSAGE_BYTES, Packet, Party};
use tacet_wire::server::{Event, Server};

use super::node::Means;

/// A node that has not fetched an order is reminded after this time, and again after twice as long, up to the longest.
/// It asks whether its question has come if that is a second ago.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// A node's description of itself, and the nonces of the session.
#[derive(Debug, Clone)]
pub struct Greeting {
    pub boot_nonce: [u8; NONCE_BYTES],
    pub daemon_nonce: [u8; NONCE_BYTES],
    pub means: Means,
}

#[derive(Debug)]
pub struct Session {
    pub key: Key,
    pub greeting: Greeting,
    /// By thread number: the node's own asks, and its watcher's.
    pub streams: [Stream; 2],
    /// The watcher's last answer is an order, and no later question shows that the node has it.
    order_unheard: bool,
    /// When the node is to be reminded, and the pause before that.
    reminder: Option<(Instant, Duration)>,
}

/// Asks of one thread number, one after the other.
#[derive(Debug)]
pub struct Stream {
    server: Server,
    message: Vec<u8>,
    reply: Vec<u8>,
    /// The sender of the packet that began the last message. A packet that anybody may have repeated does not change it.
    peer: Option<SocketAddr>,
    /// An ask without an answer yet.
    pub parked: Option<Parked>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parked {
    Next,
    Watch { job: u32 },
}

impl Session {
    /// `own`: the node's key.
    pub fn new(node: u32, own: &Key, greeting: Greeting) -> Self {
        let key = own.session(node, &greeting.boot_nonce, &greeting.daemon_nonce);
        let streams = [Stream::new(node, 0), Stream::new(node, WATCHER)];
        Session { key, greeting, streams, order_unheard: false, reminder: None }
    }

    /// Takes a packet of this session; the ask's bytes, if it is complete.
    pub fn receive(&mut self, packet: &Packet<'_>, from: SocketAddr) -> std::result::Result<Option<&[u8]>, Ignored> {
        let thread = packet.header.party.thread as usize;
        let stream = self.streams.get_mut(thread).ok_or(Ignored::Misdirected)?;
        let before = stream.server.sequence();
        let event = stream.server.receive(packet, &self.key, &mut stream.message)?;
        if stream.server.sequence() != before {
            stream.peer = Some(from);
            self.order_unheard &= thread != WATCHER as usize;
        }
        match event {
            Event::Message(bytes) => Ok(stream.message.get(..bytes)),
            Event::Nothing | Event::Interrupt => Ok(None),
        }
    }

    /// Answers the ask of a thread. An answer too long for a message is not given; `describe` has checked before.
    pub fn answer(&mut self, thread: usize, answer: &Answer<'_>) {
        if let Some(stream) = self.streams.get_mut(thread)
            && let Some(bytes) = answer.encode(&mut stream.reply)
        {
            stream.replied(bytes);
            self.order_unheard |= matches!(answer, Answer::Signal { .. } | Answer::Orphaned);
        }
    }

    /// A node whose CPUs all compute asks nothing: if its question or the order was lost, nobody repeats it. Any packet
    /// makes the node look, and ask again. `orders`: there is one that it has not been given. Whether one is to be sent.
    pub fn reminds(&mut self, orders: bool, now: Instant) -> bool {
        let [asks, watcher] = &mut self.streams;
        if !self.order_unheard && (!orders || watcher.parked.is_some()) {
            self.reminder = None;
            return false;
        }
        let (due, pause) = *self.reminder.get_or_insert((now + FIRST_PAUSE, FIRST_PAUSE));
        if now < due {
            return false;
        }
        let pause = (2 * pause).min(LONGEST_PAUSE);
        self.reminder = Some((now + pause, pause));
        // It may not have asked for orders in this session.
        watcher.peer = watcher.peer.or(asks.peer);
        watcher.server.remind();
        true
    }

    /// Ends a question for orders to which there will be none.
    pub fn release_watcher(&mut self) {
        let watcher = WATCHER as usize;
        self.order_unheard = false;
        if self.streams.get(watcher).is_some_and(|stream| stream.parked.is_some()) {
            self.answer(watcher, &Answer::Noted);
        }
    }

    /// Sends what is due. A packet that the socket does not take is lost, as any may be.
    pub fn flush(&mut self, thread: usize, socket: &UdpSocket) {
        let Some(stream) = self.streams.get_mut(thread) else { return };
        let Some(peer) = stream.peer else { return };
        let mut datagram = [0; LARGE_PACKET_BYTES];
        while let Some(bytes) = stream.server.next_packet(&self.key, &stream.reply, &mut datagram) {
            let _ = datagram.get(..bytes).map(|datagram| socket.send_to(datagram, peer));
        }
    }
}

impl Stream {
    fn new(node: u32, thread: u32) -> Self {
        let party = Party { node, thread, ..Party::default() };
        Stream {
            server: Server::new(Kind::Ask, party),
            message: vec![0; MESSAGE_BYTES],
            reply: vec![0; MESSAGE_BYTES],
            peer: None,
            parked: None,
        }
    }

    pub fn reply_buffer(&mut self) -> &mut [u8] {
        &mut self.reply
    }

    /// The reply buffer's first `bytes` are the answer.
    pub fn replied(&mut self, bytes: usize) {
        self.parked = None;
        let _ = self.server.reply(bytes);
    }
}
