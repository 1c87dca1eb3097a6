// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads that wait on this core until a time: asleep, or for a futex.
//!
//! Their time is kept only while the core has nothing to run: a program that computes is not
//! interrupted for another thread's sake. When the core gets something to run, who waits so
//! goes on waiting on Linux, and so does who is called back.

use crate::sched::Queue;
use crate::syscall::futex;
use tacet_abi::{TACET_EVENT_WAITED, TACET_EVENT_WOKEN, TACET_RING_ENTRIES};
use tacet_logic::deadlines::{Deadline, Deadlines};
use tacet_metal::{Core, Exit};

/// As many as can be posted to a core.
pub type Waits = Deadlines<{ TACET_RING_ENTRIES as usize }>;

/// Lets go on whose time has come; those whose end cannot be told go on waiting on Linux.
pub fn end_over(core: &mut Core, queue: &mut Queue, waits: &mut Waits) {
    if waits.is_empty() {
        return;
    }
    let Some(clock) = core.clock() else { return give_all(core, waits) };
    while let Some(thread) = waits.take_over(&clock, core.now()) {
        if futex::is_waiting(core, thread) {
            // else somebody has just woken it
            if !futex::time_out(core, thread) {
                continue;
            }
        } else {
            end_sleep(core, thread, Some(0));
        }
        if queue.push(thread).is_err() {
            core.give_back(thread, TACET_EVENT_WOKEN);
        }
    }
}

/// How long the core may halt at most; None: until somebody rings.
pub fn ticks_left(core: &Core, waits: &Waits) -> Option<u64> {
    if waits.is_empty() {
        return None;
    }
    let clock = core.clock().unwrap_or(core.unread_clock());
    waits.ticks_left(&clock, core.now())
}

/// Gives Linux all of them.
pub fn give_all(core: &mut Core, waits: &mut Waits) {
    while let Some((thread, deadline)) = waits.take_any() {
        give(core, thread, deadline);
    }
}

/// Gives Linux a thread that waits until a time; who was woken meanwhile has its answer already.
pub fn give(core: &mut Core, thread: u32, deadline: Deadline) {
    if futex::is_waiting(core, thread) {
        return futex::give(core, thread);
    }
    let clock = core.clock().unwrap_or(core.unread_clock());
    let left = deadline.ns_left(&clock, core.now());
    end_sleep(core, thread, None);
    if let Some(context) = core.context(thread) {
        context.set_sleep_left(left);
        context.count(Exit::Syscall);
    }
    core.give_back(thread, TACET_EVENT_WAITED);
}

fn end_sleep(core: &Core, thread: u32, result: Option<u64>) {
    let Some(context) = core.context(thread) else {
        tacet_metal::die(format_args!("context {thread}: sleeps, and is not posted"));
    };
    core.unblock(&context, result);
}
