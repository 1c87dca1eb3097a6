// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node's end of a shipped call: makes its message from the program's memory, and puts the reply there.
//!
//! The kernel begins a [`Shipment`] for a call whose disposition is to be shipped, then repeats: [`Shipment::request`],
//! an exchange, [`Shipment::finish`], until that gives a result. Neither end of the shipment is trusted: the program may
//! change its memory meanwhile, and the reply is checked like any input.

use crate::bytes::Writer;
use crate::calls::{self, Kind};
use crate::errno::Errno;
pub use crate::finish::Finished;
use crate::head::{AGAIN, CALL_HEAD_BYTES, CallHead, NO_BUFFER, REPLY_HEAD_BYTES};
pub use crate::memory::UserMemory;
use crate::packet::{MESSAGE_BYTES, read_bytes};
use crate::packing::{MessageSizes, Packing};
use crate::parts::Parts;
use crate::program;

/// A call on its way. Long reads and writes travel in pieces.
#[derive(Debug)]
pub struct Shipment {
    pub(crate) number: u32,
    /// As the program has given them.
    pub(crate) arguments: [u64; 6],
    /// The bytes that earlier pieces have moved.
    pub(crate) done: u64,
    /// The program's call is for many messages, of which this is the first.
    pub(crate) many: bool,
    pub(crate) kinds: [Kind; 6],
    /// The piece in progress: the message's head.
    pub(crate) sent: CallHead,
    /// Its bytes of data.
    pub(crate) piece: usize,
    /// The room that it has for a message that comes in.
    pub(crate) message: Option<MessageSizes>,
    pub(crate) parts: Parts,
    /// A fault of a buffer that Linux finds is this one.
    pub(crate) fault: Errno,
    /// The flags of its next piece.
    next_flags: u32,
}

const SENDMSG: u32 = 46;
const RECVMSG: u32 = 47;
const RECVMMSG: u32 = 299;
const SENDMMSG: u32 = 307;
const MSG_WAITFORONE: u64 = 0x10000;

impl Shipment {
    /// # Errors
    /// The call's result, if it needs no shipping.
    pub fn new(number: u64, arguments: [u64; 6]) -> Result<Self, i64> {
        let number = u32::try_from(number).map_err(|_| Errno::ENOSYS.result())?;
        let [_, _, count, ..] = arguments;
        let many = (number == SENDMMSG || number == RECVMMSG) && count as u32 != 0;
        let (number, arguments) = match (number, arguments) {
            (SENDMMSG, [socket, first, _, flags, ..]) if many => (SENDMSG, [socket, first, flags, 0, 0, 0]),
            (RECVMMSG, [socket, first, _, flags, ..]) if many => {
                (RECVMSG, [socket, first, flags & !MSG_WAITFORONE, 0, 0, 0])
            }
            other => other,
        };
        let kinds = calls::kinds(number, &arguments).map_err(Errno::result)?;
        Ok(Self::of_kinds(number, arguments, kinds, many))
    }

    /// The loader's call: see [`program`]. `path` and `buffer` are addresses.
    #[must_use]
    pub fn open_program(path: u64, buffer: u64, bytes: u64) -> Self {
        Self::of_kinds(program::OPEN_PROGRAM, [path, buffer, bytes, 0, 0, 0], program::KINDS, false)
    }

    fn of_kinds(number: u32, arguments: [u64; 6], kinds: [Kind; 6], many: bool) -> Self {
        let sent = CallHead { number, flags: 0, arguments, sizes: [NO_BUFFER; 6] };
        let parts = Parts::new(&kinds, &arguments);
        Self {
            number,
            arguments,
            done: 0,
            many,
            kinds,
            sent,
            piece: 0,
            message: None,
            parts,
            fault: Errno::EFAULT,
            next_flags: 0,
        }
    }

    /// The same call, which was interrupted, goes on: of a time limit that its socket has, what is left holds.
    #[must_use]
    pub fn again(self) -> Self {
        Self { next_flags: AGAIN, ..self }
    }

    /// A signal has ended the call early, and leads to nothing: the rest of the call is made, as [`Self::again`].
    pub fn go_on(&mut self) {
        self.next_flags = AGAIN;
    }

    /// Makes the message of the next piece; how long it is.
    ///
    /// # Errors
    /// If the program's memory or arguments do not allow the call. Nothing has happened then, except for earlier
    /// pieces: [`Shipment::failed`] says what the call's result is.
    pub fn request(&mut self, memory: &impl UserMemory, buffer: &mut [u8]) -> Result<usize, Errno> {
        let stored = self.parts.are_stored(memory);
        let most = buffer.len();
        if let Some(used) = self.parts.message(self.number, memory, buffer)? {
            return Ok(used);
        }
        // the other end has no room for more, however long replies may be
        let message = buffer.get_mut(..most.min(MESSAGE_BYTES)).unwrap_or_default();
        let (head, body) = message.split_at_mut_checked(CALL_HEAD_BYTES).ok_or(Errno::EINVAL)?;
        let mut arguments = self.arguments;
        self.move_offset(&mut arguments);
        let sent = CallHead { number: self.number, flags: self.next_flags, arguments, sizes: [NO_BUFFER; 6] };
        let mut packing = Packing {
            memory,
            done: self.done,
            stored,
            sent,
            fields: Writer::new(body),
            outputs: REPLY_HEAD_BYTES,
            reads: read_bytes(most),
            piece: 0,
            lengths: [None; 6],
            message: None,
            fault: Errno::EFAULT,
        };
        for (index, kind) in (0u8..).zip(self.kinds) {
            packing.argument(index, kind)?;
        }
        if packing.outputs > most {
            return Err(Errno::EINVAL);
        }
        self.piece = packing.piece;
        self.sent = packing.sent;
        self.next_flags = 0;
        self.message = packing.message;
        self.fault = packing.fault;
        let used = CALL_HEAD_BYTES + packing.fields.used();
        self.sent.encode(&mut Writer::new(head)).ok_or(Errno::EINVAL)?;
        Ok(used)
    }

    /// The call's result if a piece of it ended with this error: what earlier pieces have moved, if they have.
    #[must_use]
    pub fn failed(&self, errno: Errno) -> i64 {
        self.total(errno.result())
    }

    pub(crate) fn total(&self, result: i64) -> i64 {
        match i64::try_from(self.done) {
            Ok(done) if done > 0 => done,
            _ => result,
        }
    }

    /// Calls that name an offset in the file continue there.
    fn move_offset(&self, arguments: &mut [u64; 6]) {
        let [_, _, _, offset, ..] = arguments;
        let is_positioned = matches!(self.number, 17 | 18 | 295 | 296 | 327 | 328);
        if is_positioned && *offset != u64::MAX {
            *offset = offset.saturating_add(self.done);
        }
    }
}
