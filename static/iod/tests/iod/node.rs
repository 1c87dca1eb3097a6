// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A node as the daemon and the proxies see it: greets, asks for a job, and ships calls.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tacet_wire::ask::{Answer, Ask, Refusal, WATCHER};
use tacet_wire::client::Client;
use tacet_wire::key::Key;
use tacet_wire::marshal::Shipment;
use tacet_wire::packet::{Kind, LARGE_PACKET_BYTES, MESSAGE_BYTES, PACKET_BYTES, Packet, Party};

use crate::faults::raw;
use crate::memory::Memory;
use crate::processes::set_key;

/// After so long without a packet, a client repeats.
const PATIENCE: Duration = Duration::from_millis(20);

/// One exchange after the other with one receiver.
pub struct Line {
    socket: UdpSocket,
    to: SocketAddr,
    pub key: Key,
    kind: Kind,
    pub party: Party,
    pub sequence: u64,
    client: Client,
    buffer: Vec<u8>,
    /// Every packet that was sent, for those who want to send it again.
    pub sent: Vec<Vec<u8>>,
    /// Asks for the end of the call at each timeout.
    pub interrupt: bool,
}

/// The other end does not serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused(pub Refusal);

impl Line {
    pub fn new(to: SocketAddr, key: Key, kind: Kind, party: Party) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let client = Client::new(7, PACKET_BYTES);
        let (buffer, sent) = (vec![0; MESSAGE_BYTES], Vec::new());
        Line { socket, to, key, kind, party, sequence: 0, client, buffer, sent, interrupt: false }
    }

    /// The first `bytes` of the buffer go, and the reply comes.
    pub fn exchange(&mut self, bytes: usize) -> Result<&[u8], Refused> {
        self.sequence += 1;
        self.exchange_again(bytes)
    }

    /// The same message once more, as if nothing had come.
    fn exchange_again(&mut self, bytes: usize) -> Result<&[u8], Refused> {
        self.client.begin(self.kind, self.party, self.sequence, bytes).expect("a message that fits");
        let mut datagram = [0; LARGE_PACKET_BYTES];
        loop {
            self.send_due();
            let Ok((bytes, _)) = self.socket.recv_from(&mut datagram) else {
                if self.interrupt {
                    self.client.interrupt();
                }
                self.client.timeout();
                continue;
            };
            let Ok(packet) = Packet::parse(&datagram[..bytes]) else { continue };
            let refusers = [&self.key, &set_key().of_node(self.party.node)];
            if let Some(refusal) = refusers.iter().find_map(|key| self.client.receive_refusal(&packet, key)) {
                return Err(Refused(refusal));
            }
            if let Ok(Some(bytes)) = self.client.receive(&packet, &self.key, &mut self.buffer) {
                return Ok(&self.buffer[..bytes]);
            }
        }
    }

    fn send_due(&mut self) {
        let mut datagram = [0; LARGE_PACKET_BYTES];
        while let Some(bytes) = self.client.next_packet(&self.key, &self.buffer, &mut datagram) {
            self.sent.push(datagram[..bytes].to_vec());
            self.socket.send_to(&datagram[..bytes], self.to).expect("a packet leaves");
        }
    }

    /// The next packet, whatever it is, or `None` after a long time without one. The line has not heard it.
    pub fn overhear(&self) -> Option<Vec<u8>> {
        let mut datagram = [0; LARGE_PACKET_BYTES];
        let received = (0..1000).find_map(|_| self.socket.recv_from(&mut datagram).ok());
        received.map(|(bytes, _)| datagram[..bytes].to_vec())
    }

    /// Whether nothing has come.
    pub fn is_silent(&self) -> bool {
        self.socket.recv_from(&mut [0; 1]).is_err()
    }

    /// Sends any bytes to the same receiver, from the same port.
    pub fn throw(&self, datagram: &[u8]) {
        self.throw_to(self.to, datagram);
    }

    pub fn throw_to(&self, to: SocketAddr, datagram: &[u8]) {
        self.socket.send_to(datagram, to).expect("a packet leaves");
    }
}

pub struct Node {
    pub number: u32,
    /// The node's own key: the one on its command line.
    pub own: Key,
    /// Its greeting's and the daemon's: everybody on the network reads them.
    pub nonces: [[u8; 16]; 2],
    pub asks: Line,
    pub watch: Line,
}

/// The part of a job's description that a node keeps.
#[derive(Debug, Clone)]
pub struct Job {
    pub id: u32,
    pub node: u32,
    pub key: Key,
    /// As everybody on the network reads it.
    pub wrapped: [u8; 32],
    pub first_rank: u32,
    pub ranks: u32,
    pub proxies: Vec<(u16, u32)>,
    pub arguments: Vec<Vec<u8>>,
    pub host: Ipv4Addr,
}

impl Node {
    /// Greets the daemon.
    pub fn boot(number: u32, nonce: u8, daemon: SocketAddr) -> Self {
        Self::boot_with(number, nonce, daemon, 4, false)
    }

    /// `service_cpu`: one more CPU would speak while its programs compute.
    pub fn boot_with(number: u32, nonce: u8, daemon: SocketAddr, cpus: u32, service_cpu: bool) -> Self {
        let party = Party { node: number, ..Party::default() };
        let own = set_key().of_node(number);
        let mut hello = Line::new(daemon, own.clone(), Kind::Ask, party);
        let nonce = [nonce; 16];
        let hello_ask = Ask::Hello { nonce, cpus, memory_bytes: 1 << 28, service_cpu };
        let bytes = hello_ask.encode(&mut hello.buffer).unwrap();
        let welcome = hello.exchange(bytes).expect("a welcome");
        let Some(Answer::Welcome { nonce: theirs }) = Answer::decode(welcome) else { panic!("no welcome") };
        let key = own.session(number, &nonce, &theirs);
        let asks = Line::new(daemon, key.clone(), Kind::Ask, party);
        let watch = Line::new(daemon, key, Kind::Ask, Party { thread: WATCHER, ..party });
        Node { number, own, nonces: [nonce, theirs], asks, watch }
    }

    /// Waits for a job.
    pub fn next(&mut self) -> Result<Job, Refused> {
        let bytes = Ask::Next.encode(&mut self.asks.buffer).unwrap();
        let session = self.asks.key.clone();
        let answer = self.asks.exchange(bytes)?;
        let Some(Answer::Job(job)) = Answer::decode(answer) else { panic!("no job") };
        Ok(Job {
            id: job.id,
            node: self.number,
            key: Key::new(&session.wrapped(job.id, &job.wrapped_key)),
            wrapped: job.wrapped_key,
            first_rank: job.first_rank,
            ranks: job.ranks,
            proxies: job.processes.iter().map(|process| (process.port, process.process_id)).collect(),
            arguments: job.arguments.iter().map(<[u8]>::to_vec).collect(),
            host: Ipv4Addr::LOCALHOST,
        })
    }

    /// Asks for a job, and waits for none.
    pub fn wait_for_work(&mut self) {
        let bytes = Ask::Next.encode(&mut self.asks.buffer).unwrap();
        self.asks.sequence += 1;
        self.asks.client.begin(Kind::Ask, self.asks.party, self.asks.sequence, bytes).unwrap();
        self.asks.send_due();
    }

    pub fn started(&mut self, job: u32, map: &[u64]) -> Result<(), Refused> {
        let map: Vec<u8> = map.iter().flat_map(|number| number.to_le_bytes()).collect();
        let ask = Ask::Started { job, map: &map };
        let bytes = ask.encode(&mut self.asks.buffer).unwrap();
        self.noted(bytes)
    }

    pub fn ended(&mut self, job: u32, failure: &str) -> Result<(), Refused> {
        let ask = Ask::Ended { job, failure: failure.as_bytes() };
        let bytes = ask.encode(&mut self.asks.buffer).unwrap();
        self.noted(bytes)
    }

    /// Waits for an order: a signal for all.
    pub fn order(&mut self, job: u32) -> Result<u32, Refused> {
        let (process, signal) = self.order_for(job)?;
        assert_eq!(process, None);
        Ok(signal)
    }

    /// Waits for an order: a rank or all, and a signal.
    pub fn order_for(&mut self, job: u32) -> Result<(Option<u32>, u32), Refused> {
        let bytes = Ask::Watch { job }.encode(&mut self.watch.buffer).unwrap();
        match Answer::decode(self.watch.exchange(bytes)?) {
            Some(Answer::Signal { process, signal }) => Ok((process, signal)),
            other => panic!("{other:?} is no order"),
        }
    }

    /// Waits for the order that ends a job whose `run` is gone.
    pub fn orphaned(&mut self, job: u32) -> Result<(), Refused> {
        let bytes = Ask::Watch { job }.encode(&mut self.watch.buffer).unwrap();
        assert_eq!(Answer::decode(self.watch.exchange(bytes)?), Some(Answer::Orphaned));
        Ok(())
    }

    /// Asks for orders, and waits for none.
    pub fn ask_for_orders(&mut self, job: u32) {
        let bytes = Ask::Watch { job }.encode(&mut self.watch.buffer).unwrap();
        self.watch.sequence += 1;
        self.watch.client.begin(Kind::Ask, self.watch.party, self.watch.sequence, bytes).unwrap();
        self.watch.send_due();
        self.watch.client.abandon();
    }

    /// Waits for the answer to that question after all.
    pub fn repeat_ask_for_orders(&mut self, job: u32) -> u32 {
        let (process, signal) = self.repeat_ask_for_orders_for(job);
        assert_eq!(process, None);
        signal
    }

    pub fn repeat_ask_for_orders_for(&mut self, job: u32) -> (Option<u32>, u32) {
        self.watch.sequence -= 1;
        self.order_for(job).expect("an order")
    }

    fn noted(&mut self, bytes: usize) -> Result<(), Refused> {
        assert_eq!(Answer::decode(self.asks.exchange(bytes)?), Some(Answer::Noted));
        Ok(())
    }
}

impl Job {
    /// A thread of one of the node's processes.
    pub fn thread(&self, process: usize, thread: u32) -> Thread {
        self.thread_by(process, thread, (self.host, self.proxies[process].0).into())
    }

    /// The same, by a relay.
    pub fn thread_by(&self, process: usize, thread: u32, to: SocketAddr) -> Thread {
        let rank = self.first_rank + u32::try_from(process).unwrap();
        let party = Party { node: self.node, job: self.id, process: rank, thread };
        let line = Line::new(to, self.key.clone(), Kind::Call, party);
        Thread { line, memory: Arc::default(), pending: 0, goes_on: None }
    }
}

/// A compute thread: its calls are performed by its proxy thread.
pub struct Thread {
    pub line: Line,
    pub memory: Arc<Memory>,
    /// Signals that replies have brought.
    pub pending: u64,
    /// A call that one of them has ended early goes on, and is counted.
    pub goes_on: Option<Arc<AtomicU32>>,
}

impl Thread {
    /// Ships a call; its result.
    pub fn try_call(&mut self, number: i64, arguments: &[u64]) -> Result<i64, Refused> {
        let mut six = [0; 6];
        six[..arguments.len()].copy_from_slice(arguments);
        match Shipment::new(number as u64, six) {
            Ok(shipment) => self.ship(shipment),
            Err(result) => Ok(result),
        }
    }

    pub fn ship(&mut self, mut shipment: Shipment) -> Result<i64, Refused> {
        loop {
            let bytes = match shipment.request(&*self.memory, &mut self.line.buffer) {
                Ok(bytes) => bytes,
                Err(errno) => return Ok(shipment.failed(errno)),
            };
            let reply = self.line.exchange(bytes)?;
            let finished = shipment.finish(reply, &*self.memory);
            self.pending |= finished.pending;
            match (finished.result, &self.goes_on) {
                (Some(_), Some(count)) if finished.unfinished => {
                    count.fetch_add(1, Ordering::SeqCst);
                    shipment.go_on();
                }
                (Some(result), _) => return Ok(result),
                (None, _) => {}
            }
        }
    }

    /// The last call's packets go once more, since its reply was lost; the result.
    pub fn call_again(&mut self) -> i64 {
        let last = self.line.sent.last().expect("a call").clone();
        let message = Packet::parse(&last).expect("a packet").payload().to_vec();
        self.raw_again(&message)
    }

    fn raw_again(&mut self, message: &[u8]) -> i64 {
        self.line.buffer[..message.len()].copy_from_slice(message);
        let reply = self.line.exchange_again(message.len()).expect("a proxy that serves");
        i64::from_le_bytes(*reply.first_chunk().expect("a result"))
    }

    pub fn call(&mut self, number: i64, arguments: &[u64]) -> i64 {
        self.try_call(number, arguments).expect("a proxy that serves")
    }

    /// Ships a call that a good node would not ship, with these arguments and without buffers; its result.
    pub fn raw_call(&mut self, number: u32, arguments: &[u64; 6]) -> i64 {
        self.raw_message(&raw(number, arguments, [u32::MAX; 6]))
    }

    pub fn raw_message(&mut self, message: &[u8]) -> i64 {
        self.line.sequence += 1;
        self.raw_again(message)
    }

    /// Ends the process.
    pub fn exit(&mut self, status: u64) {
        // A reply that was lost when the proxy ended is a refusal now.
        let _ = self.try_call(libc::SYS_exit_group, &[status, 0]);
    }
}
