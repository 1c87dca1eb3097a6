// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ethernet frames by a virtio device. `network.rs` has the contracts of all these functions.

use super::filter::{FEATURES, Filter};
use super::view::Machine;
use super::virtio::{Pair, VERSION_1};
use virtio_drivers::transport::DeviceType;

/// The longest of virtio's headers, which stand before frames.
const HEADER_BYTES: usize = 12;
/// The interface has an address of its own.
const HAS_ADDRESS: u64 = 1 << 5;
/// The address of an interface that has none of its own: a locally administered one, which belongs to no maker.
const ANY_ADDRESS: [u8; 6] = [0x02, b't', b'a', b'c', b'e', b't'];

/// The interface.
pub struct VirtioNetwork {
    device: Pair,
    address: [u8; 6],
    /// Bytes before each frame, which ask for nothing when they are zero.
    header: usize,
    frame_bytes: usize,
    filter: Filter,
}

impl VirtioNetwork {
    pub fn open(machine: &mut Machine, frame_bytes: usize) -> Option<Self> {
        let buffer_bytes = (HEADER_BYTES + frame_bytes).next_multiple_of(64);
        let device = Pair::open(machine, DeviceType::Network, HAS_ADDRESS | FEATURES, buffer_bytes)?;
        let own = if device.features & HAS_ADDRESS != 0 { device.configuration() } else { None };
        let header = if device.features & VERSION_1 != 0 { HEADER_BYTES } else { 10 };
        let filter = Filter::new(device.features, own.is_some());
        let mut network = Self { device, address: own.unwrap_or(ANY_ADDRESS), header, frame_bytes, filter };
        network.device.command(|| network.filter.next_command());
        Some(network)
    }

    /// As `Network::hear_broadcasts`, if the device can. Most calls find it as it shall be.
    pub fn hear_broadcasts(&mut self, wanted: bool) {
        self.filter.leave_out(!wanted);
        self.device.command(|| self.filter.next_command());
    }

    pub fn address(&self) -> [u8; 6] {
        self.address
    }

    pub fn listen(&mut self, wanted: bool) -> bool {
        self.device.listen(wanted)
    }

    pub fn interrupts(&self) -> bool {
        self.device.interrupts()
    }

    pub fn has_room(&mut self) -> bool {
        self.device.has_room()
    }

    pub fn send(&mut self, frame: &[u8]) -> bool {
        let (header, bytes) = (self.header, self.header + frame.len());
        frame.len() <= self.frame_bytes
            && self.device.send(|buffer| {
                let (head, rest) = buffer.get_mut(..bytes)?.split_at_mut_checked(header)?;
                head.fill(0);
                rest.copy_from_slice(frame);
                Some(bytes)
            })
    }

    pub fn receive(&mut self, to: &mut [u8]) -> Option<usize> {
        let header = self.header;
        self.device.receive(|bytes| {
            let frame = bytes.get(header..)?;
            to.get_mut(..frame.len())?.copy_from_slice(frame);
            Some(frame.len())
        })?
    }
}
