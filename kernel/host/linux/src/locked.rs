// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A value that CPUs share, behind a lock between CPUs.

use core::cell::UnsafeCell;
use tacet_abi::TACET_JOB_MEMORIES;
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

/// The lists of free runs: each owner has its own. All zero at first, so that the image has no room for them.
pub struct OwnedLists([Locked<Lists>; OWNERS]);

/// Nobody, and each job.
const OWNERS: usize = TACET_JOB_MEMORIES as usize + 1;

impl OwnedLists {
    pub const fn new() -> Self {
        Self([const { Locked::new(Lists::new()) }; OWNERS])
    }
}

impl Guard for OwnedLists {
    fn with<T>(&self, owner: u8, work: impl FnOnce(&mut Lists) -> T) -> T {
        let Some(lists) = self.0.get(usize::from(owner)) else {
            crate::die(format_args!("frames of owner {owner}: there is none"));
        };
        lists.with(|lists| {
            lists.set_owner(owner);
            work(lists)
        })
    }
}
