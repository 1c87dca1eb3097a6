// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All unsafe code of the proxy: calls that no library wraps.
//!
//! The rest of the proxy calls these functions. Nothing here decides anything.

use std::net::UdpSocket;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use command_fds::inherited::{init_inherited_fds, take_fd_ownership};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::socket::sockopt::{ReceiveTimeout, SendTimeout};
use nix::sys::socket::{AddressFamily, SockaddrLike, SockaddrStorage, getsockname, getsockopt};
use nix::sys::time::TimeValLike;
use nix::sys::uio::{pread, pwrite};
use nix::unistd::{Pid, read, write};
use tacet_wire::demarshal::{Argument, Call, Span};

use super::perform::End;
use super::signals::KICK;
use super::{SOCKET, STREAM};
use crate::error::{Error, Result};

/// Takes the descriptors that the parent has handed over, and closes all others beyond the program's three.
pub fn inherited(socket: RawFd, stream: RawFd) -> Result<(UdpSocket, UnixStream)> {
    close_range(socket.max(stream) + 1, None)?;
    // SAFETY: `main` calls this first, so nobody owns a descriptor yet.
    unsafe { init_inherited_fds() }.map_err(|error| Error::new("proxy", error, "start it by `tacet static run`"))?;
    let take = |number| {
        let cause = format!("descriptor {number} is not its own");
        take_fd_ownership(number).map_err(|_| Error::new("proxy", cause, "start it by `tacet static run`"))
    };
    Ok((take(socket)?.into(), take(stream)?.into()))
}

/// Gives the calling thread, and those that it makes, a descriptor table of their own: with the socket and the stream,
/// and without the program's descriptors, which would stay open here when the program closes them.
pub fn own_table() -> Result<()> {
    let refused =
        |errno: Errno| Error::new("proxy", format!("a descriptor table of its own: {errno}"), "allow unshare");
    unshare(CloneFlags::CLONE_FILES).map_err(refused)?;
    let (first, last) = (SOCKET.min(STREAM), SOCKET.max(STREAM));
    close_range(0, Some(first - 1))?;
    close_range(last + 1, None)
}

/// Closes descriptors of the caller's table, up to the last one if there is no other end.
pub fn close_range(first: RawFd, last: Option<RawFd>) -> Result<()> {
    let end = last.and_then(|last| u32::try_from(last).ok()).unwrap_or(u32::MAX);
    // SAFETY: closes numbers, and touches no memory. The callers name numbers without an owner in this table.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, end, 0) };
    Errno::result(result).map(drop).map_err(|errno| Error::new("proxy", errno, "it needs Linux 5.9 or later"))
}

/// Makes `KICK` end a blocked call, and a broken pipe a signal again, which Rust's runtime has switched off.
pub fn prepare_signals() -> Result<()> {
    extern "C" fn nothing(_: libc::c_int) {}
    let failed = |errno: Errno| Error::new("proxy", errno, "the kernel must let signals be handled");
    let kick = SigAction::new(SigHandler::Handler(nothing), SaFlags::empty(), SigSet::empty());
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler does nothing, which it may do at any point.
    unsafe { sigaction(KICK, &kick) }.map_err(failed)?;
    // SAFETY: no handler of Rust code is replaced.
    unsafe { sigaction(Signal::SIGPIPE, &default) }.map_err(failed)?;
    Ok(())
}

/// Interrupts the blocked call of a thread of this process. A number that is free again does no harm.
pub fn kick(thread: Pid) {
    // SAFETY: touches no memory; the handler of `KICK` does nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, Pid::this().as_raw(), thread.as_raw(), KICK as libc::c_int) };
}

/// Sends a process a signal, of whatever number: libraries know no real-time signals. A number that is none does nothing.
pub fn send_signal(process: Pid, signal: libc::c_int) {
    // SAFETY: touches no memory.
    unsafe { libc::kill(process.as_raw(), signal) };
}

/// Takes a signal that a call has sent to its own thread; whether there was one.
pub fn take_own(signal: Signal) -> bool {
    let mut set = SigSet::empty();
    set.add(signal);
    let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the two structures live longer than the call, and no information is asked for.
    let taken = unsafe { libc::sigtimedwait(set.as_ref(), std::ptr::null_mut(), &now) };
    taken == signal as libc::c_int
}

/// Takes a call out of its message, and performs it with pointers into the buffers: the call, and its result or
/// negative errno. `instead` may give the result of a call that Linux is not to get, and write into the reply.
pub fn execute(
    message: &[u8],
    reply: &mut [u8],
    store: &mut [u8],
    instead: impl FnOnce(&Call, &mut [u8]) -> Option<i64>,
) -> std::result::Result<(Call, i64), tacet_wire::errno::Errno> {
    let call = Call::decode_with_store(message, std::process::id(), reply, store.len())?;
    if let Some(result) = instead(&call, reply) {
        return Ok((call, result));
    }
    let mut vectors = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 6];
    // SAFETY: a structure of numbers and pointers, for which zeros are good values.
    let mut messages: [libc::msghdr; 6] = unsafe { std::mem::zeroed() };
    let mut arguments: [libc::c_long; 6] = [0; 6];
    let parts = call.arguments.iter().zip(&mut vectors).zip(&mut messages);
    for (((argument, vector), header), word) in parts.zip(&mut arguments) {
        *word = match *argument {
            Argument::Value(value) => value.cast_signed(),
            Argument::Input(span) => address(span.of(message).as_ptr()),
            Argument::Output(span) => address(span.of_mut(reply).as_mut_ptr()),
            Argument::Stored(span) => address(span.of_mut(store).as_mut_ptr()),
            Argument::InputVector(span) => {
                *vector = input(message, span);
                address(vector)
            }
            Argument::OutputVector(span) => {
                *vector = output(reply, span);
                address(vector)
            }
            Argument::InputMessage { name, control, data } => {
                *vector = input(message, data);
                *header = header_of(vector, input(message, name), input(message, control));
                address(header)
            }
            Argument::OutputMessage { name, control, data, .. } => {
                *vector = output(reply, data);
                *header = header_of(vector, output(reply, name), output(reply, control));
                address(header)
            }
        };
    }
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: `decode` has made the call from this message and for this reply's buffer. It lets only calls of the table
    // through, and by the table each argument is a number, an address here with as many bytes as the call uses, or one
    // of two addresses at which no process has memory;
    // nobody else has the buffers meanwhile. No call of the table changes this process's memory map, its signal
    // handlers, or the descriptors of the service threads, which have a table of their own.
    let result = unsafe { libc::syscall(call.number.into(), a, b, c, d, e, f) };
    let result = if result == -1 { -i64::from(Errno::last_raw()) } else { result };
    let again = (result == -i64::from(libc::EINVAL)).then(|| from_aligned_memory(&call, message, reply)).flatten();
    let result = again.unwrap_or(result);
    for (argument, header) in call.arguments.iter().zip(&messages) {
        if let Argument::OutputMessage { lengths, .. } = argument {
            let after = [header.msg_namelen, header.msg_controllen as u32, header.msg_flags.cast_unsigned()];
            for (place, value) in lengths.of_mut(reply).chunks_exact_mut(4).zip(after) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
    }
    Ok((call, result))
}

/// A file that is open without the page cache (O_DIRECT) takes only memory at full blocks, which a message's middle is
/// not: the call is made with a copy that is. `None`: it is no such call.
fn from_aligned_memory(call: &Call, message: &[u8], reply: &mut [u8]) -> Option<i64> {
    const BLOCK_BYTES: usize = 4096;
    let [Argument::Value(descriptor), data, _, at, ..] = call.arguments else { return None };
    let (Argument::Input(span) | Argument::InputVector(span) | Argument::Output(span) | Argument::OutputVector(span)) =
        data
    else {
        return None;
    };
    let descriptor = RawFd::try_from(descriptor).ok()?;
    // SAFETY: no service thread's: the program's descriptors are in another table than theirs. If the program has closed
    // it, the calls fail.
    let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let flags = OFlag::from_bits_retain(fcntl(file, FcntlArg::F_GETFL).ok()?);
    if !flags.contains(OFlag::O_DIRECT) {
        return None;
    }
    let mut memory = vec![0; span.of(message).len().max(span.of(reply).len()) + BLOCK_BYTES];
    let start = memory.as_ptr().align_offset(BLOCK_BYTES);
    let memory = memory.get_mut(start..)?;
    let at = if let Argument::Value(at) = at { at.cast_signed() } else { 0 };
    let done = match i64::from(call.number) {
        libc::SYS_read | libc::SYS_readv => read(file, over(memory, span.of(reply))),
        libc::SYS_pread64 | libc::SYS_preadv => pread(file, over(memory, span.of(reply)), at),
        libc::SYS_write | libc::SYS_writev => write(file, over(memory, span.of(message))),
        libc::SYS_pwrite64 | libc::SYS_pwritev => pwrite(file, over(memory, span.of(message)), at),
        _ => return None,
    };
    if let Argument::Output(span) | Argument::OutputVector(span) = data {
        span.of_mut(reply).iter_mut().zip(memory).for_each(|(to, from)| *to = *from);
    }
    Some(done.map_or_else(|errno| -i64::from(errno as i32), |bytes| bytes as i64))
}

/// A copy of these bytes at the beginning of `memory`.
fn over<'a>(memory: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let copy = memory.get_mut(..bytes.len()).unwrap_or_default();
    copy.copy_from_slice(bytes);
    copy
}

fn address<T: ?Sized>(pointer: *const T) -> libc::c_long {
    pointer.cast::<u8>().expose_provenance().cast_signed() as libc::c_long
}

fn input(message: &[u8], span: Span) -> libc::iovec {
    let part = span.of(message);
    libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() }
}

fn output(reply: &mut [u8], span: Span) -> libc::iovec {
    let part = span.of_mut(reply);
    libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() }
}

/// A part of no bytes is a null pointer, as programs write it.
fn header_of(data: &mut libc::iovec, name: libc::iovec, control: libc::iovec) -> libc::msghdr {
    let pointer = |part: &libc::iovec| if part.iov_len == 0 { std::ptr::null_mut() } else { part.iov_base };
    libc::msghdr {
        msg_name: pointer(&name),
        msg_namelen: name.iov_len as u32,
        msg_iov: data,
        msg_iovlen: 1,
        msg_control: pointer(&control),
        msg_controllen: control.iov_len,
        msg_flags: 0,
    }
}

/// Whether a descriptor of the program is a file or a disk, so that reading on does not wait.
pub fn never_waits(descriptor: RawFd) -> bool {
    // SAFETY: the structure is written by the call, or not read.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        libc::fstat(descriptor, &mut status) == 0
            && [libc::S_IFREG, libc::S_IFBLK].contains(&(status.st_mode & libc::S_IFMT))
    }
}

/// Whether a descriptor of the program is a socket that sends each message as one, or not at all.
pub fn keeps_messages_whole(descriptor: RawFd) -> bool {
    let mut kind: libc::c_int = 0;
    let mut bytes = size_of::<libc::c_int>() as libc::socklen_t;
    let (to, length) = ((&raw mut kind).cast(), &raw mut bytes);
    // SAFETY: both live longer than the call, and the length is right.
    let result = unsafe { libc::getsockopt(descriptor, libc::SOL_SOCKET, libc::SO_TYPE, to, length) };
    result == 0 && kind != libc::SOCK_STREAM
}

/// The time limit that a socket of the program has for calls that receive, or for those that send. `None`: it has none, or
/// it is no socket.
pub fn time_limit(descriptor: RawFd, sends: bool) -> Option<Duration> {
    // SAFETY: no service thread's: the program's descriptors are in another table than theirs. If the program has closed
    // it, the calls fail.
    let socket = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let limit = if sends { getsockopt(&socket, SendTimeout) } else { getsockopt(&socket, ReceiveTimeout) };
    let us = u64::try_from(limit.ok()?.num_microseconds()).ok()?;
    (us != 0).then(|| Duration::from_micros(us))
}

/// Whether a socket of the program is of this machine.
pub fn is_local(descriptor: RawFd) -> bool {
    getsockname::<SockaddrStorage>(descriptor).is_ok_and(|name| name.family() == Some(AddressFamily::Unix))
}

/// Ends the process as its program did. A program that a signal has killed leaves no core of the proxy.
pub fn end(end: End) -> ! {
    let status = match end {
        End::Exit(status) => status,
        End::Signal(signal) => {
            let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
            die_of(signal);
            128 + signal
        }
    };
    // SAFETY: ends the process; no destructor of the proxy has anything to do.
    unsafe { libc::_exit(status) }
}

/// Returns only if the signal kills nobody.
fn die_of(signal: i32) {
    // SAFETY: the set is written before it is read, and lives longer than the calls; the default action replaces no
    // handler of Rust code.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(signal);
    }
}
