// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A network interface. One CPU at a time uses it: all that share it put it into a [`Locked`](super::Locked).

use super::machine::Machine;
use super::virtio::{Pair, VERSION_1};
use virtio_drivers::transport::DeviceType;

/// The interface has an address of its own.
const HAS_ADDRESS: u64 = 1 << 5;
/// The address of an interface that has none of its own: a locally administered one, which belongs to no maker.
const ANY_ADDRESS: [u8; 6] = [0x02, b't', b'a', b'c', b'e', b't'];

/// A network interface that sends and receives Ethernet frames.
pub struct Network {
    device: Pair,
    address: [u8; 6],
    /// Bytes before each frame, which ask for nothing when they are zero.
    header: usize,
}

// SAFETY: the device's registers and queues belong to no CPU in particular.
unsafe impl Send for Network {}

impl Network {
    pub(super) fn open(machine: &mut Machine) -> Option<Self> {
        let device = Pair::open(machine, DeviceType::Network, HAS_ADDRESS)?;
        let own = if device.features & HAS_ADDRESS != 0 { device.configuration() } else { None };
        let header = if device.features & VERSION_1 != 0 { 12 } else { 10 };
        Some(Self { device, address: own.unwrap_or(ANY_ADDRESS), header })
    }

    /// Its Ethernet address.
    pub fn address(&self) -> [u8; 6] {
        self.address
    }

    /// Wants an interrupt when a frame comes (`Cpu::listen_to_link`), or none, which is how it begins. True: no frame has
    /// come yet, and the interrupt will tell. False: look; or this device cannot interrupt.
    pub fn listen(&mut self, wanted: bool) -> bool {
        self.device.listen(wanted)
    }

    /// Whether the device can interrupt at all.
    pub fn interrupts(&self) -> bool {
        self.device.interrupts()
    }

    /// Whether the device takes a frame now.
    pub fn has_room(&mut self) -> bool {
        self.device.has_room()
    }

    /// Sends a frame of at most 1,514 bytes. False: the device has no room now, or the frame is too long.
    pub fn send(&mut self, frame: &[u8]) -> bool {
        let (header, bytes) = (self.header, self.header + frame.len());
        frame.len() <= 1514
            && self.device.send(|buffer| {
                if let Some((head, rest)) = buffer.get_mut(..bytes).and_then(|used| used.split_at_mut_checked(header)) {
                    head.fill(0);
                    rest.copy_from_slice(frame);
                }
                bytes
            })
    }

    /// The next frame that came, if there is one, and its length. A longer one than `to` is dropped.
    pub fn receive(&mut self, to: &mut [u8]) -> Option<usize> {
        let header = self.header;
        self.device.receive(|bytes| {
            let frame = bytes.get(header..)?;
            to.get_mut(..frame.len())?.copy_from_slice(frame);
            Some(frame.len())
        })?
    }
}
