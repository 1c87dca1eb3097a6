// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The assembly entries, and the only calls into them.

use crate::core_local::CoreLocal;
use core::arch::global_asm;
use core::mem::offset_of;
use core::ptr::NonNull;
use tacet_abi::{tacet_cpu, tacet_cpu_boot, tacet_registers};

global_asm!(
    include_str!("entry.S"),
    KERNEL_STACK = const offset_of!(CoreLocal, kernel_stack),
    REGISTERS_END = const offset_of!(CoreLocal, registers_end),
    SCRATCH = const offset_of!(CoreLocal, scratch),
    SHARED = const offset_of!(CoreLocal, shared),
    NMI_FRAME = const offset_of!(CoreLocal, nmi_frame),
    REGISTERS_BYTES = const size_of::<tacet_registers>(),
    ATTENTION = const offset_of!(tacet_cpu, attention),
    FLUSH_REQUESTED = const offset_of!(tacet_cpu, flush_requested),
    FLUSH_ACKNOWLEDGED = const offset_of!(tacet_cpu, flush_acknowledged),
    DOORBELLS_USER = const offset_of!(tacet_cpu, doorbells_user),
    DOORBELLS_KERNEL = const offset_of!(tacet_cpu, doorbells_kernel),
    DOORBELLS_EMPTY = const offset_of!(tacet_cpu, doorbells_empty),
    BOOT_STACK = const offset_of!(tacet_cpu, boot) + offset_of!(tacet_cpu_boot, stack_top),
    options(att_syntax)
);

unsafe extern "C" {
    static tacet_stubs: [u8; 4096];
    static tacet_syscall: u8;
    static tacet_nmi: u8;
    static tacet_double_fault: u8;
    static tacet_machine_check: u8;
    fn tacet_enter_user(core: *mut CoreLocal, after_call: u32) -> u64;
    fn tacet_idle(core: *mut CoreLocal);
    fn tacet_doze(core: *mut CoreLocal) -> u64;
    fn tacet_drain() -> u64;
    fn tacet_user_load(address: u64) -> Access;
    fn tacet_user_store(address: u64, value: u32) -> Access;
}

/// What a routine that touches the program's memory answers.
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
        _ => &raw const tacet_stubs as u64 + 16 * vector as u64,
    }
}

/// Where SYSCALL goes.
pub fn syscall_address() -> u64 {
    &raw const tacet_syscall as u64
}

/// Runs user mode; true if the doorbell ended it, with the user's registers as
/// they were. `after_call`: they are those of a system call that has its result.
pub fn enter_user(core: NonNull<CoreLocal>, after_call: bool) -> bool {
    // SAFETY: (1) `core` is this core's own, and its entry stack points at a
    // loaded context (`Core::load`); (2) the routine keeps the callee-saved
    // registers of the C convention; (3) user mode cannot reach our memory;
    // (4) after a call the instruction pointer is behind a SYSCALL that the
    // processor executed, hence canonical.
    unsafe { tacet_enter_user(core.as_ptr(), after_call.into()) != 0 }
}

/// Reads the program's memory, as the program could; None: it would fault.
/// `address` is checked by the caller to be the user's.
pub fn user_load(address: u64) -> Option<u32> {
    // SAFETY: a fault inside the routine comes back as an answer (entry.S).
    let access = unsafe { tacet_user_load(address) };
    (access.faulted == 0).then_some(access.value as u32)
}

/// Writes the program's memory, as the program could; None: it would fault.
/// `address` is checked by the caller to be the user's.
pub fn user_store(address: u64, value: u32) -> Option<()> {
    // SAFETY: as in `user_load`.
    let access = unsafe { tacet_user_store(address, value) };
    (access.faulted == 0).then_some(())
}

/// Halts unless the doorbell has rung.
pub fn idle(core: NonNull<CoreLocal>) {
    // SAFETY: `core` is this core's own; the routine touches nothing else.
    unsafe { tacet_idle(core.as_ptr()) }
}

/// Halts unless the doorbell has rung, and lets an interrupt end that; which one, 0 if none did.
pub fn doze(core: NonNull<CoreLocal>) -> u64 {
    // SAFETY: (1) as in `idle`; (2) interrupts come back to the routine (trap_kernel), which turns them off
    // again; (3) no context is being saved or loaded meanwhile.
    unsafe { tacet_doze(core.as_ptr()) }
}

/// Lets one interrupt in that waits, if any; which one, or 0.
pub fn drain() -> u64 {
    // SAFETY: as in `doze`.
    unsafe { tacet_drain() }
}
