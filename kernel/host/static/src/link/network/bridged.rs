// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets in Ethernet frames to the other end of an emulated cable: in each, a port of two bytes, the lowest first, then
//! the packet.
//!
//! The other end (`static/nodes/src/bridge.rs`) sends them on to that port. There are no addresses and no other
//! participants, and a frame is as long as its packet, so nothing of the network is executed here.

use crate::machine::{Cable, Machine};
use tacet_wire::packet::LARGE_PACKET_BYTES;

/// Two addresses, which nobody reads, the type of frames of local experiments (IEEE 802), and the port.
const HEAD_BYTES: usize = 16;
const TYPE: [u8; 2] = [0x88, 0xb5];

pub struct Bridged(Cable);

impl Bridged {
    /// `None`: the machine has no network.
    pub fn open(machine: &mut Machine) -> Option<Self> {
        Cable::open(machine, HEAD_BYTES + LARGE_PACKET_BYTES).map(Self)
    }

    pub fn has_room(&mut self) -> bool {
        self.0.has_room()
    }

    pub fn send(&mut self, port: u16, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        self.0.send(|frame| {
            let (head, packet) = frame.split_first_chunk_mut::<HEAD_BYTES>()?;
            let ([t0, t1], [p0, p1]) = (TYPE, port.to_le_bytes());
            *head = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, t0, t1, p0, p1];
            let most = packet.len().min(LARGE_PACKET_BYTES);
            Some(HEAD_BYTES + fill(packet.get_mut(..most)?)?)
        })
    }

    pub fn receive(&mut self, take: impl FnOnce(&[u8])) -> Option<()> {
        self.0.receive(|frame| take(frame.get(HEAD_BYTES..).unwrap_or_default()))
    }

    pub fn listen(&mut self, wanted: bool) -> bool {
        self.0.listen(wanted)
    }

    pub fn interrupts(&self) -> bool {
        self.0.interrupts()
    }
}
