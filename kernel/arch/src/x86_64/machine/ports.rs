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

/// Silences the two interrupt controllers of the first PCs (8259). Firmware leaves them on, and their lines at vectors
/// that are exceptions' here.
pub fn silence_old_controllers() {
    const FIRST: u16 = 0x20;
    const SECOND: u16 = 0xa0;
    // begin anew; vectors from 0x20 and 0x28; where the second one is attached; their mode; all lines masked
    for (port, value) in [
        (FIRST, 0x11),
        (SECOND, 0x11),
        (FIRST + 1, 0x20),
        (SECOND + 1, 0x28),
        (FIRST + 1, 4),
        (SECOND + 1, 2),
        (FIRST + 1, 1),
        (SECOND + 1, 1),
        (FIRST + 1, 0xff),
        (SECOND + 1, 0xff),
    ] {
        // SAFETY: these controllers' ports, or nobody's; no interrupt is wanted from them.
        unsafe { out8(port, value) };
    }
}
