// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A request of Linux to one core, in a slot of the core's page: a word says where it stands, the request and its result
//! lie beside it.
//!
//! Linux writes a request into a slot that is free, then opens it. The core [`take`]s it before it reads it, and
//! [`answer`]s when the result is written. Linux reads that, and the slot is free again.
//!
//! A core that is busy takes no request. Linux need not wait for that: it withdraws the request and asks another core.
//! A request is taken and withdrawn by one compare-and-exchange each, of which one succeeds. So what was withdrawn is
//! never served, and what was taken is always answered.

use crate::atomic::Atomic32;
use core::sync::atomic::Ordering;

/// No request; Linux may write one.
pub const FREE: u32 = 0;
/// A request is written. The core may take it, Linux may withdraw it.
pub const OPEN: u32 = 1;
/// The core is at work on it.
pub const TAKEN: u32 = 2;
/// The result is written.
pub const ANSWERED: u32 = 3;

/// Takes the request that is open, if one is. True: the core serves it, then [`answer`]s.
#[inline]
pub fn take<A: Atomic32>(state: &A) -> bool {
    // Acquires what Linux wrote before it opened the slot.
    while state.load(Ordering::Relaxed) == OPEN {
        if state.compare_exchange_weak(OPEN, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return true;
        }
    }
    false
}

/// The result of the request that was taken is written.
#[inline]
pub fn answer<A: Atomic32>(state: &A) {
    state.store(ANSWERED, Ordering::Release);
}
