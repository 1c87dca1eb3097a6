// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The fixed beginnings of calls and replies, which `marshal.rs` and `demarshal.rs` share.

use crate::bytes::{Reader, Writer};

/// The beginning of a call's message: number, flags, arguments, and how long each argument's buffer is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallHead {
    pub(crate) number: u32,
    pub(crate) flags: u32,
    pub(crate) arguments: [u64; 6],
    /// [`NO_BUFFER`] for values and null pointers, [`FAULTS`] and [`BEYOND`] for pointers that Linux is to refuse, or
    /// [`IN_STORE`].
    pub(crate) sizes: [u32; 6],
}

pub(crate) const CALL_HEAD_BYTES: usize = 80;
pub(crate) const NO_BUFFER: u32 = u32::MAX;
/// The program may not use the buffer, or not as it is to be used: Linux says what comes first, this or another fault of
/// the call.
pub(crate) const FAULTS: u32 = u32::MAX - 1;
/// The same, and it is not among a program's addresses, which Linux notices earlier.
pub(crate) const BEYOND: u32 = u32::MAX - 2;
/// The buffer is in the proxy's store: see `stored.rs`.
pub(crate) const IN_STORE: u32 = u32::MAX - 3;
/// A flag of calls: the program's buffer is longer than what the call was given.
pub(crate) const CUT: u32 = 1;
/// Flags of messages that are no calls, but bring a part of the store, or ask for one.
pub(crate) const TO_STORE: u32 = 2;
pub(crate) const FROM_STORE: u32 = 4;
/// A flag of calls: the thread's last call, which was interrupted, goes on.
pub(crate) const AGAIN: u32 = 8;

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
const REPLY_FLAGS_AT: usize = 16;
/// A flag of replies: reading on does not wait, so a read that was cut continues.
pub(crate) const WHOLE: u32 = 1;
/// Another one: a signal has ended the call, which may have moved less than it would have.
pub(crate) const KICKED: u32 = 2;

impl ReplyHead {
    pub(crate) fn decode(fields: &mut Reader<'_>) -> Option<Self> {
        let head = Self { result: fields.i64()?, pending: fields.u64()?, flags: fields.u32()? };
        fields.u32()?;
        Some(head)
    }

    /// Adds a flag to the head of this reply.
    pub(crate) fn mark(reply: &mut [u8], flag: u32) {
        if let Some(byte) = reply.get_mut(REPLY_FLAGS_AT) {
            *byte |= flag as u8;
        }
    }

    pub(crate) fn encode(&self, fields: &mut Writer<'_>) -> Option<()> {
        fields.i64(self.result)?;
        fields.u64(self.pending)?;
        fields.u32(self.flags)?;
        fields.u32(0)
    }
}

/// Whether an argument of this size has a buffer in the message or in the reply.
pub(crate) fn has_buffer(size: u32) -> bool {
    size < IN_STORE
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
