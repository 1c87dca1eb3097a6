// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core that has nothing to run first looks for a while whether a thread of its is woken, then sleeps. While it looks,
//! whoever wakes a thread saves the bell.
//!
//! The waker puts the thread on the core's list, then reads the core's mode ([`looks_anyway`]). The core says that it
//! does not look any more, then looks a last time. All four accesses are sequentially consistent: either the core
//! finds the thread, or the waker finds that it must ring.

use crate::atomic::Atomic32;
use core::sync::atomic::Ordering;

/// What the host's memory calls a core's modes.
#[derive(Clone, Copy, Debug)]
pub struct Modes {
    /// Has nothing to run, and looks at its list all the time.
    pub looking: u32,
    /// Has nothing to run, and must be rung.
    pub idle: u32,
    /// Does something else, and must be rung.
    pub busy: u32,
}

/// A core finds what its list has without being rung. To be asked when the list has it.
#[inline]
pub fn looks_anyway<A: Atomic32>(mode: &A, modes: Modes) -> bool {
    mode.load(Ordering::SeqCst) == modes.looking
}

/// Rests: `look`s for a while, if there is something to look for, then sleeps unless `is_over`, which looks at the list.
///
/// `sleep` returns at once if the core [is wanted](super::doorbell::is_wanted), or rung.
#[inline(always)]
pub fn rest<A: Atomic32>(
    mode: &A,
    modes: Modes,
    look: Option<impl FnOnce()>,
    is_over: impl FnOnce() -> bool,
    sleep: impl FnOnce(),
) {
    if let Some(look) = look {
        mode.store(modes.looking, Ordering::SeqCst);
        look();
    }
    mode.store(modes.idle, Ordering::SeqCst);
    // Who wakes a thread from here on rings.
    if !is_over() {
        sleep();
    }
    mode.store(modes.busy, Ordering::Relaxed);
}
