// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node's messages about buffers that do not fit into the message of their call: see `stored.rs`.
//!
//! `marshal.rs` and `finish.rs` ask first whether it is the turn of such a part.

use crate::bytes::{Reader, Writer};
use crate::calls::Kind;
use crate::errno::Errno;
use crate::head::{CallHead, FROM_STORE, NO_BUFFER, ReplyHead, TO_STORE};
use crate::memory::UserMemory;
use crate::packet::PIECE_BYTES;
use crate::stored::STORE_BYTES;

/// The program's buffers that may travel by the store, and what has happened to them.
#[derive(Debug)]
pub(crate) struct Parts {
    buffers: [(u64, usize); 6],
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Undecided,
    InMessage,
    /// The store has the first so many bytes.
    Ahead(usize),
    InStore,
    /// The call has this result, and the program has the first so many bytes again.
    Back(usize, i64),
}

impl Parts {
    pub(crate) fn new(kinds: &[Kind; 6], arguments: &[u64; 6]) -> Self {
        let mut buffers = [(0, 0); 6];
        for ((kind, &address), buffer) in kinds.iter().zip(arguments).zip(&mut buffers) {
            if let Kind::InOut(size) = kind
                && size.may_be_stored()
                && address != 0
            {
                *buffer = (address, size.bytes(arguments).unwrap_or(0));
            }
        }
        Self { buffers, stage: Stage::Undecided }
    }

    /// Decides where the buffers travel: whether in the store. Those that the program may not use do not.
    pub(crate) fn are_stored(&mut self, memory: &impl UserMemory) -> bool {
        if self.stage == Stage::Undecided {
            let bytes = self.buffers.iter().fold(0, |sum: usize, (_, bytes)| sum.saturating_add(*bytes));
            let usable = |&(at, bytes): &(u64, usize)| {
                bytes == 0 || (memory.readable(at, bytes) == bytes && memory.is_writable(at, bytes))
            };
            let stored = bytes > PIECE_BYTES && bytes <= STORE_BYTES && self.buffers.iter().all(usable);
            self.stage = if stored { Stage::Ahead(0) } else { Stage::InMessage };
        }
        self.stage != Stage::InMessage
    }

    /// Makes the message of the next part, if it is not the call's turn; how long it is.
    pub(crate) fn message(
        &self,
        number: u32,
        memory: &impl UserMemory,
        buffer: &mut [u8],
    ) -> Result<Option<usize>, Errno> {
        let (flags, at) = match self.stage {
            Stage::Ahead(at) => (TO_STORE, at),
            Stage::Back(at, _) => (FROM_STORE, at),
            _ => return Ok(None),
        };
        let (address, bytes) = self.part(at).ok_or(Errno::EINVAL)?;
        let mut fields = Writer::new(buffer);
        let head = CallHead { number, flags, arguments: [0; 6], sizes: [NO_BUFFER; 6] };
        head.encode(&mut fields).and_then(|()| fields.u64(at as u64)).ok_or(Errno::EINVAL)?;
        match flags {
            TO_STORE => memory.read(address, fields.space(bytes).ok_or(Errno::EINVAL)?).ok_or(Errno::EFAULT)?,
            _ => fields.u64(bytes as u64).ok_or(Errno::EINVAL)?,
        }
        Ok(Some(fields.used()))
    }

    /// The call that used the store has this result: whether its buffers come back now.
    pub(crate) fn come_back(&mut self, result: i64) -> bool {
        let stored = self.stage == Stage::InStore;
        if stored {
            self.stage = Stage::Back(0, result);
        }
        stored
    }

    /// Takes the reply to a part, if it is one: the call's result, if there are no more messages.
    pub(crate) fn finish(
        &mut self,
        head: &ReplyHead,
        part: Reader<'_>,
        memory: &impl UserMemory,
    ) -> Option<Option<i64>> {
        let (Stage::Ahead(at) | Stage::Back(at, _)) = self.stage else { return None };
        let Some((address, bytes)) = self.part(at).filter(|_| head.result >= 0) else {
            return Some(Some(head.result.min(Errno::EIO.result())));
        };
        let (next, goes_on) = (at + bytes, self.part(at + bytes).is_some());
        let Stage::Back(_, result) = self.stage else {
            self.stage = if goes_on { Stage::Ahead(next) } else { Stage::InStore };
            return Some(None);
        };
        self.stage = Stage::Back(next, result);
        if part.rest().len() != bytes {
            return Some(Some(Errno::EIO.result()));
        }
        match memory.write(address, part.rest()) {
            Some(()) => Some((!goes_on).then_some(result)),
            None => Some(Some(Errno::EFAULT.result())),
        }
    }

    /// The part of the buffers, as the store has them one after the other, that begins here: where it is in the program,
    /// and how long.
    fn part(&self, at: usize) -> Option<(u64, usize)> {
        let mut before = 0;
        self.buffers.iter().find_map(|&(address, bytes)| {
            let offset = at.checked_sub(before)?;
            before += bytes;
            (offset < bytes).then(|| (address.wrapping_add(offset as u64), (bytes - offset).min(PIECE_BYTES)))
        })
    }
}
