// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A network interface. One CPU at a time uses it: all that share it put it into a [`Locked`](super::Locked).

use super::intel::Card;
use super::view::Machine;
use super::virtio_network::VirtioNetwork;

#[expect(clippy::large_enum_variant, reason = "there is one value, and no heap")]
enum Kind {
    Virtio(VirtioNetwork),
    Intel(Card),
}

/// A network interface that sends and receives Ethernet frames.
pub struct Network {
    kind: Kind,
}

// SAFETY: the device's registers, queues and buffers belong to no CPU in particular.
unsafe impl Send for Network {}

/// Calls a function of the kind that there is.
macro_rules! of_kind {
    ($network:expr, $card:ident => $call:expr) => {
        match &mut $network.kind {
            Kind::Virtio($card) => $call,
            Kind::Intel($card) => $call,
        }
    };
}

impl Machine {
    /// The first network interface, if there is one that is known and that nobody has opened yet. Its frames have at most
    /// `frame_bytes` bytes, without their checksum: 1,514 or more, and at most 9,014.
    pub fn network(&mut self, frame_bytes: usize) -> Option<Network> {
        core::mem::take(&mut self.has_network).then(|| Network::open(self, frame_bytes))?
    }
}

impl Network {
    /// A hypervisor's interface, else a card.
    fn open(machine: &mut Machine, frame_bytes: usize) -> Option<Self> {
        let virtio = VirtioNetwork::open(machine, frame_bytes).map(Kind::Virtio);
        let kind = virtio.or_else(|| Card::open(machine, frame_bytes).map(Kind::Intel))?;
        Some(Self { kind })
    }

    /// Its Ethernet address.
    pub fn address(&self) -> [u8; 6] {
        match &self.kind {
            Kind::Virtio(card) => card.address(),
            Kind::Intel(card) => card.address(),
        }
    }

    /// Wants an interrupt when a frame comes (`Cpu::listen_to_link`), or none, which is how it begins. True: no frame has
    /// come yet, and the interrupt will tell. False: look; or this device cannot interrupt.
    pub fn listen(&mut self, wanted: bool) -> bool {
        of_kind!(self, card => card.listen(wanted))
    }

    /// Whether frames to everybody come too, which is how it begins. A virtio device does so at one of the next calls, and
    /// not at all if it cannot choose.
    pub fn hear_broadcasts(&mut self, wanted: bool) {
        of_kind!(self, card => card.hear_broadcasts(wanted));
    }

    /// Whether the device can interrupt at all.
    pub fn interrupts(&self) -> bool {
        match &self.kind {
            Kind::Virtio(card) => card.interrupts(),
            Kind::Intel(card) => card.interrupts(),
        }
    }

    /// Whether the device takes a frame now.
    pub fn has_room(&mut self) -> bool {
        of_kind!(self, card => card.has_room())
    }

    /// Sends a frame. False: the device has no room now, or the frame is too long.
    pub fn send(&mut self, frame: &[u8]) -> bool {
        of_kind!(self, card => card.send(frame))
    }

    /// The next frame that came, if there is one, and its length. A longer one than `to` is dropped.
    pub fn receive(&mut self, to: &mut [u8]) -> Option<usize> {
        of_kind!(self, card => card.receive(to))
    }
}
