// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sleeps (clock_nanosleep(2)), on a core that has nothing else to run: it halts until the
//! time has come (`waits.rs`). Where others want the core the sleep is Linux's, and becomes
//! Linux's when others come, or a signal does. A long sleep for a time, not until one, is
//! Linux's from the beginning: interrupted, only Linux knows how to go on with what is left.

use super::Call;
use tacet_abi::TACET_LOCAL_SLEEPS;
use tacet_logic::deadlines::Deadline;
use tacet_metal::Served;

const CLOCK_REALTIME: u64 = 0;
const CLOCK_MONOTONIC: u64 = 1;
const TIMER_ABSTIME: u32 = 1;
const NS_PER_S: u64 = 1_000_000_000;
/// For a time. A signal that comes meanwhile finds the sleep done.
const LONGEST_NS: u64 = 100_000;
/// More is Linux's: 34 years, so that no sum overflows.
const LONGEST_S: u64 = 1 << 30;

pub fn nanosleep(call: &Call<'_>) -> Served {
    let [requested, ..] = call.context.arguments();
    sleep(call, requested, false)
}

pub fn clock_nanosleep(call: &Call<'_>) -> Served {
    let [clock, flags, requested, ..] = call.context.arguments();
    match (u64::from(clock as u32), flags as u32) {
        // what the time of day says meanwhile is nothing to it
        (CLOCK_REALTIME | CLOCK_MONOTONIC, 0) => sleep(call, requested, false),
        (CLOCK_MONOTONIC, TIMER_ABSTIME) => sleep(call, requested, true),
        _ => Served::Forward,
    }
}

/// `requested` is the address of a struct timespec.
fn sleep(call: &Call<'_>, requested: u64, absolute: bool) -> Served {
    let Some(deadline) = deadline(call, requested, absolute) else { return Served::Forward };
    if call.waits.borrow_mut().add(call.thread, deadline).is_err() {
        return Served::Forward;
    }
    call.core.block(call.context);
    Served::Blocked
}

/// Until when a thread is to wait that may wait here; None: that is Linux's.
pub fn deadline(call: &Call<'_>, requested: u64, absolute: bool) -> Option<Deadline> {
    let allowed = call.alone && call.context.local() & TACET_LOCAL_SLEEPS != 0;
    if !allowed || call.waits.borrow().is_full() {
        return None;
    }
    let half = |index: u64| call.core.user_load(requested.wrapping_add(4 * index)).map(u64::from);
    let (seconds, ns) = (half(0)? | half(1)? << 32, half(2)? | half(3)? << 32);
    if seconds >= LONGEST_S || ns >= NS_PER_S {
        return None;
    }
    let time = seconds * NS_PER_S + ns;
    if !absolute && time > LONGEST_NS {
        return None;
    }
    // It looks at the clock even where it needs none: what is never over is Linux's.
    let clock = call.core.clock()?;
    Some(if absolute { Deadline::at(time) } else { Deadline::after(&clock, call.core.now(), time) })
}
