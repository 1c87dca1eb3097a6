// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ways to other nodes. One CPU at a time uses them: all that share one put it into a [`Locked`](super::Locked).

use super::machine::Machine;
use super::serial::{COM2, Port};

/// A network interface that sends and receives Ethernet frames.
pub struct Network {
    address: [u8; 6],
}

impl Network {
    pub(super) fn open(_: &mut Machine) -> Option<Self> {
        None
    }

    /// Its Ethernet address.
    pub fn address(&self) -> [u8; 6] {
        self.address
    }

    /// Sends a frame of at most 1,514 bytes. False: the device has no room now, or the frame is too long.
    pub fn send(&mut self, frame: &[u8]) -> bool {
        let _ = frame;
        false
    }

    /// The next frame that came, if there is one, and its length. A longer one than `to` is dropped.
    pub fn receive(&mut self, to: &mut [u8]) -> Option<usize> {
        let _ = to;
        None
    }
}

/// A line of bytes.
pub struct Console {
    port: Port,
}

impl Console {
    pub(super) fn open_virtio(_: &mut Machine) -> Option<Self> {
        None
    }

    pub(super) fn open_serial() -> Option<Self> {
        COM2.exists().then(|| {
            COM2.begin();
            Self { port: COM2 }
        })
    }

    /// Sends all bytes; waits while the device has no room.
    pub fn send(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.port.write(byte);
        }
    }

    /// Takes bytes that came, at most as many as fit into `to`; how many.
    pub fn receive(&mut self, to: &mut [u8]) -> usize {
        let mut count = 0;
        for slot in to {
            let Some(byte) = self.port.read() else { break };
            *slot = byte;
            count += 1;
        }
        count
    }
}
