// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Input and output ports. The callers are this folder's drivers, each with the ports of its own device.

use core::arch::asm;

/// # Safety
/// The port belongs to a device of the caller's, or to none; the value has no effect on memory.
pub unsafe fn out8(port: u16, value: u8) {
    // SAFETY: the caller's.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nostack)) };
}

/// # Safety
/// As for [`out8`].
pub unsafe fn out16(port: u16, value: u16) {
    // SAFETY: the caller's.
    unsafe { asm!("out dx, ax", in("dx") port, in("ax") value, options(nostack)) };
}

/// # Safety
/// As for [`out8`]: reading may change the device.
pub unsafe fn in8(port: u16) -> u8 {
    let value;
    // SAFETY: the caller's.
    unsafe { asm!("in al, dx", in("dx") port, out("al") value, options(nostack)) };
    value
}

/// # Safety
/// As for [`out8`].
pub unsafe fn out32(port: u16, value: u32) {
    // SAFETY: the caller's.
    unsafe { asm!("out dx, eax", in("dx") port, in("eax") value, options(nostack)) };
}

/// # Safety
/// As for [`in8`].
pub unsafe fn in32(port: u16) -> u32 {
    let value;
    // SAFETY: the caller's.
    unsafe { asm!("in eax, dx", in("dx") port, out("eax") value, options(nostack)) };
    value
}
