// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one link of all CPUs. A CPU that waits for a reply looks whether anything has come, and hands it to the exchange
//! that it is for, its own or another CPU's.

use crate::network::Endpoint;
use crate::node::Node;
use tacet_arch::native::alone::Machine;
use tacet_shipping::packet::{LARGE_PACKET_BYTES, Packet};

pub struct Link {
    endpoint: Endpoint,
    received: &'static mut [u8],
}

impl Link {
    /// `None`: too little memory.
    pub fn new(machine: &mut Machine, endpoint: Endpoint) -> Option<Self> {
        Some(Self { endpoint, received: machine.keep_bytes(LARGE_PACKET_BYTES)? })
    }

    /// Sends a packet. If the device has no room it is lost, and sent again later.
    pub fn send(&mut self, port: u16, packet: &[u8]) {
        self.endpoint.send(port, packet);
    }
}

impl Node {
    /// Takes what has come in, unless another CPU is about to.
    pub fn poll_link(&self) {
        self.link.try_with(|link| {
            while let Some((_, bytes)) = link.endpoint.receive(link.received) {
                // Not a packet, or not for this node: nobody is told.
                let Some(Ok(packet)) = link.received.get(..bytes).map(Packet::parse) else { continue };
                self.deliver(&packet);
            }
        });
    }

    fn deliver(&self, packet: &Packet<'_>) {
        let slot = u32::from(packet.header.slot);
        match self.cpu(slot) {
            Some(cpu) => cpu.exchange.with(|exchange| exchange.receive(packet)),
            None if slot as usize == self.cpus.len() => self.watch.with(|watch| watch.exchange.receive(packet)),
            None => {}
        }
    }
}
