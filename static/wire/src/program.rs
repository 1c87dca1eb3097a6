// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A call that no program can make: a node's loader opens a file, and gets its size, its path and its beginning with the
//! descriptor, in one exchange instead of four. Both ends use this: the loader by
//! [`Shipment::open_program`](crate::marshal::Shipment::open_program), the proxy by its number.

use crate::bytes::{Reader, Writer};
use crate::calls::{Kind, Size};

/// Its number, beyond all calls of Linux. Arguments: the path, the buffer for an [`Opened`], its length; the result is how
/// much of it was filled, or a negative errno.
pub const OPEN_PROGRAM: u32 = 0x1_0000;

pub(crate) const KINDS: [Kind; 6] =
    [Kind::Text, Kind::Fill(Size::Times(1, 2)), Kind::Value, Kind::Unused, Kind::Unused, Kind::Unused];

/// Of an [`Opened`], before its path.
pub const FIXED_BYTES: usize = 16;
const NO_DESCRIPTOR: u32 = u32::MAX;

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened<'a> {
    /// `None`: the beginning is the whole file, which is closed again.
    pub descriptor: Option<u32>,
    /// Of the file.
    pub bytes: u64,
    /// Without a NUL; empty if it is unknown or longer than the loader takes.
    pub path: &'a [u8],
    /// As much of the file as the rest of the buffer holds.
    pub beginning: &'a [u8],
}

impl<'a> Opened<'a> {
    /// All but the beginning, which follows it. How long that is; `None`: there is no room.
    pub fn encode_head(&self, to: &mut [u8]) -> Option<usize> {
        let mut fields = Writer::new(to);
        fields.u32(self.descriptor.unwrap_or(NO_DESCRIPTOR))?;
        fields.u32(u32::try_from(self.path.len()).ok()?)?;
        fields.u64(self.bytes)?;
        fields.bytes(self.path)?;
        Some(fields.used())
    }

    /// `None`: it is none.
    #[must_use]
    pub fn decode(from: &'a [u8]) -> Option<Self> {
        let mut fields = Reader::new(from);
        let (descriptor, path_bytes, bytes) = (fields.u32()?, fields.u32()?, fields.u64()?);
        let (path, beginning) = fields.rest().split_at_checked(usize::try_from(path_bytes).ok()?)?;
        let descriptor = Some(descriptor).filter(|&descriptor| descriptor != NO_DESCRIPTOR);
        Some(Self { descriptor, bytes, path, beginning })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_survives_and_a_bad_one_is_none() {
        for descriptor in [Some(3), None] {
            let opened = Opened { descriptor, bytes: 7, path: b"/a", beginning: b"ELF" };
            let mut bytes = [0; 64];
            let head = opened.encode_head(&mut bytes).unwrap();
            bytes[head..head + 3].copy_from_slice(b"ELF");
            assert_eq!(Opened::decode(&bytes[..head + 3]), Some(opened));
            for end in 0..head {
                assert_eq!(Opened::decode(&bytes[..end]), None, "{end}");
                let mut short = [0; 64];
                assert_eq!(opened.encode_head(&mut short[..end]), None);
            }
        }
    }
}
