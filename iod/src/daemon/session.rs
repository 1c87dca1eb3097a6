// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A node's session with the daemon: its key, and its two streams of asks.
//!
//! `asks.rs` has one for each node that has greeted. A greeting alone changes nothing, since anybody can repeat an old
//! one: the session counts from its first ask, which only the node can sign.

use std::net::{SocketAddr, UdpSocket};

use tacet_shipping::ask::{Answer, WATCHER};
use tacet_shipping::client::Ignored;
use tacet_shipping::key::{Key, NONCE_BYTES};
use tacet_shipping::packet::{Kind, LARGE_PACKET_BYTES, MESSAGE_BYTES, Packet, Party};
use tacet_shipping::server::{Event, Server};

/// A node's description of itself, and the nonces of the session.
#[derive(Debug, Clone)]
pub struct Greeting {
    pub boot_nonce: [u8; NONCE_BYTES],
    pub daemon_nonce: [u8; NONCE_BYTES],
    pub cpus: u32,
    pub memory_bytes: u64,
}

#[derive(Debug)]
pub struct Session {
    pub key: Key,
    pub greeting: Greeting,
    /// Of the last genuine packet.
    pub address: SocketAddr,
    /// By thread number: the node's own asks, and its watcher's.
    pub streams: [Stream; 2],
}

/// Asks of one thread number, one after the other.
#[derive(Debug)]
pub struct Stream {
    server: Server,
    message: Vec<u8>,
    reply: Vec<u8>,
    /// An ask without an answer yet.
    pub parked: Option<Parked>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parked {
    Next,
    Watch { job: u32 },
}

impl Session {
    pub fn new(node: u32, set: &Key, greeting: Greeting, address: SocketAddr) -> Self {
        let key = set.session(node, &greeting.boot_nonce, &greeting.daemon_nonce);
        Session { key, greeting, address, streams: [Stream::new(node, 0), Stream::new(node, WATCHER)] }
    }

    /// Takes a packet of this session; the ask's bytes, if it is complete.
    pub fn receive(&mut self, packet: &Packet<'_>) -> std::result::Result<Option<&[u8]>, Ignored> {
        let thread = packet.header.party.thread as usize;
        let stream = self.streams.get_mut(thread).ok_or(Ignored::Misdirected)?;
        match stream.server.receive(packet, &self.key, &mut stream.message)? {
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
        }
    }

    /// Ends a question for orders to which there will be none.
    pub fn release_watcher(&mut self) {
        let watcher = WATCHER as usize;
        if self.streams.get(watcher).is_some_and(|stream| stream.parked.is_some()) {
            self.answer(watcher, &Answer::Noted);
        }
    }

    /// Sends what is due. A packet that the socket does not take is lost, as any may be.
    pub fn flush(&mut self, thread: usize, socket: &UdpSocket) {
        let Some(stream) = self.streams.get_mut(thread) else { return };
        let mut datagram = [0; LARGE_PACKET_BYTES];
        while let Some(bytes) = stream.server.next_packet(&self.key, &stream.reply, &mut datagram) {
            let _ = datagram.get(..bytes).map(|datagram| socket.send_to(datagram, self.address));
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
