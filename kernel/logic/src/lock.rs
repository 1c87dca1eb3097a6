// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A lock between cores that holds for a few instructions.
//!
//! Interrupts are off in the co-kernel, so a holder is never interrupted by
//! anything that takes a lock: spinning ends.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, Ordering};

/// Free or held.
pub struct Lock {
    held: AtomicBool,
}

/// The lock is held for as long as this lives.
pub struct Held<'a> {
    lock: &'a Lock,
}

impl Lock {
    /// A free lock.
    pub const fn new() -> Self {
        Self { held: AtomicBool::new(false) }
    }

    /// Waits for the lock.
    pub fn hold(&self) -> Held<'_> {
        while self.held.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // Reading leaves the line with all that wait.
            while self.held.load(Ordering::Relaxed) {
                spin_loop();
            }
        }
        Held { lock: self }
    }

    /// Takes the lock if it is free.
    pub fn try_hold(&self) -> Option<Held<'_>> {
        let taken = self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        taken.then(|| Held { lock: self })
    }
}

impl Default for Lock {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.lock.held.store(false, Ordering::Release);
    }
}
