// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Machine registers, by their SDM names.

use core::arch::asm;

pub const APIC_COMMAND: u32 = 0x830;
pub const EFER: u32 = 0xc000_0080;
pub const STAR: u32 = 0xc000_0081;
pub const LSTAR: u32 = 0xc000_0082;
pub const FMASK: u32 = 0xc000_0084;
pub const FS_BASE: u32 = 0xc000_0100;
pub const GS_BASE: u32 = 0xc000_0101;
pub const KERNEL_GS_BASE: u32 = 0xc000_0102;
pub const TSC_AUX: u32 = 0xc000_0103;
pub const PAT: u32 = 0x277;
pub const SYSENTER_CS: u32 = 0x174;
pub const SPEC_CTRL: u32 = 0x48;
pub const PREDICTOR_COMMAND: u32 = 0x49;
pub const FLUSH_COMMAND: u32 = 0x10b;
pub const ENERGY_PERF_BIAS: u32 = 0x1b0;
pub const XSS: u32 = 0xda0;
pub const XFD: u32 = 0x1c4;
pub const S_CET: u32 = 0x6a2;

/// Writes a model-specific register.
///
/// # Safety
/// The register exists and the value keeps the co-kernel's memory and entries
/// as they are.
#[inline]
pub unsafe fn write_msr(register: u32, value: u64) {
    // SAFETY: the caller's.
    unsafe {
        asm!("wrmsr", in("ecx") register, in("eax") value as u32, in("edx") (value >> 32) as u32, options(nostack));
    }
}

/// Reads a model-specific register that exists.
#[inline]
pub fn read_msr(register: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reading has no effect; callers name registers of every x86-64.
    unsafe { asm!("rdmsr", in("ecx") register, out("eax") low, out("edx") high, options(nostack, nomem)) };
    u64::from(high) << 32 | u64::from(low)
}

/// The time-stamp counter, not ordered with its neighbours.
#[inline]
pub fn time_stamp() -> u64 {
    // SAFETY: every x86-64 has it, and CR4.TSD does not bind the kernel.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Loads an address-space root; the CPU forgets what its TLB has.
#[inline]
pub fn load_root(root: u64) {
    // SAFETY: every root that the host hands over has the co-kernel's half in it,
    // so that the next instruction and the stack stay mapped.
    unsafe { asm!("mfence", "mov cr3, {}", in(reg) root, options(nostack)) };
}

/// The address of the last page fault.
#[inline]
pub fn fault_address() -> u64 {
    let address: u64;
    // SAFETY: reading CR2 has no effect.
    unsafe { asm!("mov {}, cr2", out(reg) address, options(nostack, nomem)) };
    address
}

/// The base of the current GDT. It tells which CPU this is, whatever GS is.
pub fn gdt_base() -> u64 {
    let mut pointer = [0u16; 5];
    // SAFETY: SGDT stores ten bytes.
    unsafe { asm!("sgdt [{}]", in(reg) pointer.as_mut_ptr(), options(nostack)) };
    let [_, words @ ..] = pointer;
    words.iter().rev().fold(0, |base, &word| base << 16 | u64::from(word))
}

/// RFLAGS.
pub fn flags() -> u64 {
    let flags: u64;
    // SAFETY: the stack has room for a word.
    unsafe { asm!("pushfq", "pop {}", out(reg) flags) };
    flags
}

/// Reads an address that is never mapped.
pub fn wild_read() {
    // SAFETY: the caller wants the fault, of which the co-kernel dies. Nothing is read or written.
    unsafe { asm!("mov rax, [{}]", in(reg) 0xffff_8000_0000_1000u64, out("rax") _, options(nostack)) };
}

/// Lets the co-kernel touch pages of the program (SMAP; SDM vol. 3, 4.6).
#[inline]
pub fn allow_user_access() {
    // SAFETY: the caller knows that the processor has SMAP; only the AC flag changes.
    unsafe { asm!("stac", options(nostack)) };
}

/// Ends that.
#[inline]
pub fn forbid_user_access() {
    // SAFETY: as above.
    unsafe { asm!("clac", options(nostack)) };
}

/// `value` if it is below `limit`, else 0: also where the processor only guesses which of the two holds (Spectre v1).
#[inline]
pub fn below_or_zero(value: u64, limit: u64) -> u64 {
    let result: u64;
    // SAFETY: arithmetic on registers. The borrow of the comparison becomes a mask, without a branch.
    unsafe {
        asm!("cmp {value}, {limit}", "sbb {mask}, {mask}", "and {mask}, {value}", value = in(reg) value,
            limit = in(reg) limit, mask = out(reg) result, options(pure, nomem, nostack));
    }
    result
}

/// Stops this CPU until an INIT.
pub fn stop() -> ! {
    loop {
        // SAFETY: interrupts are off; a non-maskable one comes back here.
        unsafe { asm!("cli", "hlt", options(nostack, nomem)) };
    }
}
