// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How much of a CPU's main stack has been used.
//!
//! Words that were never used hold [`UNUSED`]: the host looks for the lowest other one when somebody asks, so that
//! nothing is counted while programs run. Where the stack is cleared between two users, it is measured before.

use super::boot::{MAIN_STACK, PAGE_BYTES, PRIVATE_BYTES};
use crate::signals::Signals;
use core::arch::asm;
use core::sync::atomic::Ordering;

/// A host that gives the private region alone has no more.
pub const BYTES: u64 = PRIVATE_BYTES - MAIN_STACK * PAGE_BYTES;

/// No address, and no number that code here has a use for.
pub const UNUSED: u64 = 0x7574_6163_6574_7575;

/// From here on the stack is measured.
///
/// # Safety
/// The region at `private_base` is this CPU's, and the stack is in it.
pub(super) unsafe fn begin(private_base: u64) {
    // SAFETY: the caller's.
    unsafe { fill(private_base, UNUSED) }
}

/// Forgets what earlier calls left on the stack, after it was measured.
///
/// # Safety
/// As for [`begin`].
pub(super) unsafe fn clear(private_base: u64, own: &Signals) {
    let bottom = private_base + MAIN_STACK * PAGE_BYTES;
    let top = own.stack_top.load(Ordering::Relaxed);
    // SAFETY: the words between are this CPU's own.
    let is_unused = |at: &u64| unsafe { (*at as *const u64).read_volatile() } == UNUSED;
    let lowest = (bottom..top).step_by(size_of::<u64>()).find(|at| !is_unused(at)).unwrap_or(top);
    own.note_stack((top - lowest) as u32);
    // SAFETY: the caller's.
    unsafe { fill(private_base, UNUSED) }
}

/// Fills the stack up to 512 bytes below its end: there is no red zone, and nothing below is in use.
///
/// # Safety
/// As for [`begin`].
#[inline(always)]
unsafe fn fill(private_base: u64, word: u64) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "lea rcx, [rsp - 512]", "sub rcx, rdi", "jbe 2f", "shr rcx, 3", "rep stosq", "2:",
            inout("rdi") private_base + MAIN_STACK * PAGE_BYTES => _, out("rcx") _, in("rax") word, options(nostack)
        );
    }
}
