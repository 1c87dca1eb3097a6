// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sleeps (clock_nanosleep(2)), on a CPU that has nothing else to run: it halts until the time has come (`run/waits.rs`).
//! Where other threads want the CPU the sleep is the host's, and it becomes the host's when other threads or a signal
//! come. A long sleep for a time, not until one, is the host's from the beginning: if it is interrupted, only the host
//! knows how to continue with what is left.

use super::call::Call;
use crate::base::escape::CallEnd;
use crate::base::place::{Event, Place, Wait};
use crate::host::{Host, Permits, Thread};
use tacet_arch::{Processor, UserState};
use tacet_logic::deadlines::Deadline;

const CLOCK_REALTIME: u64 = 0;
const CLOCK_MONOTONIC: u64 = 1;
const TIMER_ABSTIME: u32 = 1;
pub const NS_PER_S: u64 = 1_000_000_000;
/// The longest sleep for a time. A signal that comes meanwhile finds the sleep done.
const LONGEST_NS: u64 = 100_000;
/// The longest sleep until a time: 34 years, so that no sum overflows.
const LONGEST_S: u64 = 1 << 30;

pub fn nanosleep<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [requested, ..] = call.user.arguments();
    sleep(call, requested, false)
}

pub fn clock_nanosleep<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [clock, flags, requested, ..] = call.user.arguments();
    match (u64::from(clock as u32), flags as u32) {
        // a change of the time of day does not affect it
        (CLOCK_REALTIME | CLOCK_MONOTONIC, 0) => sleep(call, requested, false),
        (CLOCK_MONOTONIC, TIMER_ABSTIME) => sleep(call, requested, true),
        _ => CallEnd::NOT_SERVED,
    }
}

/// `requested` is the address of a struct timespec.
fn sleep<H: Host>(call: &Call<'_, '_, H>, requested: u64, absolute: bool) -> CallEnd {
    deadline(call, requested, absolute).map_or(CallEnd::NOT_SERVED, |deadline| sleep_until(call, deadline))
}

/// The thread waits until then, unless its host wants it back.
pub fn sleep_until<H: Host>(call: &Call<'_, '_, H>, deadline: Deadline) -> CallEnd {
    if call.cpu.waits.borrow_mut().add(call.number, deadline).is_err() {
        return CallEnd::NOT_SERVED;
    }
    match call.cpu.change(call.number, call.thread, Event::Block(Wait::Time)) {
        Place::WaitsForTime => CallEnd::Block,
        _ => {
            call.cpu.waits.borrow_mut().remove(call.number);
            CallEnd::NOT_SERVED
        }
    }
}

/// Until when the calling thread is to wait, if it may wait here.
pub fn deadline<H: Host>(call: &Call<'_, '_, H>, requested: u64, absolute: bool) -> Option<Deadline> {
    let allowed = call.uncontended && call.thread.permits().has(Permits::SLEEPS);
    if !allowed || call.cpu.waits.borrow().is_full() {
        return None;
    }
    let half = |index: u64| call.user_load(requested.wrapping_add(4 * index)).map(u64::from);
    let (seconds, ns) = (half(0)? | half(1)? << 32, half(2)? | half(3)? << 32);
    if seconds >= LONGEST_S || ns >= NS_PER_S {
        return None;
    }
    let time = seconds * NS_PER_S + ns;
    if !absolute && time > LONGEST_NS {
        return None;
    }
    // It reads the clock even if it needs none: where there is none, no wait would ever be over.
    let clock = call.cpu.host.clock()?;
    Some(if absolute { Deadline::at(time) } else { Deadline::after(&clock, call.cpu.host.processor().cycles(), time) })
}
