// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The service threads of a proxy: one receives packets, one sends replies, one takes signals, one waits for the
//! parent's end. They share a descriptor table that the program cannot reach.
//!
//! Nothing here performs a call, so a blocked call of one thread delays no other.

use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tacet_wire::client::Ignored;
use tacet_wire::key::Key;
use tacet_wire::packet::{LARGE_PACKET_BYTES, Packet, Party};

use super::perform::End;
use super::signals::{Pending, take_signals};
use super::thread::{Received, Thread, last_reply};
use super::threads::{Found, Threads};
use super::{Note, Orders, READY, raw, spawn};
use crate::control::{Dropped, send};
use crate::daemon::is_transient;
use crate::error::{Error, Result};

/// A compute thread without a proxy thread.
pub type Request = (Arc<Service>, Arc<Thread>);

#[derive(Debug)]
pub struct Service {
    socket: UdpSocket,
    stream: UnixStream,
    key: Key,
    /// The process; `thread` is 0.
    party: Party,
    threads: Mutex<Threads>,
    dropped: Mutex<Dropped>,
    pub pending: Pending,
    requests: Sender<Request>,
    outbox: Sender<Outgoing>,
}

#[derive(Debug)]
enum Outgoing {
    Reply(Arc<Thread>),
    /// The last reply of the process.
    End(Arc<Thread>, End),
}

impl Service {
    /// Starts all service threads but the receiver, which is the caller.
    pub fn start(
        socket: UdpSocket,
        stream: UnixStream,
        orders: &Orders,
        mut key: Key,
        requests: Sender<Request>,
    ) -> Result<Arc<Self>> {
        key.prepare();
        let party = Party { node: orders.node, job: orders.job, process: orders.rank, thread: 0 };
        let (outbox, replies) = channel();
        let service = Arc::new(Service {
            socket,
            stream,
            key,
            party,
            threads: Mutex::default(),
            dropped: Mutex::default(),
            pending: Pending::default(),
            requests,
            outbox,
        });
        let (sender, taker, waiter) = (Arc::clone(&service), Arc::clone(&service), Arc::clone(&service));
        spawn("send", move || sender.send_replies(&replies))?;
        spawn("signals", move || take_signals(&taker))?;
        spawn("parent", move || waiter.wait_for_parent())?;
        Ok(service)
    }

    pub fn say_ready(&self) -> Result<()> {
        let gone = |error| Error::new("proxy", error, "start it by `tacet static run`");
        (&self.stream).write_all(&READY).map_err(gone)
    }

    /// Takes packets until the process ends.
    pub fn receive(self: Arc<Self>) {
        let mut datagram = vec![0; LARGE_PACKET_BYTES];
        loop {
            match self.socket.recv_from(&mut datagram) {
                Ok((bytes, from)) => {
                    if let Some(datagram) = datagram.get(..bytes) {
                        self.take(datagram, from);
                    }
                }
                Err(error) if is_transient(&error) => {}
                Err(_) => return,
            }
        }
    }

    /// A reply of this thread is ready to go.
    pub fn replied(&self, thread: &Arc<Thread>) {
        let _ = self.outbox.send(Outgoing::Reply(Arc::clone(thread)));
    }

    /// The last reply of the process is ready to go; then the process ends.
    pub fn end(&self, thread: &Arc<Thread>, end: End) {
        let _ = self.outbox.send(Outgoing::End(Arc::clone(thread), end));
    }

    /// Interrupts one blocked call, the one of the lowest thread number. `false`: no thread is in a call.
    pub fn interrupt_one(&self) -> bool {
        let threads = self.threads();
        threads.first_in_call().map(|thread| thread.interrupt()).is_some()
    }

    /// Gives the signals that wait to the parent, which knows another way to the node. Without a way they come back.
    pub fn hand_over(&self) {
        match self.pending.take() {
            0 => {}
            signals => self.tell(Note::Signals(signals)),
        }
    }

    /// This thread has had its last call.
    pub fn thread_ended(&self, thread: &Arc<Thread>) {
        self.threads().end(thread.number());
    }

    fn take(self: &Arc<Self>, datagram: &[u8], from: SocketAddr) {
        let Ok(packet) = Packet::parse(datagram) else {
            self.dropped().malformed += 1;
            return;
        };
        let number = packet.header.party.thread;
        let known = self.threads().find(number);
        let thread = match known {
            Found::Alive(thread) => thread,
            Found::Ended => {
                self.dropped().stale += 1;
                self.end_again(&packet, from);
                return;
            }
            Found::Unknown => match self.new_thread(&packet) {
                Some(thread) => thread,
                None => {
                    self.dropped().strangers += 1;
                    return;
                }
            },
        };
        match thread.receive(&packet, &self.key, from, |datagram, to| self.send(datagram, to)) {
            Ok(Received::Nothing) => {}
            Ok(Received::Interrupt) => thread.interrupt(),
            Ok(Received::Call) => {
                if thread.wants_worker() {
                    let _ = self.requests.send((Arc::clone(self), thread));
                }
            }
            Err(Ignored::Stale) => self.dropped().stale += 1,
            Err(Ignored::Sizes) => self.dropped().malformed += 1,
            Err(Ignored::Forged | Ignored::Misdirected) => self.dropped().strangers += 1,
        }
    }

    /// A thread that has ended long ago has not heard of it: the node lost the reply, and asks for it.
    fn end_again(&self, packet: &Packet<'_>, from: SocketAddr) {
        if self.is_of_the_process(packet)
            && let Some(datagram) = last_reply(packet, &self.key)
        {
            self.send(&datagram, from);
        }
    }

    /// A thread's first packet, if the process's node has sent it.
    fn new_thread(&self, packet: &Packet<'_>) -> Option<Arc<Thread>> {
        if self.is_of_the_process(packet) { self.threads().begin(packet.header.party) } else { None }
    }

    /// Whether a thread of the process has sent the packet, on its node.
    fn is_of_the_process(&self, packet: &Packet<'_>) -> bool {
        Party { thread: 0, ..packet.header.party } == self.party && packet.is_genuine(&self.key)
    }

    fn send_replies(&self, replies: &Receiver<Outgoing>) {
        for outgoing in replies {
            let (Outgoing::Reply(thread) | Outgoing::End(thread, _)) = &outgoing;
            thread.send(&self.key, |datagram, to| self.send(datagram, to));
            if let Outgoing::End(_, end) = outgoing {
                self.tell(Note::Farewell(*self.dropped()));
                raw::end(end);
            }
        }
    }

    /// A parent that is gone ends the proxy, so it is not missed here.
    pub fn tell(&self, note: Note) {
        let _ = send(&self.stream, &note);
    }

    /// The parent writes nothing more: the stream only ends.
    fn wait_for_parent(&self) {
        let mut byte = [0];
        while matches!((&self.stream).read(&mut byte), Err(error) if is_transient(&error)) {}
        raw::end(End::Signal(libc::SIGKILL));
    }

    /// A packet that the socket does not take is lost, as any may be.
    fn send(&self, datagram: &[u8], to: SocketAddr) {
        let _ = self.socket.send_to(datagram, to);
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dropped(&self) -> MutexGuard<'_, Dropped> {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
