// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread changes on its core which signals it has blocked. The host, which delivers signals, learns that when the
//! thread comes back.
//!
//! Until then the host may hold a signal back that the thread has opened meanwhile. So the core writes the mask, then looks
//! whether a signal waits ([`change`]); the host, when it sends a signal, says that one waits, then compares the mask
//! with its own (`linux/delegate/asleep.c`). All four accesses are sequentially consistent: either the core leaves the
//! change to the host, or the host finds the new mask and recalls the thread.

use crate::atomic::{Atomic32, Atomic64};
use core::sync::atomic::Ordering;

/// Replaces the mask `old` by `new`, which blocks the signals whose bits are set. False: a signal may wait that this would
/// open, and the mask is as it was; the host is to change it.
#[inline]
pub fn change<A: Atomic64, B: Atomic32>(mask: &A, old: u64, new: u64, waits: &B) -> bool {
    mask.store(new, Ordering::SeqCst);
    if old & !new == 0 || waits.load(Ordering::SeqCst) == 0 {
        return true;
    }
    mask.store(old, Ordering::SeqCst);
    false
}
