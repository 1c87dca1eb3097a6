// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A value that CPUs share, behind a lock between CPUs. Used by the host for what all its CPUs share, as the network.
//! It must never be held while user mode runs.

use core::cell::UnsafeCell;
use tacet_logic::lock::Lock;

/// Only the CPU that holds the lock uses the value.
pub struct Locked<T> {
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through the lock alone, by one CPU at a time.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub const fn new(value: T) -> Self {
        Self { lock: Lock::new(), value: UnsafeCell::new(value) }
    }

    /// Does `work` while no other CPU uses the value. If `work` comes here again for the same value, it waits for ever.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let _held = self.lock.hold();
        // SAFETY: the lock is held until the reference is gone, and a CPU that holds it is interrupted by the doorbell
        // alone, whose handler does not touch the value.
        work(unsafe { &mut *self.value.get() })
    }

    /// Does `work` like [`Locked::with`]. `None`: another CPU uses the value.
    pub fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let _held = self.lock.try_hold()?;
        // SAFETY: as in `with`.
        Some(work(unsafe { &mut *self.value.get() }))
    }
}
