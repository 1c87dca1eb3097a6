// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Linux's clock, by which CPUs end waits. The other end is `linux/border/clock.c`.

use crate::page::{Page, field};
use core::sync::atomic::{AtomicU64, Ordering};

/// How often to look at a clock that is being written; then there is none.
const LOOKS: u32 = 100;

impl Page {
    /// The time-stamp counter and Linux's clock, read together. `None`: the one does not tell the other.
    pub fn clock(&self) -> Option<(u64, u64)> {
        let tsc = field!(self, AtomicU64, clock_tsc);
        // Linux takes the first away, changes the second, and gives the first: at once, with interrupts off.
        for _ in 0..LOOKS {
            // Pairs with Linux's release.
            let before = tsc.load(Ordering::Acquire);
            let monotonic_ns = field!(self, AtomicU64, clock_monotonic_ns).load(Ordering::Acquire);
            if before != 0 && tsc.load(Ordering::Relaxed) == before {
                return Some((before, monotonic_ns));
            }
            core::hint::spin_loop();
        }
        None
    }
}
