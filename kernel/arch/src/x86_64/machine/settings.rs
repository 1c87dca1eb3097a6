// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The settings with which a CPU starts: what this processor has, and what of it programs may use.
//!
//! Called once per CPU, on that CPU. Programs find what they find on Linux, apart from what would need a call that does
//! not exist here (protection keys, shadow stacks).

use super::super::boot::Boot;
use super::super::clear;
use super::super::registers::{read_msr, write_msr};
use super::super::user::SavedUser;
use super::tables::private;
use core::arch::asm;
use core::arch::x86_64::{__cpuid as cpuid, __cpuid_count as cpuid_count};
use core::mem::offset_of;

/// Protected mode, monitor coprocessor, numeric errors, write protection, alignment mask, paging.
const CR0: u64 = 0x8005_0033;
/// Physical-address extension, global pages, FXSAVE, SSE's exceptions, XSAVE.
const CR4: u64 = 1 << 5 | 1 << 7 | 1 << 9 | 1 << 10 | 1 << 18;
const CR4_MACHINE_CHECK: u64 = 1 << 6;
const CR4_UMIP: u64 = 1 << 11;
const CR4_FSGSBASE: u64 = 1 << 16;
const CR4_SMEP: u64 = 1 << 20;
const CR4_SMAP: u64 = 1 << 21;
/// SYSCALL, long mode (enabled, active), no-execute.
const EFER: u64 = 1 | 1 << 8 | 1 << 10 | 1 << 11;
/// As after a reset.
const PAT: u64 = 0x0007_0406_0007_0406;
/// SYSCALL's kernel selectors from 0x10, SYSRET's user selectors from 0x23: as on Linux.
const STAR: u64 = 0x0023_0010 << 32;
/// Features of XSAVE that programs may use: x87, SSE, AVX, AVX-512, AMX, APX. Not those of MPX, which is gone, nor keys.
const FEATURES: u64 = 0b111 | 0b111 << 5 | 0b11 << 17 | 1 << 19;
/// Features for which a context always has room: up to AVX-512.
const FEWER_FEATURES: u64 = 0b111 | 0b111 << 5;
const ROOM: u32 = (size_of::<SavedUser>() - offset_of!(SavedUser, xstate)) as u32;

const APIC_BASE: u32 = 0x1b;
const APIC_ENABLED: u64 = 1 << 11;
const APIC_X2: u64 = 1 << 10;
const CHECK_CAPABILITIES: u32 = 0x179;
const CHECK_CONTROL: u32 = 0x17b;
const CHECK_FIRST_BANK: u32 = 0x400;

fn bit(register: u32, bit: u32) -> bool {
    register >> bit & 1 != 0
}

/// Bits of `ebx` of leaf 7.
fn leaf7() -> (u32, u32) {
    if cpuid(0).eax < 7 {
        return (0, 0);
    }
    let leaf = cpuid_count(7, 0);
    (leaf.ebx, leaf.ecx)
}

/// The feature that the kernel needs and this processor lacks, as one line.
pub fn missing() -> Option<&'static str> {
    (!bit(cpuid(1).ecx, 26)).then_some("this processor has no XSAVE; use one that has (QEMU: -cpu max)")
}

/// Whether pages of 1 GiB exist.
pub fn has_gib_pages() -> bool {
    cpuid(0x8000_0000).eax >= 0x8000_0001 && bit(cpuid(0x8000_0001).edx, 26)
}

/// The APIC's number of this CPU.
pub fn identity() -> u32 {
    if cpuid(0).eax >= 0xb && cpuid_count(0xb, 0).ebx & 0xffff != 0 {
        return cpuid_count(0xb, 0).edx;
    }
    cpuid(1).ebx >> 24
}

/// Where the APIC's registers are in memory, if they are.
pub fn apic_base() -> Option<u64> {
    (!has_x2apic()).then(|| read_msr(APIC_BASE) & 0xf_ffff_ffff_f000)
}

fn has_x2apic() -> bool {
    bit(cpuid(1).ecx, 21)
}

/// Features of XSAVE that programs get.
pub fn features() -> u64 {
    let leaf = cpuid_count(0xd, 0);
    let all = (u64::from(leaf.edx) << 32 | u64::from(leaf.eax)) & FEATURES;
    if bytes_for(all) <= ROOM { all } else { all & FEWER_FEATURES }
}

/// Bytes of the extended state with these features: where the last of them ends.
fn bytes_for(features: u64) -> u32 {
    let (mut bytes, mut left) = (576, features & !0b11);
    while left != 0 {
        let leaf = cpuid_count(0xd, left.trailing_zeros());
        bytes = bytes.max(leaf.ebx + leaf.eax);
        left &= left - 1;
    }
    bytes
}

/// Bytes of the extended state of a program.
pub fn extended_bytes() -> u32 {
    bytes_for(features())
}

/// The settings of CPU `index`, which runs this. Turns its APIC and its machine checks on.
pub fn of_cpu(index: u32, idle_root: u64, tsc_khz: u64) -> Boot {
    let (leaf7b, leaf7c) = leaf7();
    let has_checks = bit(cpuid(1).edx, 7) && bit(cpuid(1).edx, 14);
    let optional = [
        (has_checks, CR4_MACHINE_CHECK),
        (bit(leaf7c, 2), CR4_UMIP),
        (bit(leaf7b, 0), CR4_FSGSBASE),
        (bit(leaf7b, 7), CR4_SMEP),
        (bit(leaf7b, 20), CR4_SMAP),
    ];
    let cr4 = optional.into_iter().filter(|option| option.0).fold(CR4, |cr4, option| cr4 | option.1);
    if has_checks {
        enable_checks();
    }
    enable_apic();
    let has_tsc_aux = cpuid(0x8000_0000).eax >= 0x8000_0001 && bit(cpuid(0x8000_0001).edx, 27);
    Boot {
        cr0: CR0,
        cr4,
        efer: EFER,
        pat: PAT,
        star: STAR,
        xcr0: features(),
        xss: None,
        spec_ctrl: None,
        measures: measures(),
        cpu_and_node: index.into(),
        has_tsc_aux,
        has_cet: false,
        has_pku: false,
        has_xfd: false,
        has_smap: bit(leaf7b, 20),
        has_x2apic: has_x2apic(),
        performance: None,
        has_energy_bias: false,
        idle_root,
        private_base: private(index),
        tsc_khz,
    }
}

/// The state of a CPU that the kernel clears between two jobs: all that this processor has a means to clear.
fn measures() -> u32 {
    let leaf = if cpuid(0).eax >= 7 { cpuid_count(7, 0).edx } else { 0 };
    let amd = if cpuid(0x8000_0000).eax >= 0x8000_0008 { cpuid(0x8000_0008).ebx } else { 0 };
    let means = [
        (bit(leaf, 26) || bit(amd, 12), clear::PREDICTORS),
        (bit(leaf, 10), clear::BUFFERS),
        (bit(leaf, 28), clear::L1D),
    ];
    let measures = means.into_iter().filter(|means| means.0).fold(0, |measures, means| measures | means.1);
    if measures == 0 { 0 } else { measures | clear::RETURNS }
}

fn enable_apic() {
    // SAFETY: the APIC stays where it is; the modes are those that it has, in the order in which they can be entered.
    unsafe {
        write_msr(APIC_BASE, read_msr(APIC_BASE) | APIC_ENABLED);
        if has_x2apic() {
            write_msr(APIC_BASE, read_msr(APIC_BASE) | APIC_X2);
        }
    }
}

/// All banks report; what they have from before the start is forgotten.
fn enable_checks() {
    let capabilities = read_msr(CHECK_CAPABILITIES);
    // SAFETY: the registers exist, as the capabilities say; they hold no addresses.
    unsafe {
        if capabilities >> 8 & 1 != 0 {
            write_msr(CHECK_CONTROL, u64::MAX);
        }
        for bank in 0..(capabilities & 0xff) as u32 {
            write_msr(CHECK_FIRST_BANK + 4 * bank, u64::MAX);
            write_msr(CHECK_FIRST_BANK + 4 * bank + 1, 0);
        }
    }
}

/// Eight bytes that nobody can guess, by RDSEED or else RDRAND. `None`: this processor has neither, or it is exhausted.
pub fn random() -> Option<u64> {
    const TRIES: u32 = 1000;
    let (has_seed, has_random) = (bit(leaf7().0, 18), bit(cpuid(1).ecx, 30));
    (0..TRIES).find_map(|_| {
        let (value, valid): (u64, u8);
        // SAFETY: the instruction exists; it changes registers alone.
        unsafe {
            match (has_seed, has_random) {
                (true, _) => asm!("rdseed {}", "setc {}", out(reg) value, out(reg_byte) valid, options(nostack, nomem)),
                (_, true) => asm!("rdrand {}", "setc {}", out(reg) value, out(reg_byte) valid, options(nostack, nomem)),
                _ => return None,
            }
        }
        (valid != 0).then_some(value)
    })
}

/// The time-stamp counter's rate, if the processor or its hypervisor tells it.
pub fn told_tsc_khz() -> Option<u64> {
    let khz = |value: u64| (value != 0).then_some(value);
    let from_crystal = || {
        let leaf = cpuid(0x15);
        let (denominator, numerator, hz) = (u64::from(leaf.eax), u64::from(leaf.ebx), u64::from(leaf.ecx));
        if denominator == 0 || numerator == 0 { None } else { khz(hz * numerator / denominator / 1000) }
    };
    let from_base_clock = || {
        // the crystal is not told: the counter runs at the processor's base frequency
        if cpuid(0x15).ebx == 0 { None } else { khz(u64::from(cpuid(0x16).eax & 0xffff) * 1000) }
    };
    let from_hypervisor = || {
        let has = bit(cpuid(1).ecx, 31) && cpuid(0x4000_0000).eax >= 0x4000_0010;
        if has { khz(cpuid(0x4000_0010).eax.into()) } else { None }
    };
    let leaves = cpuid(0).eax;
    from_hypervisor()
        .or_else(|| if leaves >= 0x15 { from_crystal() } else { None })
        .or_else(|| if leaves >= 0x16 { from_base_clock() } else { None })
}

