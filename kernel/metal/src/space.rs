// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Linux and the cores share about one address space (`space.h`).

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use tacet_abi::{TACET_FUTEX_COUNTERS, tacet_cpu_boot, tacet_space_shared};

/// Threads that Linux wants woken from local waits.
#[derive(Debug, Clone, Copy)]
pub struct WakeRequest {
    pub root: u64,
    pub address: u64,
    pub bitset: u32,
    /// At most so many wake; then at most `moved` others wait for `to`.
    pub count: u32,
    pub moved: u32,
    pub to: u64,
    pub ordinal: u32,
}

/// All entries of the partition.
#[derive(Clone, Copy)]
pub(crate) struct SpaceTable {
    base: *mut tacet_space_shared,
    count: u32,
}

/// One address space's entry.
#[derive(Clone, Copy)]
pub struct Space {
    at: NonNull<tacet_space_shared>,
}

impl SpaceTable {
    pub(crate) fn new(boot: &tacet_cpu_boot) -> Self {
        Self { base: boot.spaces_base as *mut tacet_space_shared, count: boot.space_count }
    }

    pub(crate) fn get(&self, number: u32) -> Option<Space> {
        if number >= self.count {
            return None;
        }
        // SAFETY: `number` is below the count of entries that Linux mapped.
        Some(Space { at: unsafe { NonNull::new_unchecked(self.base.add(number as usize)) } })
    }
}

impl Space {
    /// Whether a thread may be waiting on Linux for a futex that counts as this one.
    pub fn waited_for_on_linux(&self, address: u64) -> bool {
        let index = (address / 4 % u64::from(TACET_FUTEX_COUNTERS)) as usize;
        // SAFETY: mapped for ever, aligned, within the array, accessed atomically.
        let counter =
            unsafe { AtomicU32::from_ptr((&raw mut (*self.at.as_ptr()).waits_on_linux).cast::<u32>().add(index)) };
        // Sequentially consistent: the program's store to the futex comes before.
        core::sync::atomic::fence(Ordering::SeqCst);
        counter.load(Ordering::SeqCst) != 0
    }

    /// Whether any thread of it waits on a core, or is about to compare. To be asked
    /// after `waited_for_on_linux`, whose barrier this needs too.
    pub fn waited_for_on_cores(&self) -> bool {
        self.waits().load(Ordering::SeqCst) != 0
    }

    /// One more thread of it waits on a core; before it compares.
    pub fn begin_wait(&self) {
        self.waits().fetch_add(1, Ordering::SeqCst);
    }

    /// And one fewer.
    pub fn end_wait(&self) {
        self.waits().fetch_sub(1, Ordering::SeqCst);
    }

    fn waits(&self) -> &AtomicU32 {
        // SAFETY: mapped for ever, aligned, accessed atomically.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).waits_on_cores) }
    }
}
