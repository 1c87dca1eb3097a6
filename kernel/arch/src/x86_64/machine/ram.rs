// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Physical RAM that belongs to programs, read and written through the kernel's own mapping of it.
//!
//! Nothing outside the ranges can be reached from here, and nothing inside is the kernel's. Programs may change the
//! same bytes at any time: no reference to them is ever made.

use super::memory::Range;
use super::tables::DIRECT;
use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};

/// The RAM of programs. All CPUs may use it at once; what they write at the same address at the same time is mixed.
#[derive(Debug, Clone, Copy)]
pub struct Ram {
    ranges: &'static [Range],
}

impl Ram {
    pub(super) const fn new(ranges: &'static [Range]) -> Self {
        Self { ranges }
    }

    /// All RAM of programs, ascending; page-aligned; ranges do not touch.
    pub fn ranges(&self) -> &'static [Range] {
        self.ranges
    }

    /// Whether all `bytes` bytes from `at` on are in one of the ranges.
    pub fn has(&self, at: u64, bytes: u64) -> bool {
        let end = at.checked_add(bytes);
        self.ranges.iter().any(|range| at >= range.base && end.is_some_and(|end| end <= range.end()))
    }

    fn address(&self, at: u64, bytes: u64) -> Option<u64> {
        self.has(at, bytes).then_some(DIRECT + at)
    }

    /// Fills with zeros. `None`, here and below: not all of it is in one of the ranges; nothing is changed.
    pub fn zero(&self, at: u64, bytes: u64) -> Option<()> {
        let to = self.address(at, bytes)?;
        // SAFETY: programs' RAM, mapped for ever, to which nobody has references.
        unsafe {
            asm!("rep stosq", "mov rcx, {rest}", "rep stosb", rest = in(reg) bytes % 8,
                inout("rdi") to => _, inout("rcx") bytes / 8 => _, in("rax") 0, options(nostack));
        }
        Some(())
    }

    /// Copies out of RAM.
    pub fn read(&self, at: u64, to: &mut [u8]) -> Option<()> {
        let from = self.address(at, to.len() as u64)?;
        // SAFETY: `to` is the caller's alone; the rest as in `zero`.
        unsafe { copy(from, to.as_mut_ptr() as u64, to.len() as u64) };
        Some(())
    }

    /// Copies into RAM.
    pub fn write(&self, at: u64, from: &[u8]) -> Option<()> {
        let to = self.address(at, from.len() as u64)?;
        // SAFETY: as in `zero`.
        unsafe { copy(from.as_ptr() as u64, to, from.len() as u64) };
        Some(())
    }

    /// Copies within RAM. The two may overlap.
    pub fn copy(&self, from: u64, to: u64, bytes: u64) -> Option<()> {
        let (from, to) = (self.address(from, bytes)?, self.address(to, bytes)?);
        if to <= from || to - from >= bytes {
            // SAFETY: as in `zero`; what is read is read before it is written.
            unsafe { copy(from, to, bytes) };
            return Some(());
        }
        // SAFETY: as above, from the end on.
        unsafe {
            asm!("std", "rep movsb", "cld", inout("rsi") from + bytes - 1 => _, inout("rdi") to + bytes - 1 => _,
                inout("rcx") bytes => _, options(nostack));
        }
        Some(())
    }

    /// Reads an aligned word in one access.
    pub fn load(&self, at: u64) -> Option<u32> {
        Some(self.word(at)?.load(Ordering::SeqCst))
    }

    /// Writes `new` to an aligned word if it is `current`, in one access. `Some(Err)`: what it was instead.
    pub fn compare_exchange(&self, at: u64, current: u32, new: u32) -> Option<Result<u32, u32>> {
        Some(self.word(at)?.compare_exchange(current, new, Ordering::SeqCst, Ordering::SeqCst))
    }

    fn word(&self, at: u64) -> Option<&'static AtomicU32> {
        let address = self.address(at, 4).filter(|address| address % 4 == 0)?;
        // SAFETY: as in `zero`; aligned; programs' accesses are the processor's, which keeps a word whole.
        Some(unsafe { AtomicU32::from_ptr(address as *mut u32) })
    }
}

/// Upwards, eight bytes at a time.
///
/// # Safety
/// Both are mapped, and what is written is the caller's or programs'.
unsafe fn copy(from: u64, to: u64, bytes: u64) {
    // SAFETY: the caller's.
    unsafe {
        asm!("rep movsq", "mov rcx, {rest}", "rep movsb", rest = in(reg) bytes % 8,
            inout("rsi") from => _, inout("rdi") to => _, inout("rcx") bytes / 8 => _, options(nostack));
    }
}
