// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets on a line of bytes: port and length, two bytes each, the lowest first, then the packet.
//!
//! The other end of the line sends them on to that port, and puts the port of the sender in front of an answer.

use tacet_arch::native::alone::{Console, Machine};
use tacet_shipping::packet::LARGE_PACKET_BYTES;

const HEAD_BYTES: usize = 4;

pub struct Frames {
    console: Console,
    /// The frame that is coming, as far as it has come.
    frame: &'static mut [u8],
    come: usize,
}

impl Frames {
    /// `None`: too little memory.
    pub fn open(machine: &mut Machine, console: Console) -> Option<Self> {
        Some(Self { console, frame: machine.keep_bytes(HEAD_BYTES + LARGE_PACKET_BYTES)?, come: 0 })
    }

    pub fn send(&mut self, port: u16, packet: &[u8]) -> bool {
        let Some(length) = u16::try_from(packet.len()).ok().filter(|_| packet.len() <= LARGE_PACKET_BYTES) else {
            return false;
        };
        let ([p0, p1], [l0, l1]) = (port.to_le_bytes(), length.to_le_bytes());
        self.console.send(&[p0, p1, l0, l1]);
        self.console.send(packet);
        true
    }

    pub fn receive(&mut self, to: &mut [u8]) -> Option<(u16, usize)> {
        loop {
            let needed = match self.head() {
                Some((_, length)) if HEAD_BYTES + length <= self.frame.len() => HEAD_BYTES + length,
                // Not a frame: where the next one begins, nobody knows; the line is read until it pauses.
                Some(_) => return self.skip(),
                None => HEAD_BYTES,
            };
            if self.come == needed
                && let Some((port, length)) = self.head()
            {
                self.come = 0;
                let packet = self.frame.get(HEAD_BYTES..needed)?;
                if let Some(to) = to.get_mut(..length) {
                    to.copy_from_slice(packet);
                    return Some((port, length));
                }
                continue;
            }
            match self.console.receive(self.frame.get_mut(self.come..needed)?) {
                0 => return None,
                more => self.come += more,
            }
        }
    }

    pub fn listen(&mut self, wanted: bool) -> bool {
        self.console.listen(wanted)
    }

    pub fn interrupts(&self) -> bool {
        self.console.interrupts()
    }

    /// Port and length, if they have come.
    fn head(&self) -> Option<(u16, usize)> {
        let [p0, p1, l0, l1] = *self.frame.get(..self.come)?.first_chunk()?;
        Some((u16::from_le_bytes([p0, p1]), u16::from_le_bytes([l0, l1]).into()))
    }

    fn skip(&mut self) -> Option<(u16, usize)> {
        self.come = 0;
        while self.console.receive(self.frame) != 0 {}
        None
    }
}
