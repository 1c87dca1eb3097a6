// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A context that goes back to its proxy, which looks for it, or whose CPU halts, or which sleeps.
//!
//! The core says that the context is back, then reads how the proxy waits ([`give_back`]), and does what that demands:
//! nothing, an interrupt to the CPU that halts, or a message. The proxy says how it will wait from now on, then looks a
//! last time whether the context is back (`linux/delegate/halt.c`, `asleep.c`); its CPU halts with interrupts off, so that
//! one which comes after that look ends the halt at once. All four accesses are sequentially consistent: either the
//! proxy finds the context, or the core finds how to tell it.
//!
//! When the core reads, the proxy may long have found the context and wait for another one: then it is told once too often,
//! which it bears.

use crate::atomic::{Atomic32, Atomic64};
use core::sync::atomic::Ordering;

/// Says by the value `returned` that the context is Linux's, all of which is written already. How its proxy waits.
#[inline]
pub fn give_back<A: Atomic32, B: Atomic64>(state: &A, returned: u32, home: &B) -> u64 {
    state.store(returned, Ordering::SeqCst);
    home.load(Ordering::SeqCst)
}
