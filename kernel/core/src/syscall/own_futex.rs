// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Futexes where no other kernel has any (`Permits::OWN_FUTEXES`): every operation of futex(2) has its result here,
//! errors and time limits included. Asked after `futex.rs`, which serves the common cases of private futexes.
//!
//! Shared futexes are those of the host's key (`Host::shared_futex`). Those with priority inheritance are refused, as by
//! a Linux that was built without them.

use super::call::Call;
use super::futex::{
    AGAIN, CLOCK_REALTIME, CMP_REQUEUE, MATCH_ANY, PRIVATE_FLAG, REQUEUE, USER_END, WAIT, WAIT_BITSET, WAKE,
    WAKE_BITSET, Waker,
};
use super::time::NS_PER_S;
use crate::base::escape::{CallEnd, Reason};
use crate::base::place::{Event, Place, Wait};
use crate::host::{FutexCounters, Host, Thread};
use tacet_arch::{Processor, UserState};
use tacet_logic::deadlines::Deadline;
use tacet_logic::futex::{Key, Refusal};

/// futex(2), as the table of calls numbers it.
pub const NUMBER: u64 = 202;

const WAKE_OP: u32 = 5;
const WAIT_REQUEUE_PI: u32 = 11;
const LOCK_PI2: u32 = 13;

/// Errors as a call gives them.
const BAD_ADDRESS: u64 = -14i64 as u64;
const INVALID: u64 = -22i64 as u64;
const NO_CALL: u64 = -38i64 as u64;

/// No clock gets as far.
const LATEST_S: u64 = 1 << 33;

/// The result of an operation, or the end that its call has at once.
type Outcome<T = u64> = Result<T, CallEnd>;

fn refused<T>(error: u64) -> Outcome<T> {
    Err(CallEnd::Done(error))
}

pub fn futex<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    perform(call).map_or_else(|end| end, CallEnd::Done)
}

fn perform<H: Host>(call: &Call<'_, '_, H>) -> Outcome {
    let [address, operation, value, timeout, second, third] = call.user.arguments();
    let (operation, value, third) = (operation as u32, value as u32, third as u32);
    let plain = operation & !(PRIVATE_FLAG | CLOCK_REALTIME);
    let realtime = operation & CLOCK_REALTIME != 0;
    // Linux reads the time before it looks at anything else.
    let until = match plain {
        WAIT if timeout != 0 => Some(end_of_relative_wait(call, timeout)?),
        WAIT_BITSET if timeout != 0 => Some(deadline(call, timeout, realtime)?),
        _ => None,
    };
    if realtime && !matches!(plain, WAIT_BITSET | WAIT_REQUEUE_PI | LOCK_PI2) {
        return refused(NO_CALL);
    }
    let key = |address| key(call, address, operation & PRIVATE_FLAG != 0);
    match plain {
        WAIT => wait(call, key(address)?, value, MATCH_ANY, until),
        WAIT_BITSET | WAKE_BITSET if third == 0 => refused(INVALID),
        WAIT_BITSET => wait(call, key(address)?, value, third, until),
        WAKE => Ok(wake(call, key(address)?, value, MATCH_ANY)),
        WAKE_BITSET => Ok(wake(call, key(address)?, value, third)),
        REQUEUE => requeue(call, (key(address)?, key(second)?), (value, timeout as u32), None),
        CMP_REQUEUE => requeue(call, (key(address)?, key(second)?), (value, timeout as u32), Some((address, third))),
        WAKE_OP => {
            let keys = (key(address)?, key(second)?);
            let holds = change(call, second, third)?;
            let first = wake(call, keys.0, value, MATCH_ANY);
            Ok(first + if holds { wake(call, keys.1, timeout as u32, MATCH_ANY) } else { 0 })
        }
        _ => refused(NO_CALL),
    }
}

fn key<H: Host>(call: &Call<'_, '_, H>, address: u64, private: bool) -> Outcome<Key> {
    match address {
        _ if !address.is_multiple_of(4) => refused(INVALID),
        _ if address >= USER_END => refused(BAD_ADDRESS),
        _ if private => Ok(Key { root: call.thread.root(), address }),
        _ => Ok(call.cpu.host.shared_futex(call.thread, address)),
    }
}

/// A struct timespec in nanoseconds.
fn time<H: Host>(call: &Call<'_, '_, H>, at: u64) -> Outcome {
    let half = |index: u64| call.user_load(at.wrapping_add(4 * index)).map(u64::from);
    let word = |index| Some(half(index)? | half(index + 1)? << 32);
    let (Some(seconds), Some(ns)) = (word(0), word(2)) else { return refused(BAD_ADDRESS) };
    if (seconds as i64) < 0 || ns >= NS_PER_S {
        return refused(INVALID);
    }
    Ok(seconds.min(LATEST_S) * NS_PER_S + ns)
}

/// Until when a call waits that says how long. One that was interrupted for nothing goes on until the time that it had,
/// whatever the program's memory says now.
fn end_of_relative_wait<H: Host>(call: &Call<'_, '_, H>, at: u64) -> Outcome<Deadline> {
    let asked = time(call, at);
    match call.cpu.host.end_of_relative_wait(call.number, asked.as_ref().ok().copied()) {
        Some(until) => Ok(Deadline::at(until)),
        None => Err(asked.map_or_else(|end| end, |_| CallEnd::NOT_SERVED)),
    }
}

/// Until when a call waits whose end is at `at`, a struct timespec.
fn deadline<H: Host>(call: &Call<'_, '_, H>, at: u64, realtime: bool) -> Outcome<Deadline> {
    let time = time(call, at)?;
    let ahead = if realtime { call.cpu.host.realtime_ahead_ns() } else { 0 };
    Ok(Deadline::at(time.saturating_sub(ahead)))
}

/// Why a thread does not begin to wait.
enum Not {
    Readable,
    /// Its host wants it.
    Free,
}

fn wait<H: Host>(call: &Call<'_, '_, H>, key: Key, value: u32, bitset: u32, until: Option<Deadline>) -> Outcome {
    let [address, ..] = call.user.arguments();
    let Some(space) = call.cpu.host.space(call.thread) else { return Err(CallEnd::NOT_SERVED) };
    if until.is_some() && call.cpu.waits.borrow().is_full() {
        return Err(CallEnd::NOT_SERVED);
    }
    space.begin_wait();
    let unchanged = || {
        if call.user_load(address).ok_or(Not::Readable)? != value {
            return Ok(false);
        }
        match call.cpu.change(call.number, call.thread, Event::Block(Wait::Futex)) {
            Place::WaitsForFutex => Ok(true),
            _ => Err(Not::Free),
        }
    };
    let end = match call.cpu.common().futexes.wait(key, bitset, call.number, unchanged) {
        Ok(()) => {
            if let Some(until) = until {
                // There is room, and a thread that is woken already is removed by this CPU.
                let _ = call.cpu.waits.borrow_mut().add(call.number, until);
            }
            return Err(CallEnd::Block);
        }
        Err(Refusal::Changed) => Ok(AGAIN),
        Err(Refusal::Failed(Not::Readable)) => Ok(BAD_ADDRESS),
        Err(Refusal::Failed(Not::Free)) => Err(CallEnd::Escape(Reason::NotServed)),
    };
    space.end_wait();
    end
}

/// As on Linux a count of 0, or a negative one, still wakes one thread.
fn wake<H: Host>(call: &Call<'_, '_, H>, key: Key, count: u32, bitset: u32) -> u64 {
    let count = (count as i32).max(1) as u32;
    call.cpu.wake(key, bitset, count, Waker::Thread).into()
}

fn requeue<H: Host>(
    call: &Call<'_, '_, H>,
    keys: (Key, Key),
    (wake, take): (u32, u32),
    expected: Option<(u64, u32)>,
) -> Outcome {
    if ((wake | take) as i32) < 0 {
        return refused(INVALID);
    }
    let unchanged = || match expected {
        Some((address, expected)) => call.user_load(address).map(|now| now == expected).ok_or(()),
        None => Ok(true),
    };
    match call.cpu.requeue(keys, (wake, take), Waker::Thread, unchanged) {
        Ok(done) => Ok(done.into()),
        Err(Refusal::Changed) => Ok(AGAIN),
        Err(Refusal::Failed(())) => Ok(BAD_ADDRESS),
    }
}

/// Changes the word at `address` as `encoded` says (FUTEX_OP of include/uapi/linux/futex.h), in one step for all CPUs.
/// Whether what it was before fulfils the condition in there.
fn change<H: Host>(call: &Call<'_, '_, H>, address: u64, encoded: u32) -> Outcome<bool> {
    let field = |from: u32| (encoded >> from) & 0xfff;
    // Both arguments are signed numbers of twelve bits.
    let signed = |field: u32| ((field << 20) as i32) >> 20;
    let (argument, compared) = (signed(field(12)), signed(field(0)));
    let (operation, condition) = (encoded >> 28, (encoded >> 24) & 15);
    let argument = if operation & 8 != 0 { 1u32 << (argument as u32 & 31) } else { argument as u32 };
    let changed = |old: u32| match operation & 7 {
        0 => Some(argument),
        1 => Some(old.wrapping_add(argument)),
        2 => Some(old | argument),
        3 => Some(old & !argument),
        4 => Some(old ^ argument),
        _ => None,
    };
    let processor = call.cpu.host.processor();
    let mut old = call.user_load(address).ok_or(CallEnd::Done(BAD_ADDRESS))?;
    loop {
        let Some(new) = changed(old) else { return refused(NO_CALL) };
        let found = processor.user_exchange(address, old, new).ok_or(CallEnd::Done(BAD_ADDRESS))?;
        if found == old {
            break;
        }
        old = found;
    }
    let old = old as i32;
    match condition {
        0 => Ok(old == compared),
        1 => Ok(old != compared),
        2 => Ok(old < compared),
        3 => Ok(old <= compared),
        4 => Ok(old > compared),
        5 => Ok(old >= compared),
        _ => refused(NO_CALL),
    }
}
