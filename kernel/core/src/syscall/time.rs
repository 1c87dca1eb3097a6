// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Short sleeps. A core has no timer, and needs none: a sleep that ends before
//! Linux could have taken the thread and given it back is waited for right here,
//! if nobody else wants the core. Longer ones are Linux's, which loses nothing by
//! it. A signal that comes meanwhile finds the sleep done.

use super::Call;
use tacet_metal::Served;

const LONGEST_NS: u64 = 100_000;
const CLOCK_REALTIME: u64 = 0;
const CLOCK_MONOTONIC: u64 = 1;

pub fn nanosleep(call: &Call<'_>) -> Served {
    let [requested, ..] = call.context.arguments();
    sleep(call, requested)
}

pub fn clock_nanosleep(call: &Call<'_>) -> Served {
    let [clock, flags, requested, ..] = call.context.arguments();
    let clock = u64::from(clock as u32);
    if flags as u32 != 0 || clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC {
        return Served::Forward;
    }
    sleep(call, requested)
}

/// `requested` is the address of a struct timespec.
fn sleep(call: &Call<'_>, requested: u64) -> Served {
    let word = |index: u64| call.core.user_load(requested.wrapping_add(4 * index)).map(u64::from);
    let (Some(0), Some(0), Some(ns), Some(0)) = (word(0), word(1), word(2), word(3)) else {
        return Served::Forward;
    };
    if ns > LONGEST_NS || !call.alone {
        return Served::Forward;
    }
    call.core.spin(ns, || false);
    Served::Done(0)
}
