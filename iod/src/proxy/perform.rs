// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One call, from its message to its reply.
//!
//! Proxy threads call `perform`. Which calls there are and what their arguments are is `tacet_shipping`'s to say; which
//! files, sockets and limits they meet is Linux's, since the proxy is the user.

use nix::sys::signal::Signal;
use tacet_shipping::demarshal::{Argument, Call, refuse};
use tacet_shipping::errno::Errno;

use super::raw;
use super::signals::Pending;

/// How the process's program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
}

/// The reply's length, and what follows.
#[derive(Debug)]
pub enum Outcome {
    Reply(usize),
    ThreadEnds(usize),
    ProcessEnds(usize, End),
}

/// Performs a call, and writes its reply.
pub fn perform(message: &[u8], reply: &mut [u8], pending: &Pending) -> Outcome {
    let performed = raw::execute(message, reply, instead);
    let (call, result) = match performed {
        Ok(performed) => performed,
        Err(errno) => return Outcome::Reply(refuse(errno, pending.take(), reply)),
    };
    for (errno, signal) in [(libc::EPIPE, Signal::SIGPIPE), (libc::EFBIG, Signal::SIGXFSZ)] {
        if result == -i64::from(errno) && raw::take_own(signal) {
            pending.add(signal as u32);
        }
    }
    let goes_on = call.wants_whole() && raw::never_waits(descriptor(&call));
    let bytes = call.reply(result, pending.take(), goes_on, reply);
    match (i64::from(call.number), call.arguments) {
        (libc::SYS_exit, _) => Outcome::ThreadEnds(bytes),
        (libc::SYS_exit_group, [Argument::Value(status), Argument::Value(signal), ..]) => {
            Outcome::ProcessEnds(bytes, end(status, signal))
        }
        _ => Outcome::Reply(bytes),
    }
}

/// Answers a call that is not performed.
pub fn refusal(errno: Errno, reply: &mut [u8]) -> usize {
    refuse(errno, 0, reply)
}

/// The result of a call that Linux does not get: the ends of threads and processes come after their replies, and a
/// piece of a message is no message.
fn instead(call: &Call) -> Option<i64> {
    let number = i64::from(call.number);
    if [libc::SYS_exit, libc::SYS_exit_group].contains(&number) {
        return Some(0);
    }
    let sends = call.arguments.iter().any(|argument| match argument {
        Argument::Input(_) => [libc::SYS_write, libc::SYS_sendto].contains(&number),
        Argument::InputVector(_) => number == libc::SYS_writev,
        Argument::InputMessage { .. } => true,
        _ => false,
    });
    let is_piece = call.cut && sends && raw::keeps_messages_whole(descriptor(call));
    is_piece.then_some(-i64::from(libc::EMSGSIZE))
}

/// The low half, as Linux takes it.
fn end(status: u64, signal: u64) -> End {
    match low(signal) {
        0 => End::Exit(low(status) & 0xff),
        signal => End::Signal(signal),
    }
}

fn descriptor(call: &Call) -> i32 {
    match call.arguments {
        [Argument::Value(value), ..] => low(value),
        _ => -1,
    }
}

fn low(value: u64) -> i32 {
    (value as u32).cast_signed()
}
