// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packets on a line of bytes: port and length, two bytes each, the lowest first, then the packet.
//!
//! The other end of the line sends them on to that port, and puts the port of the sender in front of an answer.

use crate::machine::{Console, Machine};
use tacet_wire::packet::LARGE_PACKET_BYTES;

const HEAD_BYTES: usize = 4;

pub struct Frames {
    console: Console,
    /// The frame that is coming, as far as it has come.
    frame: &'static mut [u8],
    come: usize,
    leaving: &'static mut [u8],
}

impl Frames {
    /// `None`: too little memory.
    pub fn open(machine: &mut Machine, console: Console) -> Option<Self> {
        let mut buffer = || machine.keep_bytes(HEAD_BYTES + LARGE_PACKET_BYTES);
        Some(Self { console, frame: buffer()?, come: 0, leaving: buffer()? })
    }

    pub fn has_room(&mut self) -> bool {
        self.console.has_room()
    }

    pub fn send(&mut self, port: u16, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<()> {
        let (head, packet) = self.leaving.split_at_mut_checked(HEAD_BYTES)?;
        let length = fill(packet)?;
        let ([p0, p1], [l0, l1]) = (port.to_le_bytes(), u16::try_from(length).ok()?.to_le_bytes());
        head.copy_from_slice(&[p0, p1, l0, l1]);
        self.console.send(self.leaving.get(..HEAD_BYTES + length)?);
        Some(())
    }

    pub fn receive(&mut self, take: impl FnOnce(&[u8])) -> Option<()> {
        loop {
            let needed = match self.head() {
                Some(length) if HEAD_BYTES + length <= self.frame.len() => HEAD_BYTES + length,
                // Not a frame: where the next one begins, nobody knows; the line is read until it pauses.
                Some(_) => return self.skip(),
                None => HEAD_BYTES,
            };
            if self.come == needed && self.head().is_some() {
                self.come = 0;
                take(self.frame.get(HEAD_BYTES..needed)?);
                return Some(());
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

    /// The length, if it has come.
    fn head(&self) -> Option<usize> {
        let [_, _, l0, l1] = *self.frame.get(..self.come)?.first_chunk()?;
        Some(u16::from_le_bytes([l0, l1]).into())
    }

    fn skip(&mut self) -> Option<()> {
        self.come = 0;
        while self.console.receive(self.frame) != 0 {}
        None
    }
}
