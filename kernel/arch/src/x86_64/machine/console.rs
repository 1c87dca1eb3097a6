// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A line of bytes to another node: a virtio console, or the second serial port. One CPU at a time uses it: all that
//! share it put it into a [`Locked`](super::Locked).

use super::view::Machine;
use super::serial::{COM2, Port};
use super::virtio::Pair;
use core::hint::spin_loop;
use virtio_drivers::transport::DeviceType;

/// As much as QEMU moves at once.
const BUFFER_BYTES: usize = 4096;

/// How long a sender waits for a device without room before it drops bytes. The protocol above sends them again.
const PATIENCE: u32 = 10_000_000;

#[expect(clippy::large_enum_variant, reason = "there is one value, and no heap")]
enum Device {
    Virtio { pair: Pair, held: &'static mut [u8], from: usize, to: usize },
    Serial(Port),
}

/// A line of bytes.
pub struct Console {
    device: Device,
}

// SAFETY: the device's registers and queues belong to no CPU in particular.
unsafe impl Send for Console {}

impl Machine {
    /// A console for data: the first port of a virtio console. `None`: there is none, or it is open already.
    pub fn console(&mut self) -> Option<Console> {
        core::mem::take(&mut self.has_console).then(|| Console::open_virtio(self))?
    }

    /// The second serial port (COM2) as a console for data. `None`: there is none.
    pub fn serial_link(&mut self) -> Option<Console> {
        Console::open_serial()
    }
}

impl Console {
    fn open_virtio(machine: &mut Machine) -> Option<Self> {
        let pair = Pair::open(machine, DeviceType::Console, 0, BUFFER_BYTES)?;
        let held = machine.keep_bytes(BUFFER_BYTES)?;
        Some(Self { device: Device::Virtio { pair, held, from: 0, to: 0 } })
    }

    fn open_serial() -> Option<Self> {
        COM2.exists().then(|| {
            COM2.begin();
            COM2.route();
            Self { device: Device::Serial(COM2) }
        })
    }

    /// Wants an interrupt when bytes come (`Cpu::listen_to_link`), or none, which is how it begins. True: nothing has come
    /// yet, and the interrupt will tell. False: look; or this device cannot interrupt.
    pub fn listen(&mut self, wanted: bool) -> bool {
        match &mut self.device {
            Device::Serial(port) => port.listen(wanted),
            Device::Virtio { pair, from, to, .. } => pair.listen(wanted) && from == to,
        }
    }

    /// Whether the device can interrupt at all.
    pub fn interrupts(&self) -> bool {
        match &self.device {
            Device::Serial(port) => port.interrupts(),
            Device::Virtio { pair, .. } => pair.interrupts(),
        }
    }

    /// Whether the device takes bytes now.
    pub fn has_room(&mut self) -> bool {
        match &mut self.device {
            Device::Serial(_) => true,
            Device::Virtio { pair, .. } => pair.has_room(),
        }
    }

    /// Sends all bytes; waits while the device has no room.
    pub fn send(&mut self, bytes: &[u8]) {
        match &mut self.device {
            Device::Serial(port) => bytes.iter().for_each(|&byte| port.write(byte)),
            Device::Virtio { pair, .. } => {
                for piece in bytes.chunks(BUFFER_BYTES) {
                    let fill = |buffer: &mut [u8]| {
                        buffer.get_mut(..piece.len())?.copy_from_slice(piece);
                        Some(piece.len())
                    };
                    let mut patience = PATIENCE;
                    while !pair.send(fill) && patience != 0 {
                        patience -= 1;
                        spin_loop();
                    }
                }
            }
        }
    }

    /// Takes bytes that came, at most as many as fit into `to`; how many.
    pub fn receive(&mut self, to: &mut [u8]) -> usize {
        match &mut self.device {
            Device::Serial(port) => {
                let mut slots = to.iter_mut();
                let mut count = 0;
                while let Some(slot) = slots.next()
                    && let Some(byte) = port.read()
                {
                    *slot = byte;
                    count += 1;
                }
                count
            }
            Device::Virtio { pair, held, from, to: end } => {
                if from == end {
                    let arrived = pair.receive(|bytes| {
                        let count = bytes.len().min(held.len());
                        if let (Some(room), Some(bytes)) = (held.get_mut(..count), bytes.get(..count)) {
                            room.copy_from_slice(bytes);
                        }
                        count
                    });
                    (*from, *end) = (0, arrived.unwrap_or(0));
                }
                let bytes = held.get(*from..*end).unwrap_or(&[]);
                let count = bytes.len().min(to.len());
                if let (Some(room), Some(bytes)) = (to.get_mut(..count), bytes.get(..count)) {
                    room.copy_from_slice(bytes);
                }
                *from += count;
                count
            }
        }
    }
}
