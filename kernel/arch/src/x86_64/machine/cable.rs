// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A network interface (virtio) as a cable to its emulator: frames of any length, without addresses. One CPU at a time uses
//! it: all that share it put it into a [`Locked`](super::Locked).

use super::view::Machine;
use super::virtio::{Pair, VERSION_1};
use virtio_drivers::transport::DeviceType;

/// Virtio's header before a frame asks for nothing when it is zero; devices of before the standard have a shorter one.
const LONGEST_HEADER: usize = 12;
const ALIGNMENT: usize = 64;

/// A cable.
pub struct Cable {
    device: Pair,
    header: usize,
}

// SAFETY: the device's registers and queues belong to no CPU in particular.
unsafe impl Send for Cable {}

impl Cable {
    /// For frames of at most `frame_bytes` bytes, by the first network interface. `None`: there is none that nobody has
    /// opened yet.
    pub fn open(machine: &mut Machine, frame_bytes: usize) -> Option<Self> {
        if !core::mem::take(&mut machine.has_network) {
            return None;
        }
        let buffer_bytes = (LONGEST_HEADER + frame_bytes).next_multiple_of(ALIGNMENT);
        let device = Pair::open(machine, DeviceType::Network, 0, buffer_bytes)?;
        let header = if device.features & VERSION_1 != 0 { LONGEST_HEADER } else { LONGEST_HEADER - 2 };
        Some(Self { device, header })
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

    /// Sends the frame that `fill` writes, so many bytes as it says. False: it says none, or the device has no room now.
    pub fn send(&mut self, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        let header = self.header;
        self.device.send(|buffer| {
            let (head, frame) = buffer.split_at_mut_checked(header)?;
            head.fill(0);
            Some(header + fill(frame)?)
        })
    }

    /// Gives the next frame that came to `take`, if there is one.
    pub fn receive<R>(&mut self, take: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let header = self.header;
        self.device.receive(|bytes| take(bytes.get(header..).unwrap_or_default()))
    }
}
