// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The assembly entries, and the only calls into them.

use super::cpu::CpuLocal;
use super::user::{Features, SavedUser};
use super::user_registers::UserRegisters;
use super::registers;
use crate::Mode;
use crate::signals::Signals;
use core::arch::global_asm;
use core::mem::offset_of;
use core::ptr::NonNull;

global_asm!(
    include_str!("entry.S"),
    include_str!("faults.S"),
    KERNEL_STACK = const offset_of!(CpuLocal, kernel_stack),
    REGISTERS_END = const offset_of!(CpuLocal, registers_end),
    SCRATCH = const offset_of!(CpuLocal, scratch),
    SIGNALS = const offset_of!(CpuLocal, signals),
    NMI_FRAME = const offset_of!(CpuLocal, nmi_frame),
    REGISTERS_BYTES = const size_of::<UserRegisters>(),
    ATTENTION = const offset_of!(Signals, attention),
    FLUSH_REQUESTED = const offset_of!(Signals, flush_requested),
    FLUSH_ACKNOWLEDGED = const offset_of!(Signals, flush_acknowledged),
    ACTIVE_ROOT = const offset_of!(Signals, active_root),
    IDLE_ROOT = const offset_of!(Signals, idle_root),
    MODE = const offset_of!(Signals, mode),
    MODE_RESTS = const Mode::RESTS as u32,
    DOORBELLS_USER = const offset_of!(Signals, doorbells_user),
    DOORBELLS_KERNEL = const offset_of!(Signals, doorbells_kernel),
    DOORBELLS_EMPTY = const offset_of!(Signals, doorbells_empty),
    BOOT_STACK = const offset_of!(Signals, stack_top),
    DS = const offset_of!(SavedUser, ds),
    ES = const offset_of!(SavedUser, es),
    FS = const offset_of!(SavedUser, fs),
    GS = const offset_of!(SavedUser, gs),
    FS_BASE = const offset_of!(SavedUser, fs_base),
    GS_BASE = const offset_of!(SavedUser, gs_base),
    XFD = const offset_of!(SavedUser, xfd),
    PKRU = const offset_of!(SavedUser, pkru),
    RESTORE_MASK = const offset_of!(SavedUser, xstate_restore_mask),
    XSTATE = const offset_of!(SavedUser, xstate),
    FS_BASE_REGISTER = const registers::FS_BASE,
    GS_BASE_REGISTER = const registers::KERNEL_GS_BASE,
    OWN_GS_BASE_REGISTER = const registers::GS_BASE,
    XFD_REGISTER = const registers::XFD,
    HAS_XFD = const Features::XFD,
    HAS_PKU = const Features::PKU,
    HAS_XSAVES = const Features::XSAVES,
    options(att_syntax)
);

unsafe extern "C" {
    static tacet_stubs: [u8; 4096];
    static tacet_syscall: u8;
    static tacet_nmi: u8;
    static tacet_double_fault: u8;
    static tacet_machine_check: u8;
    fn tacet_enter_user(cpu: *mut CpuLocal, after_call: u32) -> u64;
    fn tacet_idle(cpu: *mut CpuLocal);
    fn tacet_doze(cpu: *mut CpuLocal) -> u64;
    fn tacet_drain() -> u64;
    fn tacet_user_load(address: u64) -> Access;
    fn tacet_user_store(address: u64, value: u32) -> Access;
    fn tacet_user_exchange(address: u64, from: u32, to: u32) -> Access;
    fn tacet_load_state(saved: *const SavedUser, has: Features, cpu: *mut CpuLocal) -> u64;
}

/// The answer of a routine that touches the program's memory.
#[repr(C)]
struct Access {
    value: u64,
    faulted: u64,
}

/// Where the processor goes for `vector`.
pub fn vector_address(vector: usize) -> u64 {
    match vector {
        2 => &raw const tacet_nmi as u64,
        8 => &raw const tacet_double_fault as u64,
        18 => &raw const tacet_machine_check as u64,
        _ => &raw const tacet_stubs as u64 + (STUB_BYTES * vector) as u64,
    }
}

/// Between the stubs of two vectors.
pub const STUB_BYTES: usize = 16;

/// Where SYSCALL goes.
pub fn syscall_address() -> u64 {
    &raw const tacet_syscall as u64
}

/// Runs user mode; true if the doorbell ended it, with the user's registers as
/// they were. `after_call`: they are those of a system call that has its result.
#[inline]
pub fn enter_user(cpu: NonNull<CpuLocal>, after_call: bool) -> bool {
    // SAFETY: (1) `cpu` is this CPU's own, and its entry stack points at
    // a thread's saved registers (`Cpu::run`); (2) the routine keeps the callee-saved
    // registers of the C convention; (3) user mode cannot reach our memory;
    // (4) registers that IRETQ refuses end user mode (entry.S); SYSRET would fault on the
    // user's stack, but after a call the instruction pointer is behind a SYSCALL that the
    // processor executed, hence canonical.
    unsafe { tacet_enter_user(cpu.as_ptr(), after_call.into()) != 0 }
}

/// Reads the program's memory, as the program could; None: it would fault.
/// `address` is checked by the caller to be the user's.
#[inline]
pub fn user_load(address: u64) -> Option<u32> {
    // SAFETY: a fault inside the routine comes back as an answer (entry.S).
    let access = unsafe { tacet_user_load(address) };
    (access.faulted == 0).then_some(access.value as u32)
}

/// Writes the program's memory, as the program could; None: it would fault.
/// `address` is checked by the caller to be the user's.
#[inline]
pub fn user_store(address: u64, value: u32) -> Option<()> {
    // SAFETY: as in `user_load`.
    let access = unsafe { tacet_user_store(address, value) };
    (access.faulted == 0).then_some(())
}

/// Exchanges a word of the program's memory if it holds `from`; the value found there. None: it would fault.
/// `address` is checked by the caller to be the user's.
pub fn user_exchange(address: u64, from: u32, to: u32) -> Option<u32> {
    // SAFETY: as in `user_load`.
    let access = unsafe { tacet_user_exchange(address, from, to) };
    (access.faulted == 0).then_some(access.value as u32)
}

/// Loads what [`enter_user`] does not; false: the processor refused some of it.
///
/// # Safety
/// `saved` is mapped, and nobody else writes it; the extended state is as large as the processor will read. `cpu` is
/// this CPU's own.
#[inline]
pub unsafe fn load_state(saved: NonNull<SavedUser>, has: Features, cpu: NonNull<CpuLocal>) -> bool {
    // SAFETY: (1) the caller's; (2) an exception inside the routine comes back as an answer (entry.S); (3) kernel code
    // here uses no vector register, and no segment but GS, whose base the routine puts back.
    unsafe { tacet_load_state(saved.as_ptr(), has, cpu.as_ptr()) == 0 }
}

/// Halts unless the doorbell has rung.
pub fn idle(cpu: NonNull<CpuLocal>) {
    // SAFETY: `cpu` is this CPU's own; the routine touches nothing else.
    unsafe { tacet_idle(cpu.as_ptr()) }
}

/// Halts unless the doorbell has rung, and lets an interrupt end that. Returns its vector, 0 if there was none.
pub fn doze(cpu: NonNull<CpuLocal>) -> u64 {
    // SAFETY: (1) as in `idle`; (2) interrupts come back to the routine (trap_kernel), which turns them off
    // again; (3) no thread is being saved or loaded meanwhile.
    unsafe { tacet_doze(cpu.as_ptr()) }
}

/// Lets one pending interrupt in, if there is one. Returns its vector, or 0.
pub fn drain() -> u64 {
    // SAFETY: as in `doze`.
    unsafe { tacet_drain() }
}
