// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Opens a file for a node's loader, and tells all about it at once: `tacet_wire::program`.
//!
//! Called by `perform.rs`, in the program's descriptor table, where the descriptor stays until the loader closes it.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open, readlink};
use nix::sys::stat::{Mode, fstat};
use nix::sys::uio::pread;
use tacet_wire::demarshal::{Argument, Call};
use tacet_wire::program::{OPEN_PROGRAM, Opened};

/// The loader keeps no longer path.
const LONGEST_PATH: usize = 254;

/// The result of this call; `None`: it is another one.
pub fn instead(call: &Call, message: &[u8], reply: &mut [u8]) -> Option<i64> {
    if call.number != OPEN_PROGRAM {
        return None;
    }
    let [Argument::Input(path), Argument::Output(room), ..] = call.arguments else {
        return Some(-i64::from(libc::EFAULT));
    };
    let described = CStr::from_bytes_until_nul(path.of(message))
        .map_err(|_| Errno::EINVAL)
        .and_then(|path| describe(path, room.of_mut(reply)));
    Some(described.map_or_else(|errno| -i64::from(errno as i32), |bytes| bytes as i64))
}

fn describe(path: &CStr, room: &mut [u8]) -> Result<usize, Errno> {
    let file = open(path, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    let bytes = u64::try_from(fstat(&file)?.st_size).unwrap_or(0);
    let link = readlink(format!("/proc/self/fd/{}", file.as_raw_fd()).as_str()).unwrap_or_default();
    let path = Some(link.as_bytes()).filter(|path| path.len() <= LONGEST_PATH).unwrap_or_default();
    let mut opened = Opened { descriptor: Some(file.as_raw_fd().cast_unsigned()), bytes, path, beginning: &[] };
    let head = opened.encode_head(room).ok_or(Errno::EINVAL)?;
    let beginning = room.get_mut(head..).unwrap_or_default();
    let mut read = 0;
    while let Some(rest) = beginning.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match pread(&file, rest, read as i64)? {
            0 => break,
            more => read += more,
        }
    }
    if read as u64 >= bytes && read < beginning.len() {
        opened.descriptor = None;
        opened.encode_head(room);
    } else {
        let _ = file.into_raw_fd();
    }
    Ok(head + read)
}
