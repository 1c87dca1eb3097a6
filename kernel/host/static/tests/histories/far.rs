// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The far end of a history: the daemon, which gives one job and then turns the node off, and the proxies, which perform
//! calls and write down each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tacet_host_static::fake::Far;
use tacet_wire::ask::{Answer, Ask, Refusal, WATCHER};
use tacet_wire::calls::number;
use tacet_wire::demarshal::{Argument, Call, refuse};
use tacet_wire::errno::Errno;
use tacet_wire::job::{Job, Process, Processes, Texts, User};
use tacet_wire::key::Key;
use tacet_wire::packet::{Header, Kind, LARGE_PACKET_BYTES, MESSAGE_BYTES, Packet, Party, flags, seal};
use tacet_wire::program::{OPEN_PROGRAM, Opened};
use tacet_wire::server::{Event, Server};

use crate::program::{SHIPPED, SHIPPED_LONG, SIGUSR1};

pub const DAEMON_PORT: u16 = 4070;
pub const KEY: [u8; 32] = [0x5a; 32];
const PROXY_PORT: u16 = 5000;
const FIRST_PROCESS: u32 = 1000;
const JOB: u32 = 3;
const JOB_SECRET: [u8; 32] = [9; 32];
const FILE: u32 = 3;
const OPEN: u64 = OPEN_PROGRAM as u64;
/// A call of [`crate::program::Step::ShipLong`] is over after so long.
const LONG_NS: u64 = 2_000_000;

/// What a test wants of the far end.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub processes: u32,
    pub yields: bool,
    /// After so many shipped calls of the first process, one at least, the daemon sends it this signal: the program handles
    /// it by then.
    pub signal_after: Option<(usize, u32)>,
    /// After so many shipped calls the first process's proxy is gone: it answers nothing, or refuses.
    pub gone_after: Option<(usize, bool)>,
    /// The node is told to boot again in the end, not to turn itself off.
    pub resets: bool,
    /// CPU 0 executes no program.
    pub service_cpu: bool,
    /// After so many shipped calls `run` is gone.
    pub orphaned_after: Option<usize>,
}

/// What it saw.
#[derive(Debug, Default)]
pub struct Seen {
    /// How often each call was performed, by process and number.
    pub calls: BTreeMap<(u32, u64), u32>,
    /// How often each process said that it ends, and how: status and signal.
    pub ends: BTreeMap<u32, Vec<(u64, u64)>>,
    pub interrupted: u32,
    /// Packets that ask for an answer again.
    pub repeated: u32,
    pub failures: Vec<String>,
    pub ended_jobs: u32,
    pub corrected: u64,
    /// Packets with the question for orders.
    pub questions: u32,
}

struct Talk {
    server: Server,
    key: Key,
    message: Vec<u8>,
    reply: Vec<u8>,
    port: u16,
    /// A call that waits: until when, and what it is.
    waits: Option<(u64, Call)>,
}

impl Talk {
    fn new(kind: Kind, party: Party, key: Key, port: u16) -> Self {
        let (message, reply) = (vec![0; MESSAGE_BYTES], vec![0; MESSAGE_BYTES]);
        Self { server: Server::new(kind, party), key, message, reply, port, waits: None }
    }

    fn reply(&mut self, bytes: usize, send: &mut dyn FnMut(u16, &[u8])) {
        let _ = self.server.reply(bytes);
        self.send(send);
    }

    fn send(&mut self, send: &mut dyn FnMut(u16, &[u8])) {
        let mut datagram = vec![0; LARGE_PACKET_BYTES];
        while let Some(bytes) = self.server.next_packet(&self.key, &self.reply, &mut datagram) {
            send(self.port, &datagram[..bytes]);
        }
    }
}

pub struct FarEnd {
    plan: Plan,
    program: Vec<u8>,
    seen: Arc<Mutex<Seen>>,
    session: Key,
    leader: Talk,
    watch: Talk,
    watch_waits: bool,
    given: bool,
    shipped: usize,
    shipped_by_first: usize,
    signalled: bool,
    threads: BTreeMap<(u32, u32), Talk>,
    now_ns: u64,
}

fn ask_party(thread: u32) -> Party {
    Party { node: 0, thread, ..Party::default() }
}

impl FarEnd {
    pub fn new(plan: Plan, program: Vec<u8>) -> (Self, Arc<Mutex<Seen>>) {
        let seen = Arc::default();
        let key = Key::new(&KEY);
        let far = Self {
            plan,
            program,
            seen: Arc::clone(&seen),
            session: key.clone(),
            leader: Talk::new(Kind::Ask, ask_party(0), key.clone(), DAEMON_PORT),
            watch: Talk::new(Kind::Ask, ask_party(WATCHER), key, DAEMON_PORT),
            watch_waits: false,
            given: false,
            shipped: 0,
            shipped_by_first: 0,
            signalled: false,
            threads: BTreeMap::new(),
            now_ns: 0,
        };
        (far, seen)
    }

    fn seen(&self, note: impl FnOnce(&mut Seen)) {
        note(&mut self.seen.lock().unwrap());
    }

    fn lead(&mut self, packet: &Packet<'_>, send: &mut dyn FnMut(u16, &[u8])) {
        // A greeting is signed with the node's key, everything else with the session's.
        self.leader.key = if packet.is_genuine(&Key::new(&KEY)) { Key::new(&KEY) } else { self.session.clone() };
        let received = self.leader.server.receive(packet, &self.leader.key, &mut self.leader.message);
        if let Ok(Event::Message(bytes)) = received {
            let message = self.leader.message[..bytes].to_vec();
            let bytes = self.answer(Ask::decode(&message).expect("an ask"));
            return self.leader.reply(bytes, send);
        }
        self.leader.send(send);
    }

    fn answer(&mut self, ask: Ask<'_>) -> usize {
        let answer = match ask {
            Ask::Hello { nonce, .. } => {
                let own = [4; _];
                self.session = Key::new(&KEY).session(0, &nonce, &own);
                Answer::Welcome { nonce: own }
            }
            Ask::Next if self.given && self.plan.resets => Answer::Reset,
            Ask::Next if self.given => Answer::PowerOff,
            Ask::Next => {
                self.given = true;
                return self.give_job();
            }
            Ask::Started { .. } | Ask::Watch { .. } => Answer::Noted,
            Ask::Corrected { errors } => {
                self.seen(|seen| seen.corrected += errors);
                Answer::Noted
            }
            Ask::Ended { failure, .. } => {
                self.seen(|seen| {
                    seen.ended_jobs += 1;
                    if !failure.is_empty() {
                        seen.failures.push(String::from_utf8_lossy(failure).into_owned());
                    }
                });
                Answer::Noted
            }
        };
        answer.encode(&mut self.leader.reply).expect("room")
    }

    fn give_job(&mut self) -> usize {
        let processes: Vec<u8> = (0..self.plan.processes)
            .flat_map(|rank| {
                let port = PROXY_PORT + rank as u16;
                Process { port, process_id: FIRST_PROCESS + rank, memory_bytes: 0 }.to_bytes()
            })
            .collect();
        let job = Job {
            id: JOB,
            wrapped_key: self.session.wrapped(JOB, &JOB_SECRET),
            seed: [1; 32],
            flags: if self.plan.yields { tacet_wire::job::YIELD_ON_IO } else { 0 },
            first_rank: 0,
            ranks: self.plan.processes,
            shared_bytes: 0,
            stack_bytes: 0,
            realtime_ns: 5_000_000_000,
            monotonic_ns: 1_000_000_000,
            user: User::default(),
            host_name: b"far",
            program: b"/a.out\0",
            processes: Processes::new(&processes).expect("processes"),
            arguments: Texts::new(b"a.out\0").expect("arguments"),
            environment: Texts::new(b"").expect("an environment"),
        };
        Answer::Job(job).encode(&mut self.leader.reply).expect("room")
    }

    fn take_watch(&mut self, packet: &Packet<'_>, send: &mut dyn FnMut(u16, &[u8])) {
        self.watch.key = self.session.clone();
        self.seen(|seen| seen.questions += 1);
        if let Ok(Event::Message(_)) = self.watch.server.receive(packet, &self.watch.key, &mut self.watch.message) {
            self.watch_waits = true;
        }
        self.watch.send(send);
    }

    /// The order that is due, once.
    fn order(&mut self, send: &mut dyn FnMut(u16, &[u8])) {
        let after = |due: Option<usize>| due.is_some_and(|after| self.shipped >= after);
        let answer = match self.plan.signal_after {
            _ if !self.watch_waits || self.signalled => return,
            Some((calls, signal)) if self.shipped_by_first > calls => Answer::Signal { process: Some(0), signal },
            _ if after(self.plan.orphaned_after) => Answer::Orphaned,
            _ => return,
        };
        (self.signalled, self.watch_waits) = (true, false);
        let bytes = answer.encode(&mut self.watch.reply).expect("room");
        self.watch.reply(bytes, send);
    }

    /// The proxies answer nobody any more.
    fn are_gone(&self, rank: u32) -> bool {
        let gone = self.plan.gone_after.is_some_and(|(after, _)| rank == 0 && self.shipped >= after);
        gone || self.signalled && self.plan.orphaned_after.is_some()
    }

    fn proxy(&mut self, packet: &Packet<'_>, send: &mut dyn FnMut(u16, &[u8])) {
        let party = packet.header.party;
        let port = PROXY_PORT + party.process as u16;
        let key = Key::new(&JOB_SECRET);
        if self.are_gone(party.process) {
            if self.plan.gone_after.is_some_and(|(_, refuses)| refuses) {
                refuse_packet(packet, &key, port, send);
            }
            return;
        }
        let mut talk = self
            .threads
            .remove(&(party.process, party.thread))
            .unwrap_or_else(|| Talk::new(Kind::Call, party, key, port));
        match talk.server.receive(packet, &talk.key, &mut talk.message) {
            Ok(Event::Message(bytes)) => self.perform(&mut talk, bytes, party.process),
            Ok(Event::Interrupt) => {
                if let Some((_, call)) = talk.waits.take() {
                    self.seen(|seen| seen.interrupted += 1);
                    let bytes = call.reply(Errno::RESTART, 0, false, &mut talk.reply);
                    let _ = talk.server.reply(bytes);
                }
            }
            Ok(Event::Nothing) | Err(_) => {}
        }
        talk.send(send);
        self.threads.insert((party.process, party.thread), talk);
    }

    fn perform(&mut self, talk: &mut Talk, bytes: usize, rank: u32) {
        let message = talk.message[..bytes].to_vec();
        let call = match Call::decode(&message, FIRST_PROCESS + rank, &mut talk.reply) {
            Ok(call) => call,
            Err(errno) => {
                let bytes = refuse(errno, 0, &mut talk.reply);
                let _ = talk.server.reply(bytes);
                return;
            }
        };
        let value = |index: usize| match call.arguments[index] {
            Argument::Value(value) => value,
            _ => 0,
        };
        let (first, second) = (value(0), value(1));
        let result = match u64::from(call.number) {
            OPEN => self.open(&call, &mut talk.reply),
            number::PREAD64 => self.read(&call, value(3), &mut talk.reply),
            number::LSEEK if first == SHIPPED || first == SHIPPED_LONG => {
                self.shipped += 1;
                self.shipped_by_first += usize::from(rank == 0);
                self.seen(|seen| *seen.calls.entry((rank, second)).or_default() += 1);
                if first == SHIPPED_LONG {
                    talk.waits = Some((self.now_ns + LONG_NS, call));
                    return;
                }
                0
            }
            number::EXIT_GROUP => {
                self.seen(|seen| seen.ends.entry(rank).or_default().push((first, second)));
                0
            }
            number::CLOSE_RANGE | number::EXIT | number::WRITE => 0,
            other => panic!("a call that no history makes: {other}"),
        };
        let bytes = call.reply(result, 0, false, &mut talk.reply);
        let _ = talk.server.reply(bytes);
    }

    fn open(&self, call: &Call, reply: &mut [u8]) -> i64 {
        let Argument::Output(span) = call.arguments[1] else { return -14 };
        let room = span.of_mut(reply);
        let opened =
            Opened { descriptor: Some(FILE), bytes: self.program.len() as u64, path: b"/a.out", beginning: &[] };
        let head = opened.encode_head(room).expect("room");
        let bytes = self.program.len().min(room.len() - head);
        room[head..head + bytes].copy_from_slice(&self.program[..bytes]);
        (head + bytes) as i64
    }

    fn read(&self, call: &Call, offset: u64, reply: &mut [u8]) -> i64 {
        let Argument::Output(span) = call.arguments[1] else { return -14 };
        let part = self.program.get(offset as usize..).unwrap_or(&[]);
        let bytes = part.len().min(span.bytes);
        span.of_mut(reply)[..bytes].copy_from_slice(&part[..bytes]);
        bytes as i64
    }
}

/// Somebody at the port says that there is no job.
fn refuse_packet(packet: &Packet<'_>, key: &Key, port: u16, send: &mut dyn FnMut(u16, &[u8])) {
    let payload = Refusal::NoJob.encode(packet.tag());
    let header = Header {
        kind: Kind::Refusal,
        bytes: payload.len() as u32,
        have: 0,
        flags: 0,
        index: 0,
        count: 1,
        ..packet.header
    };
    let mut datagram = vec![0; LARGE_PACKET_BYTES];
    if let Some(bytes) = seal(&header, &payload, key, &mut datagram) {
        send(port, &datagram[..bytes]);
    }
}

impl Far for FarEnd {
    fn packet(&mut self, port: u16, packet: &[u8], send: &mut dyn FnMut(u16, &[u8])) {
        let packet = Packet::parse(packet).expect("a packet of the node's");
        self.seen(|seen| seen.repeated += u32::from(packet.header.flags & flags::ASK != 0));
        match (port, packet.header.party.thread) {
            (DAEMON_PORT, WATCHER) => self.take_watch(&packet, send),
            (DAEMON_PORT, _) => self.lead(&packet, send),
            _ => self.proxy(&packet, send),
        }
    }

    fn act(&mut self, now_ns: u64, send: &mut dyn FnMut(u16, &[u8])) -> Option<u64> {
        self.now_ns = now_ns;
        self.order(send);
        let mut next = None;
        let gone = [self.are_gone(0), self.are_gone(1)];
        for ((rank, _), talk) in &mut self.threads {
            let Some((until, call)) = talk.waits.filter(|_| !gone[usize::from(*rank != 0)]) else { continue };
            if until > now_ns {
                next = Some(next.map_or(until, |next: u64| next.min(until)));
                continue;
            }
            talk.waits = None;
            let bytes = call.reply(0, 0, false, &mut talk.reply);
            talk.reply(bytes, send);
        }
        next
    }
}

/// Signals that a process dies of, as `ends` tells them.
pub const SIGKILL: u64 = 9;
pub const HANDLED: u32 = SIGUSR1 as u32;
