// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one link of all CPUs: the way to the I/O node (`network`), and the exchanges of messages over it.
//!
//! A CPU that waits for a reply looks whether anything has come, and hands it to the exchange that it is for, its own or
//! another CPU's. Each CPU has an exchange, for the call of the thread that it runs; the node has one for orders, and spare
//! ones for calls that are shipped while other threads run. A packet names its exchange by the slot: CPUs come first, then
//! the orders, then the spares. The link knows no process, and nothing waits for a reply in the wrong place: locks of
//! exchanges are taken after the line's, never before it.

pub mod exchange;
mod network;
pub mod patience;
pub mod session;
pub mod waiting;

use crate::machine::{Locked, Machine, die};
use exchange::Exchange;
use network::Endpoint;
use tacet_wire::packet::{LARGE_MESSAGE_BYTES, MESSAGE_BYTES, Packet, takes_large};

/// Of the memory, one part in so many is for spare exchanges, and how many there are at most.
const SPARES_PART: u64 = 64;
const MOST_SPARES: u64 = 128;
/// CPUs' exchanges have room for large messages, on a link of long packets, if these are no larger a part of the memory.
const LARGE_PART: u64 = 16;

pub struct Link {
    line: Locked<Line>,
    /// Made one by one, hence the options: all are there.
    exchanges: &'static [Option<Locked<Exchange>>],
    /// How many of them are CPUs'.
    cpus: usize,
}

/// The device: one CPU at a time uses them.
pub(crate) struct Line {
    endpoint: Endpoint,
    /// CPUs that look by themselves.
    lookers: u32,
}

impl Link {
    /// `None`: too little memory.
    pub fn open(machine: &mut Machine, cpus: usize) -> Option<Self> {
        let endpoint = Endpoint::open(machine);
        let packet_bytes = endpoint.packet_bytes();
        let line = Line { endpoint, lookers: 0 };
        let bytes = MESSAGE_BYTES as u64;
        let own = cpus as u64 + 1;
        let largest = cpus as u64 * LARGE_MESSAGE_BYTES as u64;
        let is_large = takes_large(packet_bytes) && largest <= machine.free_bytes() / LARGE_PART;
        let own_bytes = if is_large { LARGE_MESSAGE_BYTES } else { MESSAGE_BYTES };
        let left = machine.free_bytes().saturating_sub(own * own_bytes as u64);
        let spares = (left / SPARES_PART / bytes).min(MOST_SPARES) as usize;
        let exchanges = machine.keep(cpus + 1 + spares, |_| None)?;
        for (slot, exchange) in (0..).zip(exchanges.iter_mut()) {
            let bytes = if usize::from(slot) < cpus { own_bytes } else { MESSAGE_BYTES };
            *exchange = Some(Locked::new(Exchange::new(machine, slot, packet_bytes, bytes)?));
        }
        Some(Self { line: Locked::new(line), exchanges, cpus })
    }

    /// The exchange of a CPU.
    pub fn of_cpu(&self, cpu: u32) -> &'static Locked<Exchange> {
        self.at(cpu as usize)
    }

    /// The exchange for orders.
    pub fn orders(&self) -> &'static Locked<Exchange> {
        self.at(self.cpus)
    }

    /// How many spare exchanges there are.
    pub fn spares(&self) -> usize {
        self.exchanges.len().saturating_sub(self.cpus + 1)
    }

    pub fn spare(&self, number: usize) -> &'static Locked<Exchange> {
        self.at(self.cpus + 1 + number)
    }

    /// A job has ended: none of its calls is under way.
    pub fn forget_job(&self) {
        let orders = self.cpus;
        for (_, exchange) in self.exchanges.iter().enumerate().filter(|(slot, _)| *slot != orders) {
            if let Some(exchange) = exchange {
                exchange.with(Exchange::forget);
            }
        }
    }

    fn at(&self, slot: usize) -> &'static Locked<Exchange> {
        match self.exchanges.get(slot) {
            Some(Some(exchange)) => exchange,
            _ => die(format_args!("there is no exchange {slot}")),
        }
    }

    /// Sends what an exchange has to send. What the device has no room for stays due.
    pub fn send_packets(&self, exchange: &Locked<Exchange>, port: u16) {
        if !exchange.with(|exchange| exchange.is_due()) {
            return;
        }
        self.line.with(|line| exchange.with(|exchange| exchange.send_due(&mut line.endpoint, port)));
    }

    /// Takes what has come in, unless another CPU is about to.
    pub fn poll(&self) {
        self.line.try_with(|line| self.take_packets(line));
    }

    fn take_packets(&self, line: &mut Line) {
        while line.endpoint.receive(|datagram| self.take(datagram)).is_some() {}
    }

    fn take(&self, datagram: &[u8]) {
        // Not a packet, or not for this node: nobody is told.
        let Ok(packet) = Packet::parse(datagram) else { return };
        if let Some(Some(exchange)) = self.exchanges.get(usize::from(packet.header.slot)) {
            exchange.with(|exchange| exchange.receive(&packet));
        }
    }
}
