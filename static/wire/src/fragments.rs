// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One message in fragments: which the receiver has, and which the sender still has to send.
//!
//! `client.rs` and `server.rs` have one of each.

use crate::packet::{HEADER_BYTES, Header, LARGE_MESSAGE_BYTES, MAX_FRAGMENTS, MESSAGE_BYTES, PACKET_BYTES, Packet};

/// The sizes of packets must let each message fit that may go over any link.
const _: () = assert!((PACKET_BYTES - HEADER_BYTES) * MAX_FRAGMENTS >= MESSAGE_BYTES);

/// A message that comes in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Incoming {
    count: u16,
    bytes: u32,
    fragment_bytes: usize,
    have: u64,
}

impl Incoming {
    pub(crate) fn have(&self) -> u64 {
        self.have
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.count != 0
    }

    /// The message's length, once all of it is there.
    pub(crate) fn complete(&self) -> Option<usize> {
        (self.has_begun() && self.have == mask(self.count)).then_some(self.bytes as usize)
    }

    /// Puts a genuine packet's fragment where it belongs. `None`: it is not of this message, or does not fit.
    pub(crate) fn accept(&mut self, packet: &Packet<'_>, buffer: &mut [u8]) -> Option<()> {
        let Header { index, count, bytes, .. } = packet.header;
        let fragment_bytes = packet.fragment_bytes();
        if !self.has_begun() {
            *self = Self { count, bytes, fragment_bytes, have: 0 };
        }
        if (self.count, self.bytes, self.fragment_bytes) != (count, bytes, fragment_bytes) {
            return None;
        }
        let bit = 1 << index;
        if self.have & bit == 0 {
            let payload = packet.payload();
            let end = packet.offset().checked_add(payload.len())?;
            buffer.get_mut(packet.offset()..end)?.copy_from_slice(payload);
            self.have |= bit;
        }
        Some(())
    }
}

/// A message that goes out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outgoing {
    count: u16,
    bytes: u32,
    fragment_bytes: usize,
    /// The fragments to send next.
    due: u64,
    /// The fragments that the other end is known to have.
    acknowledged: u64,
}

impl Outgoing {
    /// All fragments are due. `packet_bytes`: the longest packet that the link takes.
    pub(crate) fn new(bytes: usize, packet_bytes: usize) -> Option<Self> {
        let fragment_bytes = packet_bytes.max(PACKET_BYTES) - HEADER_BYTES;
        let count = bytes.div_ceil(fragment_bytes);
        let most = if packet_bytes > PACKET_BYTES { LARGE_MESSAGE_BYTES } else { MESSAGE_BYTES };
        if bytes == 0 || bytes > most || count > MAX_FRAGMENTS {
            return None;
        }
        let count = u16::try_from(count).ok()?;
        Some(Self { count, bytes: u32::try_from(bytes).ok()?, fragment_bytes, due: mask(count), acknowledged: 0 })
    }

    pub(crate) fn acknowledge(&mut self, have: u64) {
        self.acknowledged |= have & mask(self.count);
        self.due &= !self.acknowledged;
    }

    pub(crate) fn acknowledge_all(&mut self) {
        self.acknowledge(u64::MAX);
    }

    /// The fragments that the other end lacks are due again.
    pub(crate) fn send_again(&mut self) {
        self.due = mask(self.count) & !self.acknowledged;
    }

    /// The next fragment that is due, with its part of `message`; it is due no longer.
    pub(crate) fn next<'m>(&mut self, message: &'m [u8]) -> Option<(Fragment, &'m [u8])> {
        let next = self.lowest(self.due, message);
        self.due &= self.due.wrapping_sub(1);
        next
    }

    /// The first fragment that the other end may lack.
    pub(crate) fn first_missing<'m>(&self, message: &'m [u8]) -> Option<(Fragment, &'m [u8])> {
        self.lowest(mask(self.count) & !self.acknowledged, message)
    }

    fn lowest<'m>(&self, of: u64, message: &'m [u8]) -> Option<(Fragment, &'m [u8])> {
        if of == 0 {
            return None;
        }
        let index = of.trailing_zeros();
        let start = index as usize * self.fragment_bytes;
        let end = (start + self.fragment_bytes).min(self.bytes as usize);
        let fragment = Fragment { index: u16::try_from(index).ok()?, count: self.count, bytes: self.bytes };
        Some((fragment, message.get(start..end)?))
    }
}

/// A header's account of its fragment; by default, that there is none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fragment {
    pub(crate) index: u16,
    pub(crate) count: u16,
    pub(crate) bytes: u32,
}

/// Whether this packet brings a message's last fragment.
pub(crate) fn is_last(header: &Header) -> bool {
    header.count != 0 && header.index == header.count - 1
}

fn mask(count: u16) -> u64 {
    match count {
        0 => 0,
        1..64 => (1 << count) - 1,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::LARGE_PACKET_BYTES;

    /// Each fragment has a bit.
    #[test]
    fn a_large_message_needs_long_packets() {
        assert!(Outgoing::new(MESSAGE_BYTES, PACKET_BYTES).is_some());
        assert!(Outgoing::new(LARGE_MESSAGE_BYTES, PACKET_BYTES).is_none());
        assert!(Outgoing::new(LARGE_MESSAGE_BYTES, LARGE_PACKET_BYTES).is_some());
        assert!(Outgoing::new(LARGE_MESSAGE_BYTES + 1, LARGE_PACKET_BYTES).is_none());
    }
}
