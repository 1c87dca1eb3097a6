// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The disposition of each system call on a static node: the fourth column of `abi/syscalls.tbl`.
//!
//! The kernel asks [`disposition`] for each call that it does not know; both ends take the arguments apart as
//! [`kinds`] says. The Linux end asks it again, since it trusts no node.

use crate::commands;
use crate::errno::Errno;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// The node answers.
    Local,
    /// The process's proxy executes it.
    Ship(&'static [Kind]),
    Refuse(Errno),
}

/// The kind of an argument. Arguments are counted from 0 here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The call has no such argument.
    Unused,
    Value,
    /// A file descriptor: a value that the proxy may look at.
    Descriptor,
    /// A process number: 0 or the process's own.
    Own,
    /// A pointer that the proxy's call does not get.
    Null,
    /// A text that ends with a NUL.
    Text,
    /// A buffer that the call reads.
    In(Size),
    /// The same, with as many bytes as this argument says; a long one is sent in pieces.
    Stream(u8),
    /// A buffer that the call writes if it succeeds.
    Out(Size),
    /// A buffer that the call reads, and writes if it succeeds.
    InOut(Size),
    /// A buffer of which the call writes as much as its result says. If it is long, the call is told that it is
    /// shorter.
    Fill(Size),
    /// An iovec array that the call reads through, and the argument with its length.
    Gather(u8),
    /// An iovec array that the call writes through, and the argument with its length.
    Scatter(u8),
    /// A msghdr.
    MessageIn,
    MessageOut,
    /// An array of mmsghdr, of which one is sent or received.
    MessagesIn,
    MessagesOut,
    /// An argument whose kind follows from others: see `commands.rs`.
    Ioctl,
    Fcntl,
    OptionIn(Size),
    OptionOut(Size),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Bytes(u16),
    /// So many bytes, times an argument.
    Times(u8, u8),
    /// As many bytes as this argument says, which Linux takes as int.
    Int(u8),
    /// As many bits as this argument says, in words of 64.
    Bits(u8),
    /// As many bytes as the 32-bit number says to which this argument points.
    Pointed(u8),
}

include!(concat!(env!("OUT_DIR"), "/calls.rs"));

/// The disposition of the call with this number.
#[must_use]
pub fn disposition(number: u64) -> Disposition {
    let index = usize::try_from(number).ok().and_then(|number| OF_CALL.get(number));
    let disposition = index.and_then(|index| DISPOSITIONS.get(usize::from(*index)));
    disposition.copied().unwrap_or(Disposition::Refuse(Errno::ENOSYS))
}

/// The kinds of a shipped call's arguments.
///
/// # Errors
/// If it is not shipped, or not with these arguments.
pub fn kinds(number: u32, arguments: &[u64; 6]) -> Result<[Kind; 6], Errno> {
    let shipped = match disposition(number.into()) {
        Disposition::Ship(kinds) => kinds,
        Disposition::Refuse(errno) => return Err(errno),
        Disposition::Local => return Err(Errno::ENOSYS),
    };
    commands::check(number, arguments)?;
    let [_, first, second, ..] = *arguments;
    let mut kinds = [Kind::Unused; 6];
    for (kind, shipped) in kinds.iter_mut().zip(shipped) {
        *kind = match *shipped {
            Kind::Ioctl => commands::ioctl(first).ok_or(Errno::ENOTTY)?,
            Kind::Fcntl => commands::fcntl(first).ok_or(Errno::EINVAL)?,
            Kind::OptionIn(size) if commands::may_ship_option(first, second) => Kind::In(size),
            Kind::OptionOut(size) if commands::may_ship_option(first, second) => Kind::Out(size),
            // Of no message at all Linux says whether the descriptor is a socket.
            Kind::MessagesIn | Kind::MessagesOut if second as u32 == 0 => Kind::Null,
            Kind::OptionIn(_) | Kind::OptionOut(_) => return Err(Errno::ENOPROTOOPT),
            kind => kind,
        };
    }
    Ok(kinds)
}

impl Size {
    /// Of a buffer that the call reads and writes: whether it is a time limit, which Linux leaves as it is if it must.
    pub(crate) fn is_time(self) -> bool {
        self == Self::Bytes(16)
    }

    /// Of a size that an argument counts: the bytes that it counts by, and its place.
    pub(crate) fn counted(self) -> Option<(usize, u8)> {
        match self {
            Self::Times(unit, index) => Some((unit.into(), index)),
            Self::Int(index) => Some((1, index)),
            _ => None,
        }
    }

    /// Of a buffer that the call reads and writes: whether its length depends on the call, so that it may be too long for a message.
    pub(crate) fn may_be_stored(self) -> bool {
        matches!(self, Self::Times(..) | Self::Bits(_))
    }

    /// How many bytes that is. `None`: it follows from memory, or from an impossible argument.
    #[must_use]
    pub(crate) fn bytes(self, arguments: &[u64; 6]) -> Option<usize> {
        let argument = |index: u8| arguments.get(usize::from(index)).copied();
        match self {
            Self::Bytes(bytes) => Some(bytes.into()),
            Self::Times(unit, index) => {
                let count = count(unit, argument(index)?)?;
                count.checked_mul(unit.into())
            }
            Self::Bits(index) => {
                let bits = usize::try_from(argument(index)? as i32).ok()?;
                Some(bits.div_ceil(64) * 8)
            }
            Self::Int(index) => usize::try_from(argument(index)? as i32).ok(),
            Self::Pointed(_) => None,
        }
    }
}

/// How many things of `unit` bytes an argument counts. Linux counts bytes by size_t and everything else by int.
fn count(unit: u8, argument: u64) -> Option<usize> {
    if unit == 1 {
        return usize::try_from(i64::try_from(argument).ok()?).ok();
    }
    usize::try_from(i32::from_le_bytes(argument.to_le_bytes().first_chunk().copied()?)).ok()
}
