// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Linux and the CPUs share about one address space (`space.h`). The other end is `linux/border/space.c`.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use tacet_abi::{TACET_FUTEX_COUNTERS, tacet_cpu_boot, tacet_space_shared};
use tacet_core::FutexCounters;
use tacet_logic::handshake::counters;

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

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<Space> {
        if number >= self.count {
            return None;
        }
        // SAFETY: `number` is below the count of entries that Linux mapped.
        Some(Space { at: unsafe { NonNull::new_unchecked(self.base.add(number as usize)) } })
    }
}

impl FutexCounters for Space {
    #[inline]
    fn waited_for_with_host(&self, address: u64) -> bool {
        let index = (address / 4 % u64::from(TACET_FUTEX_COUNTERS)) as usize;
        // SAFETY: mapped for ever, aligned, within the array, accessed atomically.
        let counter =
            unsafe { AtomicU32::from_ptr((&raw mut (*self.at.as_ptr()).waits_on_linux).cast::<u32>().add(index)) };
        counters::anybody_on_linux(counter)
    }

    #[inline]
    fn waited_for_on_cpus(&self) -> bool {
        counters::anybody_on_cores(self.waits())
    }

    #[inline]
    fn begin_wait(&self) {
        counters::begin_wait(self.waits());
    }

    #[inline]
    fn end_wait(&self) {
        counters::end_wait(self.waits());
    }
}

impl Space {
    /// Whether Linux granted anything of a device (`pico.rs`).
    #[inline]
    pub(crate) fn has_grants(&self) -> bool {
        // SAFETY: mapped for ever, aligned, accessed atomically.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).pico_grants) }.load(Ordering::Relaxed) != 0
    }

    fn waits(&self) -> &AtomicU32 {
        // SAFETY: mapped for ever, aligned, accessed atomically.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).waits_on_cores) }
    }
}
