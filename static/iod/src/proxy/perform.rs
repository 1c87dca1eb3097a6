// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One call, from its message to its reply.
//!
//! Proxy threads call `perform`. Which calls there are and what their arguments are is `tacet_wire`'s to say; which
//! files, sockets and limits they meet is Linux's, since the proxy is the user.

use std::time::Duration;

use nix::sys::signal::Signal;
use tacet_wire::demarshal::{Argument, Call, mark_kicked, refuse};
use tacet_wire::errno::Errno;
use tacet_wire::stored::answer;

use super::patience::Patience;
use super::program;
use super::raw;
use super::service::Service;
use super::signals::KICK;
use super::store::Store;
use super::thread::Thread;

/// How the process's program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
}

/// What a thread keeps from message to message.
#[derive(Debug, Default)]
pub struct Kept {
    store: Store,
    patience: Patience,
}

/// The reply's length, and what follows.
#[derive(Debug)]
pub enum Outcome {
    Reply(usize),
    ThreadEnds(usize),
    ProcessEnds(usize, End),
}

/// Performs a call, or what a message wants of the thread's store, and writes the reply.
pub fn perform(message: &[u8], reply: &mut [u8], kept: &mut Kept, service: &Service, thread: &Thread) -> Outcome {
    let pending = &service.pending;
    let Kept { store, patience } = kept;
    match store.serve(message) {
        Some(Ok(part)) => return Outcome::Reply(answer(part, pending.take(), reply)),
        Some(Err(errno)) => return Outcome::Reply(refuse(errno, pending.take(), reply)),
        None => {}
    }
    let mut wait = None;
    let performed = raw::execute(message, reply, store.bytes(), |call, reply| {
        wait = Some(patience.begin(call.again, || time_limit(call), KICK));
        program::instead(call, message, reply).or_else(|| instead(call))
    });
    let (call, result) = match performed {
        Ok(performed) => performed,
        Err(errno) => return Outcome::Reply(refuse(errno, pending.take(), reply)),
    };
    let result = match wait {
        Some(ref wait) if result == Errno::EINTR.result() && wait.is_over() => out_of_time(&call),
        Some(ref wait) if result == Errno::EINTR.result() => patience.interrupted(call.number, wait, time_limit(&call)),
        _ => result,
    };
    for (errno, signal) in [(libc::EPIPE, Signal::SIGPIPE), (libc::EFBIG, Signal::SIGXFSZ)] {
        if result == -i64::from(errno) && raw::take_own(signal) {
            pending.add(signal as u32);
        }
    }
    let kicked = result > 0 && thread.is_kicked();
    if let Some(wait) = wait.filter(|_| kicked && time_limit(&call).is_some()) {
        patience.keep(&wait);
    }
    let goes_on = call.wants_whole() && raw::never_waits(descriptor(&call, 0));
    let bytes = call.reply(result, pending.take(), goes_on, reply);
    if kicked {
        mark_kicked(reply);
    }
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
    let is_piece = call.cut && sends && raw::keeps_messages_whole(descriptor(call, 0));
    is_piece.then_some(-i64::from(libc::EMSGSIZE))
}

/// The low half, as Linux takes it.
fn end(status: u64, signal: u64) -> End {
    match low(signal) {
        0 => End::Exit(low(status) & 0xff),
        signal => End::Signal(signal),
    }
}

/// The descriptor in this argument.
fn descriptor(call: &Call, place: usize) -> i32 {
    match call.arguments.get(place) {
        Some(Argument::Value(value)) => low(*value),
        _ => -1,
    }
}

/// Calls on sockets, by what they wait for, with the argument that is the socket.
const RECEIVE: [(libc::c_long, usize); 9] = [
    (libc::SYS_read, 0),
    (libc::SYS_readv, 0),
    (libc::SYS_preadv2, 0),
    (libc::SYS_recvfrom, 0),
    (libc::SYS_recvmsg, 0),
    (libc::SYS_accept, 0),
    (libc::SYS_accept4, 0),
    (libc::SYS_splice, 0),
    (libc::SYS_sendfile, 1),
];
const SEND: [(libc::c_long, usize); 8] = [
    (libc::SYS_write, 0),
    (libc::SYS_writev, 0),
    (libc::SYS_pwritev2, 0),
    (libc::SYS_sendto, 0),
    (libc::SYS_sendmsg, 0),
    (libc::SYS_connect, 0),
    (libc::SYS_sendfile, 0),
    (libc::SYS_splice, 2),
];

/// How long the call waits at most because its socket says so.
fn time_limit(call: &Call) -> Option<Duration> {
    let limit = |calls: &[(libc::c_long, usize)], sends| {
        let (_, place) = calls.iter().find(|(number, _)| *number == i64::from(call.number))?;
        raw::time_limit(descriptor(call, *place), sends)
    };
    limit(&RECEIVE, false).or_else(|| limit(&SEND, true))
}

/// As Linux says that the limit is over. A connection goes on by itself.
fn out_of_time(call: &Call) -> i64 {
    let goes_on = i64::from(call.number) == libc::SYS_connect && !raw::is_local(descriptor(call, 0));
    -i64::from(if goes_on { libc::EINPROGRESS } else { libc::EAGAIN })
}

fn low(value: u64) -> i32 {
    (value as u32).cast_signed()
}
