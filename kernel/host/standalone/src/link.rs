// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one link of all CPUs. A CPU that waits for a reply looks whether anything has come, and hands it to the exchange
//! that it is for, its own or another CPU's.
//!
//! While no CPU looks, the link interrupts CPU 0, whatever that does: so orders of the daemon reach a node whose CPUs all
//! compute.

use crate::network::Endpoint;
use crate::node::Node;
use tacet_arch::Processor;
use tacet_arch::native::Cpu;
use tacet_arch::native::alone::Machine;
use tacet_core::request;
use tacet_logic::listening::listen_from_now_on;
use tacet_shipping::packet::{LARGE_PACKET_BYTES, Packet};

/// How long a CPU halts between two looks, if the link does not interrupt it.
const LONGEST_HALT_NS: u64 = 2_000_000;

pub struct Link {
    endpoint: Endpoint,
    received: &'static mut [u8],
    /// CPUs that look by themselves.
    lookers: u32,
}

impl Link {
    /// `None`: too little memory.
    pub fn new(machine: &mut Machine, endpoint: Endpoint) -> Option<Self> {
        Some(Self { endpoint, received: machine.keep_bytes(LARGE_PACKET_BYTES)?, lookers: 0 })
    }

    /// Sends a packet. If the device has no room it is lost, and sent again later.
    pub fn send(&mut self, port: u16, packet: &[u8]) {
        self.endpoint.send(port, packet);
    }
}

impl Node {
    /// This CPU looks again and again from here on: the link need not interrupt.
    pub fn begin_looking(&self) {
        self.link.with(|link| {
            link.lookers += 1;
            if link.lookers == 1 {
                link.endpoint.listen(false);
            }
        });
    }

    /// This CPU looks no more. If no CPU looks, the link interrupts when something comes.
    pub fn end_looking(&self, cpu: &Cpu) {
        self.link.with(|link| {
            link.lookers -= 1;
            if link.lookers == 0 {
                let interrupts = link.endpoint.interrupts();
                let listen = |link: &mut Link| link.endpoint.listen(true);
                listen_from_now_on(link, interrupts, listen, |link| self.take_packets(link));
            }
        });
        self.tell_of_orders(cpu);
    }

    /// This CPU, which goes on with something else, may have taken an order: CPU 0 leaves its program and looks.
    pub fn tell_of_orders(&self, cpu: &Cpu) {
        if self.watch.with(|watch| watch.has_answer()) {
            cpu.call(0, request::POSTED);
        }
    }

    /// A CPU that looks halts until something comes, or for so many ticks.
    pub fn halt_until_something_comes(&self, cpu: &Cpu, ticks: u64) {
        let is_rung = cpu.index() == 0 && self.link.with(|link| link.lookers == 1 && link.endpoint.listen(true));
        if is_rung {
            cpu.halt_for_link(ticks);
            self.link.with(|link| link.endpoint.listen(false));
        } else {
            cpu.halt(Some(ticks.min(cpu.ticks(LONGEST_HALT_NS))));
        }
    }

    /// Takes what has come in, unless another CPU is about to.
    pub fn poll_link(&self) {
        self.link.try_with(|link| self.take_packets(link));
    }

    fn take_packets(&self, link: &mut Link) {
        while let Some((_, bytes)) = link.endpoint.receive(link.received) {
            // Not a packet, or not for this node: nobody is told.
            let Some(Ok(packet)) = link.received.get(..bytes).map(Packet::parse) else { continue };
            self.deliver(&packet);
        }
    }

    fn deliver(&self, packet: &Packet<'_>) {
        let slot = u32::from(packet.header.slot);
        match self.cpu(slot) {
            Some(cpu) => cpu.exchange.with(|exchange| exchange.receive(packet)),
            None if slot as usize == self.cpus.len() => self.watch.with(|watch| watch.exchange.receive(packet)),
            None => {
                let spare = (slot as usize).checked_sub(self.cpus.len() + 1).and_then(|spare| self.spares.get(spare));
                if let Some(Some(spare)) = spare {
                    spare.exchange.with(|exchange| exchange.receive(packet));
                }
            }
        }
    }
}
