// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The fixed beginnings of calls and replies, which `marshal.rs` and `demarshal.rs` share.

use crate::bytes::{Reader, Writer};

/// The beginning of a call's message: number, flags, arguments, and how long each argument's buffer is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallHead {
    pub(crate) number: u32,
    pub(crate) flags: u32,
    pub(crate) arguments: [u64; 6],
    /// [`NO_BUFFER`] for values and null pointers.
    pub(crate) sizes: [u32; 6],
}

pub(crate) const CALL_HEAD_BYTES: usize = 80;
pub(crate) const NO_BUFFER: u32 = u32::MAX;
/// A flag of calls: the program's buffer is longer than what the call was given.
pub(crate) const CUT: u32 = 1;

impl CallHead {
    pub(crate) fn decode(fields: &mut Reader<'_>) -> Option<Self> {
        let mut head = Self { number: fields.u32()?, flags: fields.u32()?, arguments: [0; 6], sizes: [NO_BUFFER; 6] };
        for argument in &mut head.arguments {
            *argument = fields.u64()?;
        }
        for size in &mut head.sizes {
            *size = fields.u32()?;
        }
        Some(head)
    }

    pub(crate) fn encode(&self, fields: &mut Writer<'_>) -> Option<()> {
        fields.u32(self.number)?;
        fields.u32(self.flags)?;
        for argument in self.arguments {
            fields.u64(argument)?;
        }
        for size in self.sizes {
            fields.u32(size)?;
        }
        Some(())
    }
}

/// The beginning of a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyHead {
    pub(crate) result: i64,
    /// The signals that the proxy has received for the process: bit n-1 is signal n.
    pub(crate) pending: u64,
    pub(crate) flags: u32,
}

pub(crate) const REPLY_HEAD_BYTES: usize = 24;
/// A flag of replies: reading on does not wait, so a read that was cut continues.
pub(crate) const WHOLE: u32 = 1;

impl ReplyHead {
    pub(crate) fn decode(fields: &mut Reader<'_>) -> Option<Self> {
        let head = Self { result: fields.i64()?, pending: fields.u64()?, flags: fields.u32()? };
        fields.u32()?;
        Some(head)
    }

    pub(crate) fn encode(&self, fields: &mut Writer<'_>) -> Option<()> {
        fields.i64(self.result)?;
        fields.u64(self.pending)?;
        fields.u32(self.flags)?;
        fields.u32(0)
    }
}

/// A msghdr's lengths, before its parts: of the name, the control data and the data, or, in replies, of the name, the
/// control data, and the flags.
pub(crate) const LENGTHS_BYTES: usize = 12;

/// How much of an output goes back: `unit` times the result, but not more than there is.
pub(crate) fn filled(result: i64, unit: usize, size: usize) -> usize {
    usize::try_from(result).unwrap_or(0).saturating_mul(unit).min(size)
}

pub(crate) fn at(arguments: &[u64; 6], index: u8) -> u64 {
    arguments.get(usize::from(index)).copied().unwrap_or(0)
}
