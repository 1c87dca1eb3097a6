// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A call's buffers: one, or a vector of them (`struct iovec`) in the program's memory.
//!
//! The core calls this, and gives the way to the program's memory. The vector is read where it lies, each time anew, so
//! nothing here may trust that it stays the same: what has been checked of the whole call bounds the transfer, and each
//! piece is checked again when it is used.

use crate::grant::Forward;

/// Linux takes no longer vectors (UIO_MAXIOV).
pub const MOST_BUFFERS: u64 = 1024;
const PAGE: u64 = 4096;
/// Of an entry of a vector: an address and a length.
const ENTRY_BYTES: u64 = 16;

/// Where a call's data are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffers {
    One(Buffer),
    /// Of so many entries, at an address of the program.
    Vector {
        at: u64,
        count: u32,
    },
}

/// Bytes of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    pub address: u64,
    pub bytes: u64,
}

/// All buffers of a call together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survey {
    pub bytes: u64,
    /// The bits that are set in any address, and in any length.
    pub addresses: u64,
    pub lengths: u64,
    /// Everything lies from here on, and before this.
    pub first: u64,
    pub end: u64,
}

/// Memory in one page of 4 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub address: u64,
    pub bytes: u32,
}

impl Buffers {
    /// `Err`: only Linux knows the call's error.
    pub fn vector(at: u64, count: u64) -> Result<Self, Forward> {
        if count > MOST_BUFFERS || !at.is_multiple_of(8) {
            return Err(Forward::Buffer);
        }
        Ok(Self::Vector { at, count: count as u32 })
    }

    /// A buffer. `None`: there are no more of them. `Err`: the vector cannot be read.
    fn get(&self, index: u32, load: &impl Fn(u64) -> Option<u32>) -> Option<Result<Buffer, Forward>> {
        let (at, count) = match *self {
            Self::One(buffer) => return (index == 0).then_some(Ok(buffer)),
            Self::Vector { at, count } => (at, count),
        };
        let word = |address: u64| Some(u64::from(load(address)?) | u64::from(load(address.checked_add(4)?)?) << 32);
        let entry = at.checked_add(u64::from(index) * ENTRY_BYTES);
        let buffer = || {
            let entry = entry?;
            Some(Buffer { address: word(entry)?, bytes: word(entry.checked_add(8)?)? })
        };
        (index < count).then(|| buffer().ok_or(Forward::Buffer))
    }

    /// Looks at all of them. `load` reads a word of the program's memory.
    pub fn survey(&self, load: impl Fn(u64) -> Option<u32>) -> Result<Survey, Forward> {
        let mut all = Survey { bytes: 0, addresses: 0, lengths: 0, first: u64::MAX, end: 0 };
        let mut index = 0;
        while let Some(buffer) = self.get(index, &load) {
            let Buffer { address, bytes } = buffer?;
            index += 1;
            let end = address.checked_add(bytes).ok_or(Forward::Bounds)?;
            all.bytes = all.bytes.checked_add(bytes).ok_or(Forward::Bounds)?;
            if bytes != 0 {
                all.addresses |= address;
                all.lengths |= bytes;
                all.first = all.first.min(address);
                all.end = all.end.max(end);
            }
        }
        Ok(all)
    }

    /// The memory behind the first `done` bytes, page by page; `None` if it cannot be used. `frame` knows the memory of a
    /// page of the program. The vector's lengths are multiples of `unit`, or it has changed.
    pub fn pieces(
        self,
        mut done: u64,
        unit: u64,
        load: impl Fn(u64) -> Option<u32>,
        mut frame: impl FnMut(u64) -> Option<u64>,
    ) -> impl Iterator<Item = Option<Piece>> {
        let (mut index, mut rest) = (0, Buffer { address: 0, bytes: 0 });
        core::iter::from_fn(move || {
            while rest.bytes == 0 {
                let Ok(buffer) = self.get(index, &load)? else { return Some(None) };
                index += 1;
                let skipped = done.min(buffer.bytes);
                done -= skipped;
                let Some(address) = buffer.address.checked_add(skipped).filter(|_| buffer.bytes.is_multiple_of(unit))
                else {
                    return Some(None);
                };
                rest = Buffer { address, bytes: buffer.bytes - skipped };
            }
            let offset = rest.address % PAGE;
            let bytes = rest.bytes.min(PAGE - offset);
            let piece = frame(rest.address - offset).map(|page| Piece { address: page + offset, bytes: bytes as u32 });
            // The last page of all addresses is not the program's.
            rest = Buffer { address: rest.address.wrapping_add(bytes), bytes: rest.bytes - bytes };
            Some(piece)
        })
    }
}
