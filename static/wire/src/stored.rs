// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Buffers that a call changes and that do not fit into its message, as poll(2) and select(2) may have: they travel in
//! parts to a store at the proxy, before the call, and back after it.
//!
//! `parts.rs` sends and takes the node's messages. The proxy keeps a store for each of its threads, and
//! asks [`request`] what a message is about: the call itself takes its buffers from the store.

use crate::bytes::{Reader, Writer};
use crate::errno::Errno;
use crate::head::{CALL_HEAD_BYTES, CallHead, FROM_STORE, IN_STORE, ReplyHead, TO_STORE};
use crate::packet::{MESSAGE_BYTES, PIECE_BYTES};

/// No store is larger: poll(2) of as many descriptors as a process has, unless root raises Linux's own bound.
pub const STORE_BYTES: usize = 8 << 20;

/// What a proxy's thread is to do with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'m> {
    /// A call. Its buffers may be in the store.
    Call { stored: bool },
    /// The store continues with these bytes. It has so many; at 0 it begins anew.
    Keep { at: usize, bytes: &'m [u8] },
    /// This part of the store is to be sent back.
    Give { at: usize, bytes: usize },
}

/// What a message is about.
///
/// # Errors
/// If it is no message.
pub fn request(message: &[u8]) -> Result<Request<'_>, Errno> {
    let mut fields = Reader::new(message);
    let head = CallHead::decode(&mut fields).ok_or(Errno::EINVAL)?;
    if head.flags & (TO_STORE | FROM_STORE) == 0 {
        return Ok(Request::Call { stored: head.sizes.contains(&IN_STORE) });
    }
    let mut number = || usize::try_from(fields.u64()?).ok();
    let at = number().ok_or(Errno::EINVAL)?;
    if head.flags & TO_STORE != 0 {
        return Ok(Request::Keep { at, bytes: fields.rest() });
    }
    let bytes = number().filter(|&bytes| bytes <= PIECE_BYTES).ok_or(Errno::EINVAL)?;
    Ok(Request::Give { at, bytes })
}

/// Packs the reply to a message about the store; how long it is. `pending` as in [`crate::demarshal::Call::reply`].
#[must_use]
pub fn answer(part: &[u8], pending: u64, reply: &mut [u8]) -> usize {
    let mut fields = Writer::new(reply);
    let head = ReplyHead { result: 0, pending, flags: 0 };
    head.encode(&mut fields).and_then(|()| fields.bytes(part)).map_or(0, |()| fields.used())
}

const _: () = assert!(CALL_HEAD_BYTES + size_of::<u64>() + PIECE_BYTES <= MESSAGE_BYTES);
