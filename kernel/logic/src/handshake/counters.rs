// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters of an address space's waiting threads, by which a wake-up on one side finds those of the other.
//!
//! A thread that is about to wait is counted, then the word is compared. A waker has changed the word before it looks
//! at the counters. So one finds the other. The comparison is a sequentially consistent load: an ordinary one where
//! updates are full barriers, which is what Linux, too, makes of its side (`linux/delegate/futex.c`).

use crate::atomic::Atomic32;
use core::sync::atomic::Ordering;

/// One more thread waits on a core; before it compares.
#[inline]
pub fn begin_wait<A: Atomic32>(on_cores: &A) {
    on_cores.fetch_add(1, Ordering::SeqCst);
}

/// And one fewer: it was woken, or did not wait after all.
#[inline]
pub fn end_wait<A: Atomic32>(on_cores: &A) {
    on_cores.fetch_sub(1, Ordering::SeqCst);
}

/// Whether a thread waits on Linux, or is about to compare: then Linux must wake. The program has changed the word.
#[inline]
pub fn anybody_on_linux<A: Atomic32>(on_linux: &A) -> bool {
    A::fence(Ordering::SeqCst);
    on_linux.load(Ordering::SeqCst) != 0
}

/// Whether a thread waits on a core, or is about to compare. To be asked after [`anybody_on_linux`], whose barrier this
/// needs too.
#[inline]
pub fn anybody_on_cores<A: Atomic32>(on_cores: &A) -> bool {
    on_cores.load(Ordering::SeqCst) != 0
}
