// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Entries of a submission queue: 64 bytes, as words of 64 bits (NVM Express base specification, "Common Command
//! Format"; NVM command set, "Read" and "Write"). Field by field, because the program must not choose any of them.

use tacet_pico::Direction;

/// An entry.
pub type Command = [u64; 8];

/// Reads or writes this many sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    pub direction: Direction,
    /// The device repeats it in the completion.
    pub number: u16,
    pub namespace: u32,
    pub sector: u64,
    /// At least 1, at most 65,536.
    pub sectors: u32,
    /// What is written is to last when the command is complete ("Force Unit Access").
    pub through: bool,
    pub data: Data,
}

/// Where the data are, at the device's addresses ("Data Pointer").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// The first page, from an offset on; then the second one, or a list of the others (PRP).
    Pages { first: u64, second_or_list: u64 },
    /// One run of bytes (SGL, a data block).
    Segment { address: u64, bytes: u32 },
    /// A list of so many runs (SGL, a last segment of data blocks).
    Segments { list: u64, count: u32 },
}

/// Of an entry in a list of segments.
pub const SEGMENT_BYTES: u32 = 16;

const FLUSH: u64 = 0x00;
const WRITE: u64 = 0x01;
const READ: u64 = 0x02;
const THROUGH: u64 = 1 << 30;
/// The data pointer is an entry of a list of segments, not pages.
const BY_SEGMENTS: u64 = 1 << 14;
/// In the last byte of an entry: it tells where a list is, and no other list follows.
const LAST_SEGMENT: u64 = 0x30 << 56;

impl Transfer {
    pub fn encode(&self) -> Command {
        let code = match self.direction {
            Direction::Read => READ,
            Direction::Write => WRITE,
        };
        let numbers = code | u64::from(self.number) << 16 | u64::from(self.namespace) << 32;
        // The count of sectors is one less than that.
        let sectors = u64::from(self.sectors.wrapping_sub(1) & 0xffff);
        let flags = if self.through { THROUGH } else { 0 };
        let (kind, first, second) = match self.data {
            Data::Pages { first, second_or_list } => (0, first, second_or_list),
            Data::Segment { address, bytes } => (BY_SEGMENTS, address, bytes.into()),
            Data::Segments { list, count } => (BY_SEGMENTS, list, u64::from(count * SEGMENT_BYTES) | LAST_SEGMENT),
        };
        [numbers | kind, 0, 0, first, second, self.sector, sectors | flags, 0]
    }
}

/// The device makes the writes of all completed commands last.
pub fn flush(number: u16, namespace: u32) -> Command {
    [FLUSH | u64::from(number) << 16 | u64::from(namespace) << 32, 0, 0, 0, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes are those that Linux's driver sends for the same read.
    #[test]
    fn bytes_are_where_the_specification_has_them() {
        let transfer = Transfer {
            direction: Direction::Read,
            number: 0x1234,
            namespace: 0x0a0b_0c0d,
            sector: 0x1122_3344_5566,
            sectors: 8,
            through: false,
            data: Data::Pages { first: 0xaaaa_b010, second_or_list: 0xcccc_d000 },
        };
        let bytes: [u8; 64] = core::array::from_fn(|at| (transfer.encode()[at / 8] >> (at % 8 * 8)) as u8);
        assert_eq!(bytes[0..8], [0x02, 0, 0x34, 0x12, 0x0d, 0x0c, 0x0b, 0x0a]);
        assert_eq!(bytes[8..24], [0; 16]);
        assert_eq!(bytes[24..40], [0x10, 0xb0, 0xaa, 0xaa, 0, 0, 0, 0, 0, 0xd0, 0xcc, 0xcc, 0, 0, 0, 0]);
        assert_eq!(bytes[40..52], [0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0, 7, 0, 0, 0]);
        assert_eq!(bytes[52..64], [0; 12]);
        assert_eq!(Transfer { direction: Direction::Write, ..transfer }.encode()[0] & 0xff, 1);
        assert_eq!(Transfer { sectors: 65_536, ..transfer }.encode()[6], 0xffff);
        assert_eq!(Transfer { through: true, ..transfer }.encode()[6], 0x4000_0007);
        let one = Transfer { data: Data::Segment { address: 0xaaaa_b010, bytes: 0x20_0000 }, ..transfer }.encode();
        assert_eq!((one[0] & 0xffff, one[3], one[4]), (0x4002, 0xaaaa_b010, 0x20_0000));
        let many = Transfer { data: Data::Segments { list: 0xcccc_d000, count: 3 }, ..transfer }.encode();
        assert_eq!((many[0] & 0xffff, many[3], many[4]), (0x4002, 0xcccc_d000, 0x3000_0000_0000_0030));
        assert_eq!(flush(0x1234, 0x0a0b_0c0d), [0x0a0b_0c0d_1234_0000, 0, 0, 0, 0, 0, 0, 0]);
    }
}
