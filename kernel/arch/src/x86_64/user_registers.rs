// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The general registers of a program, as the entry code saves them. Pure: a machine that is made up has them too.

/// `vector` of a system call.
pub const CALL_VECTOR: u64 = 0x100;

/// The general registers. `vector` is the exception's or [`CALL_VECTOR`], `error` the processor's error code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct UserRegisters {
    pub r15: u64,
    pub r14: u64,
    pub r13: u64,
    pub r12: u64,
    pub rbp: u64,
    pub rbx: u64,
    pub r11: u64,
    pub r10: u64,
    pub r9: u64,
    pub r8: u64,
    pub rax: u64,
    pub rcx: u64,
    pub rdx: u64,
    pub rsi: u64,
    pub rdi: u64,
    pub vector: u64,
    pub error: u64,
    pub rip: u64,
    pub cs: u64,
    pub rflags: u64,
    pub rsp: u64,
    pub ss: u64,
}
