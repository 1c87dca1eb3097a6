// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One compute thread as its proxy sees it: the exchange of its calls, and what its proxy thread does now.
//!
//! The receiver fills the exchange, the proxy thread empties it, the sender reads it; each under its lock. A thread that
//! has ended keeps its last reply, since the node may ask for it again, and serves no more calls: an old packet of it
//! cannot bring it back.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use nix::unistd::{Pid, gettid};
use tacet_wire::client::Ignored;
use tacet_wire::demarshal::DONE;
use tacet_wire::key::Key;
use tacet_wire::packet::{
    HEADER_BYTES, Header, Kind, LARGE_MESSAGE_BYTES, LARGE_PACKET_BYTES, MESSAGE_BYTES, Packet, Party, seal,
};
use tacet_wire::server::{Event, Server};

use super::raw;

#[derive(Debug)]
pub struct Thread {
    number: u32,
    exchange: Mutex<Exchange>,
    /// A call waits for the proxy thread.
    due: Condvar,
    /// Written once by the proxy thread.
    worker: OnceLock<Pid>,
    /// The proxy thread has been asked for. Only the receiver and the thread maker touch it, and a doubled request is
    /// impossible: the maker clears it before it answers the call.
    has_worker: AtomicBool,
    /// Set by the proxy thread around a call; read by the service threads, which may interrupt it. A late look is
    /// harmless: an interruption is repeated while it is wanted, and does nothing outside of a call.
    in_call: AtomicBool,
    /// Set when a call is interrupted; read by the proxy thread after the call.
    kicked: AtomicBool,
}

#[derive(Debug)]
struct Exchange {
    server: Server,
    /// The two are with the proxy thread while it works.
    message: Vec<u8>,
    reply: Vec<u8>,
    /// For packets that leave.
    datagram: Vec<u8>,
    /// The message's length, until the proxy thread takes it.
    waiting: Option<usize>,
    /// The sender of the packet that began the last call. A packet that anybody may have repeated does not change it.
    peer: Option<SocketAddr>,
}

/// A call, and the place for its reply.
#[derive(Debug)]
pub struct Call {
    pub message: Vec<u8>,
    pub bytes: usize,
    pub reply: Vec<u8>,
}

/// The effect of a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    Nothing,
    Call,
    Interrupt,
}

impl Thread {
    pub fn new(party: Party) -> Self {
        let exchange = Exchange {
            server: Server::new(Kind::Call, party),
            message: vec![0; MESSAGE_BYTES],
            reply: vec![0; LARGE_MESSAGE_BYTES],
            datagram: vec![0; LARGE_PACKET_BYTES],
            waiting: None,
            peer: None,
        };
        Thread {
            number: party.thread,
            exchange: Mutex::new(exchange),
            due: Condvar::new(),
            worker: OnceLock::new(),
            has_worker: AtomicBool::new(false),
            in_call: AtomicBool::new(false),
            kicked: AtomicBool::new(false),
        }
    }

    /// As the node counts them.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Takes a packet, then sends what is due.
    pub fn receive(
        &self,
        packet: &Packet<'_>,
        key: &Key,
        from: SocketAddr,
        send: impl FnMut(&[u8], SocketAddr),
    ) -> Result<Received, Ignored> {
        let mut exchange = self.lock();
        let Exchange { server, message, .. } = &mut *exchange;
        let before = server.sequence();
        let event = server.receive(packet, key, message)?;
        if server.sequence() != before {
            exchange.peer = Some(from);
        }
        exchange.send(key, send);
        Ok(match event {
            Event::Nothing => Received::Nothing,
            Event::Interrupt => Received::Interrupt,
            Event::Message(bytes) => {
                exchange.waiting = Some(bytes);
                self.due.notify_one();
                Received::Call
            }
        })
    }

    /// Whether the caller must now ask for the proxy thread.
    pub fn wants_worker(&self) -> bool {
        !self.has_worker.swap(true, Ordering::Relaxed)
    }

    /// There is no proxy thread. The next call asks again.
    pub fn has_no_worker(&self) {
        self.has_worker.store(false, Ordering::Relaxed);
    }

    /// The proxy thread begins.
    pub fn work_here(&self) {
        let _ = self.worker.set(gettid());
    }

    /// The next call; waits for it.
    pub fn next_call(&self) -> Call {
        let mut exchange = self.lock();
        loop {
            if let Some(bytes) = exchange.waiting.take() {
                let (message, reply) = (std::mem::take(&mut exchange.message), std::mem::take(&mut exchange.reply));
                return Call { message, bytes, reply };
            }
            exchange = self.due.wait(exchange).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The call is done; the reply is the first `bytes` of its buffer.
    pub fn reply(&self, call: Call, bytes: usize) {
        let mut exchange = self.lock();
        exchange.message = call.message;
        exchange.reply = call.reply;
        let _ = exchange.server.reply(bytes);
    }

    /// The thread's last call is done, as in `reply`; the thread needs no large buffers any more.
    pub fn last_reply(&self, mut call: Call, bytes: usize) {
        call.message = Vec::new();
        call.reply.truncate(bytes);
        call.reply.shrink_to_fit();
        self.lock().datagram = vec![0; HEADER_BYTES + bytes];
        self.reply(call, bytes);
    }

    pub fn send(&self, key: &Key, send: impl FnMut(&[u8], SocketAddr)) {
        self.lock().send(key, send);
    }

    /// Marks that a call is performed now, for as long as `perform` takes.
    pub fn while_in_call<T>(&self, perform: impl FnOnce() -> T) -> T {
        self.kicked.store(false, Ordering::SeqCst);
        self.in_call.store(true, Ordering::SeqCst);
        let result = perform();
        self.in_call.store(false, Ordering::SeqCst);
        result
    }

    pub fn is_in_call(&self) -> bool {
        self.in_call.load(Ordering::SeqCst)
    }

    /// Whether somebody has interrupted the call that is performed now.
    pub fn is_kicked(&self) -> bool {
        self.kicked.load(Ordering::SeqCst)
    }

    /// Lets a blocked call end early. The call may not have blocked yet, so the caller repeats this.
    pub fn interrupt(&self) {
        if self.is_in_call()
            && let Some(worker) = self.worker.get()
        {
            self.kicked.store(true, Ordering::SeqCst);
            raw::kick(*worker);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reply's length in [`last_reply`].
pub const LAST_REPLY_BYTES: usize = HEADER_BYTES + DONE.len();

/// The reply to the last call of a thread of which only the number is left, for a packet that asks for it.
pub fn last_reply(packet: &Packet<'_>, key: &Key) -> Option<[u8; LAST_REPLY_BYTES]> {
    let bytes = u32::try_from(DONE.len()).ok()?;
    let header = Header { kind: Kind::Reply, index: 0, count: 1, flags: 0, bytes, have: 0, ..packet.header };
    let mut datagram = [0; LAST_REPLY_BYTES];
    let asks = packet.header.kind == Kind::Call;
    asks.then(|| seal(&header, &DONE, key, &mut datagram))?.map(|_| datagram)
}

impl Exchange {
    fn send(&mut self, key: &Key, mut send: impl FnMut(&[u8], SocketAddr)) {
        let Some(peer) = self.peer else { return };
        let Self { server, reply, datagram, .. } = self;
        while let Some(bytes) = server.next_packet(key, reply, datagram) {
            if let Some(datagram) = datagram.get(..bytes) {
                send(datagram, peer);
            }
        }
    }
}
