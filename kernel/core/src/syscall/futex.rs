// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Private futexes (futex(2)): waiting, waking and requeueing without Linux.
//!
//! Threads of one process may at the same time wait on Linux for the same futex:
//! one that is with Linux for a moment, one whose core runs others. Linux
//! counts them before it compares (`space.h`); a core that finds any forwards the
//! call after it has woken its own. The other way round Linux asks a core to wake
//! (`linux/delegate/futex.c`). A waiting thread that Linux calls back goes on waiting there,
//! unless a signal interrupts the call: as on Linux.

use super::Call;
use super::time::deadline;
use crate::waits::{self, Waits};
use tacet_abi::{
    TACET_ATTENTION_WOKEN, TACET_CONTEXTS_LIMIT, TACET_EVENT_WAITED, TACET_LOCAL_FUTEXES, TACET_LOCAL_STAYS,
    TACET_MAX_CPUS,
};
use tacet_logic::deadlines::Deadline;
use tacet_logic::futex::{Key, Refusal, Table};
use tacet_logic::woken::{Links, Woken};
use tacet_metal::{Core, Exit, Served};

const THREADS: usize = TACET_CONTEXTS_LIMIT as usize;

/// Of all cores; the co-kernel's own memory.
static WAITING: Table<1024, THREADS> = Table::new();
static LINKS: Links<THREADS> = Links::new();
/// By core.
static WOKEN: [Woken; TACET_MAX_CPUS as usize] = [const { Woken::new() }; TACET_MAX_CPUS as usize];

/// include/uapi/linux/futex.h
const WAIT: u32 = 0;
const WAKE: u32 = 1;
const REQUEUE: u32 = 3;
const CMP_REQUEUE: u32 = 4;
const WAIT_BITSET: u32 = 9;
const WAKE_BITSET: u32 = 10;
const PRIVATE_FLAG: u32 = 128;
const CLOCK_REALTIME: u32 = 256;
const MATCH_ANY: u32 = u32::MAX;

/// EAGAIN and ETIMEDOUT, as a call gives them.
const AGAIN: u64 = -11i64 as u64;
const TIMED_OUT: u64 = -110i64 as u64;
/// futex(2), of whatever waits here.
const NUMBER: u64 = 202;

pub fn futex(call: &Call<'_>) -> Served {
    let [address, operation, value, timeout, second, third] = call.context.arguments();
    let (operation, value) = (operation as u32, value as u32);
    let unlocked = call.context.local() & TACET_LOCAL_FUTEXES != 0;
    if !unlocked || operation & PRIVATE_FLAG == 0 || !address.is_multiple_of(4) {
        return Served::Forward;
    }
    // What every unlocking does that somebody might wait for.
    if operation == WAKE | PRIVATE_FLAG {
        return wake(call, address, value, MATCH_ANY);
    }
    let plain = operation & !PRIVATE_FLAG;
    // The clock means nothing without a time limit; but not every operation may name one.
    let clockless = timeout == 0 && plain == WAIT_BITSET | CLOCK_REALTIME;
    match if clockless { WAIT_BITSET } else { plain } {
        WAIT if timeout == 0 => wait(call, address, value, MATCH_ANY, None),
        WAIT_BITSET if timeout == 0 && third as u32 != 0 => wait(call, address, value, third as u32, None),
        // by CLOCK_MONOTONIC, and not from now on: Linux can go on with it
        WAIT_BITSET if third as u32 != 0 => match deadline(call, timeout, true) {
            Some(until) => wait(call, address, value, third as u32, Some(until)),
            None => Served::Forward,
        },
        _ if plain == WAKE => wake(call, address, value, MATCH_ANY),
        _ if plain == WAKE_BITSET && third as u32 != 0 => wake(call, address, value, third as u32),
        _ if plain == REQUEUE => requeue(call, address, second, (value, timeout as u32), None),
        _ if plain == CMP_REQUEUE => requeue(call, address, second, (value, timeout as u32), Some(third as u32)),
        _ => Served::Forward,
    }
}

fn wait(call: &Call<'_>, address: u64, value: u32, bitset: u32, until: Option<Deadline>) -> Served {
    let Some(space) = call.core.space(call.context) else { return Served::Forward };
    let key = Key { root: call.context.root(), address };
    space.begin_wait();
    let unchanged = || {
        let now = call.core.user_load(address).ok_or(())?;
        if now == value {
            // Before a waker can find it.
            call.core.block(call.context);
        }
        Ok(now == value)
    };
    let answer = match WAITING.wait(key, bitset, call.thread, unchanged) {
        Ok(()) => {
            // Room for it was there; woken already, it is still this core that goes on with it.
            if let Some(until) = until {
                let _ = call.waits.borrow_mut().add(call.thread, until);
            }
            return Served::Blocked;
        }
        Err(Refusal::Changed) => Served::Done(AGAIN),
        Err(Refusal::Failed(())) => Served::Forward,
    };
    space.end_wait();
    answer
}

fn wake(call: &Call<'_>, address: u64, count: u32, bitset: u32) -> Served {
    let Some(space) = call.core.space(call.context) else { return Served::Forward };
    // As on Linux, nobody asked for still wakes one. More than there can be is a
    // negative number there.
    if count as i32 <= 0 || space.waited_for_on_linux(address) {
        return Served::Forward;
    }
    if !space.waited_for_on_cores() {
        return Served::Done(0);
    }
    let key = Key { root: call.context.root(), address };
    Served::Done(wake_here(call.core, key, bitset, count, Waker::Thread).into())
}

fn requeue(call: &Call<'_>, from: u64, to: u64, (wake, take): (u32, u32), expected: Option<u32>) -> Served {
    let Some(space) = call.core.space(call.context) else { return Served::Forward };
    if ((wake | take) as i32) < 0
        || !to.is_multiple_of(4)
        || space.waited_for_on_linux(from)
        || space.waited_for_on_linux(to)
    {
        return Served::Forward;
    }
    // Linux finds out about the second address only if somebody is moved there.
    if call.core.user_load(to).is_none() {
        return Served::Forward;
    }
    let root = call.context.root();
    let keys = (Key { root, address: from }, Key { root, address: to });
    let unchanged = || match expected {
        Some(expected) => call.core.user_load(from).map(|now| now == expected).ok_or(()),
        None => Ok(true),
    };
    match requeue_here(call.core, keys, (wake, take), Waker::Thread, unchanged) {
        Ok(done) => Served::Done(done.into()),
        Err(Refusal::Changed) => Served::Done(AGAIN),
        Err(Refusal::Failed(())) => Served::Forward,
    }
}

/// Wakes and moves, and says how many in all, as Linux counts.
fn requeue_here<E>(
    core: &Core,
    keys: (Key, Key),
    most: (u32, u32),
    waker: Waker,
    unchanged: impl FnOnce() -> Result<bool, E>,
) -> Result<u32, Refusal<E>> {
    let mut bell = Bell { waker, home: None };
    let done = WAITING.requeue(keys, most, unchanged, |thread| bell.deliver(core, thread));
    bell.ring(core);
    done.map(|(woken, moved)| woken + moved)
}

/// Wakes, and says how many.
fn wake_here(core: &Core, key: Key, bitset: u32, count: u32, waker: Waker) -> u32 {
    let mut bell = Bell { waker, home: None };
    let woken = WAITING.wake(key, bitset, count, |thread| bell.deliver(core, thread));
    bell.ring(core);
    woken
}

/// Who wakes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waker {
    /// The thread that runs on this core.
    Thread,
    Linux,
}

/// A core that is still to be told of threads that were woken: mostly there is one, and
/// it is told when the bucket's lock is free, which its thread may want at once.
struct Bell {
    waker: Waker,
    home: Option<u32>,
}

impl Bell {
    /// The thread's wait has ended: its core is to know. Under the bucket's lock.
    fn deliver(&mut self, core: &Core, thread: u32) {
        let context = core.context(thread);
        let home = context.as_ref().map(|context| context.home());
        let (Some(context), Some((home, list))) =
            (context, home.and_then(|home| Some((home, WOKEN.get(home as usize)?))))
        else {
            tacet_metal::die(format_args!("context {thread}: waits, and is not posted"));
        };
        // Who wakes a thread that shares its core, and can have no other, will mostly wait for it next.
        if self.waker == Waker::Thread && home == core.index() && context.local() & TACET_LOCAL_STAYS != 0 {
            context.goes_on_here();
        }
        list.push(&LINKS, thread);
        if self.home != Some(home) {
            self.ring(core);
            self.home = Some(home);
        }
    }

    fn ring(&mut self, core: &Core) {
        if let Some(home) = self.home.take() {
            core.call(home, TACET_ATTENTION_WOKEN);
        }
    }
}

/// Whether another core has woken a thread of this one.
pub fn anybody_woken(core: &Core) -> bool {
    WOKEN.get(core.index() as usize).is_some_and(|list| !list.is_empty())
}

/// Hands the threads of this core that were woken to `resume`; true: it is to go on here in any case.
pub fn take_woken(core: &mut Core, waits: &mut Waits, mut resume: impl FnMut(&mut Core, u32, bool)) {
    let Some(list) = WOKEN.get(core.index() as usize) else { return };
    list.take_all(&LINKS, |thread| {
        let here = core.context(thread).is_some_and(|context| context.is_to_go_on_here());
        waits.remove(thread);
        end_wait(core, thread, Some(0));
        resume(core, thread, here);
    });
}

/// Whether a thread that waits on this core does so for a futex, or was woken there.
pub fn is_waiting(core: &Core, thread: u32) -> bool {
    core.context(thread).is_some_and(|context| context.call_number() == NUMBER)
}

/// The time of a thread of this core has come; false: somebody has woken it before.
pub fn time_out(core: &Core, thread: u32) -> bool {
    let in_time = WAITING.cancel(thread);
    if in_time {
        end_wait(core, thread, Some(TIMED_OUT));
    }
    in_time
}

/// Gives Linux the waiting threads of this core that it has called back: the wait
/// goes on there.
pub fn return_recalled(core: &mut Core, waits: &mut Waits) {
    if core.blocked() == 0 {
        return;
    }
    for thread in 0..THREADS as u32 {
        let wanted = core
            .context(thread)
            .is_some_and(|context| context.home() == core.index() && context.blocked() && context.recalled());
        match (wanted, wanted.then(|| waits.remove(thread)).flatten()) {
            (true, Some(deadline)) => waits::give(core, thread, deadline),
            (true, None) => give(core, thread),
            _ => {}
        }
    }
}

/// Gives Linux a thread that waits. Who was woken meanwhile has its answer already.
pub fn give(core: &mut Core, thread: u32) {
    if WAITING.cancel(thread) {
        end_wait(core, thread, None);
        if let Some(context) = core.context(thread) {
            context.count(Exit::Syscall);
        }
        core.give_back(thread, TACET_EVENT_WAITED);
    }
}

/// Wakes and moves whom Linux wants woken and moved.
pub fn wake_for_linux(core: &Core) {
    if let Some(request) = core.wake_request() {
        let key = Key { root: request.root, address: request.address };
        let done = if request.moved == 0 {
            wake_here(core, key, request.bitset, request.count, Waker::Linux)
        } else {
            let keys = (key, Key { root: request.root, address: request.to });
            // Linux has compared.
            requeue_here(core, keys, (request.count, request.moved), Waker::Linux, || Ok::<_, ()>(true)).unwrap_or(0)
        };
        core.answer_wake(request.ordinal, done);
    }
}

fn end_wait(core: &Core, thread: u32, result: Option<u64>) {
    let Some(context) = core.context(thread) else {
        tacet_metal::die(format_args!("context {thread}: was woken, and is not posted"));
    };
    core.unblock(&context, result);
    if let Some(space) = core.space(&context) {
        space.end_wait();
    }
}
