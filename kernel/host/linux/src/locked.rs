// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A value that CPUs share, behind a lock between CPUs.

use core::cell::UnsafeCell;
use tacet_logic::frames::{Guard, Lists};
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

    /// Does `work` while no other CPU uses the value. `work` must not come here again.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let _held = self.lock.hold();
        // SAFETY: the lock is held until the reference is gone, and interrupts that
        // arrive here never touch the value.
        work(unsafe { &mut *self.value.get() })
    }
}

impl Guard for Locked<Lists> {
    fn with<T>(&self, work: impl FnOnce(&mut Lists) -> T) -> T {
        self.with(work)
    }
}
