// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program's general registers, in the order of a signal frame (`struct sigcontext`).

/// All that a signal frame has of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Registers {
    pub r8: u64,
    pub r9: u64,
    pub r10: u64,
    pub r11: u64,
    pub r12: u64,
    pub r13: u64,
    pub r14: u64,
    pub r15: u64,
    pub rdi: u64,
    pub rsi: u64,
    pub rbp: u64,
    pub rbx: u64,
    pub rdx: u64,
    pub rax: u64,
    pub rcx: u64,
    pub rsp: u64,
    pub rip: u64,
    pub rflags: u64,
}

pub(super) const REGISTERS: usize = 18;
/// Bytes of `syscall`.
const CALL_BYTES: u64 = 2;

impl Registers {
    /// Lets the thread make its call again, or call `number` instead: it is at the instruction behind the call.
    pub const fn call_again(&mut self, number: u64) {
        self.rax = number;
        self.rip = self.rip.wrapping_sub(CALL_BYTES);
    }

    pub(super) const fn to_words(self) -> [u64; REGISTERS] {
        let Self { r8, r9, r10, r11, r12, r13, r14, r15, .. } = self;
        let Self { rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags, .. } = self;
        [r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags]
    }

    pub(super) const fn from_words(words: [u64; REGISTERS]) -> Self {
        let [r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags] = words;
        Self { r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags }
    }
}

/// As the entry code saves them.
mod saved {
    use super::Registers;
    use crate::x86_64::UserRegisters;

    impl From<&UserRegisters> for Registers {
        fn from(user: &UserRegisters) -> Self {
            let &UserRegisters { r8, r9, r10, r11, r12, r13, r14, r15, .. } = user;
            let &UserRegisters { rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags, .. } = user;
            Self { r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags }
        }
    }

    impl Registers {
        /// Sets them; the rest of `user` stays.
        pub fn put(&self, user: &mut UserRegisters) {
            let Self { r8, r9, r10, r11, r12, r13, r14, r15, .. } = *self;
            let Self { rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags, .. } = *self;
            (user.r8, user.r9, user.r10, user.r11) = (r8, r9, r10, r11);
            (user.r12, user.r13, user.r14, user.r15) = (r12, r13, r14, r15);
            (user.rdi, user.rsi, user.rbp, user.rbx) = (rdi, rsi, rbp, rbx);
            (user.rdx, user.rax, user.rcx, user.rsp) = (rdx, rax, rcx, rsp);
            (user.rip, user.rflags) = (rip, rflags);
        }
    }
}
