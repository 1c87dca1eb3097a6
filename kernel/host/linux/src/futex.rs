// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Wake-ups of private futexes that Linux asks a CPU for. The other end is `linux/delegate/futex.c`.

use crate::page::{Page, field};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tacet_core::WakeRequest;
use tacet_logic::handshake::slot;

impl Page {
    /// Lets `wake` do what Linux wants woken, if it wants anything; how many that were.
    pub fn answer_wake(&self, wake: impl FnOnce(WakeRequest) -> u32) {
        let state = field!(self, AtomicU32, wake_state);
        if !slot::take(state) {
            return;
        }
        let woken = wake(WakeRequest {
            root: field!(self, AtomicU64, wake_root).load(Ordering::Relaxed),
            address: field!(self, AtomicU64, wake_address).load(Ordering::Relaxed),
            bitset: field!(self, AtomicU32, wake_bitset).load(Ordering::Relaxed),
            count: field!(self, AtomicU32, wake_count).load(Ordering::Relaxed),
            moved: field!(self, AtomicU32, wake_moved).load(Ordering::Relaxed),
            to: field!(self, AtomicU64, wake_to).load(Ordering::Relaxed),
        });
        field!(self, AtomicU32, wake_woken).store(woken, Ordering::Relaxed);
        slot::answer(state);
    }
}
