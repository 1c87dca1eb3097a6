// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames whose memory is bad: the list that Linux writes (`linux/memory/bad.c`) and a CPU reads before it hands one out.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use tacet_abi::{TACET_BAD_FRAMES, tacet_memory};

/// Whether Linux or the processor calls some of these frames bad. Nearly always none is.
#[inline]
pub(crate) fn has_bad_frame(memory: NonNull<tacet_memory>, frame: u64, order: u8) -> bool {
    // SAFETY: mapped, aligned, always accessed atomically.
    let count = unsafe { AtomicU32::from_ptr(&raw mut (*memory.as_ptr()).bad_count) }.load(Ordering::Acquire);
    count != 0 && is_in_list(memory, count, frame, order)
}

#[cold]
fn is_in_list(memory: NonNull<tacet_memory>, count: u32, frame: u64, order: u8) -> bool {
    (0..count.min(TACET_BAD_FRAMES) as usize).any(|index| {
        // SAFETY: mapped, aligned; Linux wrote the entry before it counted it, and does not change it.
        let bad = unsafe { (&raw const (*memory.as_ptr()).bad).cast::<u64>().add(index).read_volatile() };
        bad >> order == frame >> order
    })
}
