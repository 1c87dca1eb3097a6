// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core that has nothing to run first looks for a while whether one of its threads is woken, or whether Linux wants
//! something of it, such as to take the answer to a call; then it sleeps. While it looks, nobody need ring.
//!
//! A waker puts the thread on the core's list, and Linux sets a bit of the core's attention (`tacet_attention`); then
//! either reads the core's mode ([`looks_anyway`]). The core says that it does not look any more, then looks a last time
//! at both. All these accesses are sequentially consistent, or follow a full barrier: either the core finds what it is
//! wanted for, or the other finds that it must ring.

use crate::atomic::Atomic32;
use core::sync::atomic::Ordering;

/// What a core that has nothing to run tells others, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It looks at its list all the time: no waker need ring.
    Looks,
    /// It is about to look a last time, and then sleeps: it must be rung.
    Sleeps,
    /// It does something else, and must be rung.
    Ends,
}

/// Tells others. `value` is what the mode is called in the memory that cores share.
#[inline]
pub fn announce<A: Atomic32>(mode: &A, rest: Rest, value: u32) {
    let order = if rest == Rest::Ends { Ordering::Relaxed } else { Ordering::SeqCst };
    mode.store(value, order);
}

/// A core whose mode has the value `looks` finds what its list or its attention has without being rung. To be asked when
/// they have it.
#[inline]
pub fn looks_anyway<A: Atomic32>(mode: &A, looks: u32) -> bool {
    mode.load(Ordering::SeqCst) == looks
}

/// Rests: `look`s for a while, if there is something to look for, then sleeps unless `is_over`, which looks at the
/// list.
///
/// `say` [`announce`]s. `is_over` includes that the core [is wanted](super::doorbell::is_wanted); `sleep` returns at once
/// if it is, or if it is rung.
#[inline(always)]
pub fn rest(say: impl Fn(Rest), look: Option<impl FnOnce()>, is_over: impl FnOnce() -> bool, sleep: impl FnOnce()) {
    if let Some(look) = look {
        say(Rest::Looks);
        look();
    }
    say(Rest::Sleeps);
    // A core that wakes a thread from here on rings.
    if !is_over() {
        sleep();
    }
    say(Rest::Ends);
}
