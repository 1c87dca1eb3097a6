// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread's user state in memory: what the entry code saves, and what is loaded and saved beside it.
//!
//! The registers come first, so that the processor itself pushes `ss` to `rip` and the entry code the rest, downwards,
//! straight to their place. The rest lies where the host keeps it with the thread; a host that is another kernel checks
//! these offsets against its own description.

use super::cpu::CpuLocal;
use super::entry;
use super::user_registers::{CALL_VECTOR, UserRegisters};
use super::registers::{self, FS_BASE, KERNEL_GS_BASE, read_msr};
use crate::{Access, Exit, UserState};
use core::arch::asm;
use core::marker::PhantomData;
use core::ptr::NonNull;

const GENERAL_PROTECTION: u8 = 13;

/// Bits of a page fault's error code (SDM vol. 3, 4.7).
const WRITE: u64 = 1 << 1;
const FETCH: u64 = 1 << 4;
const ORDINARY: u64 = 1 | WRITE | 1 << 2 | FETCH;

/// All of a thread's user state, and gaps that are the host's.
#[repr(C)]
pub struct SavedUser {
    pub registers: UserRegisters,
    _host0: [u8; 16],
    pub fs_base: u64,
    pub gs_base: u64,
    /// Requested-feature bitmaps for XSAVE, and for XRSTOR (without PKRU).
    pub xstate_save_mask: u64,
    pub xstate_restore_mask: u64,
    pub ds: u16,
    pub es: u16,
    pub fs: u16,
    pub gs: u16,
    /// IA32_XFD: features whose first use faults.
    pub xfd: u64,
    pub pkru: u32,
    _host1: [u8; 12],
    /// IA32_SPEC_CTRL.
    pub spec_ctrl: u64,
    _host2: [u8; 3832],
    pub xstate: [u8; 12288],
}

/// What this processor has, of what user state depends on.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Features(u32);

impl Features {
    pub const XFD: u32 = 1;
    pub const PKU: u32 = 2;
    pub const XSAVES: u32 = 4;
    pub const SMAP: u32 = 8;

    /// With `feature`, if the processor has it.
    pub const fn with(self, feature: u32, has: bool) -> Self {
        Self(if has { self.0 | feature } else { self.0 })
    }

    #[inline]
    pub const fn has(self, feature: u32) -> bool {
        self.0 & feature != 0
    }
}

/// The user state of a thread that is at this CPU.
pub struct User<'a> {
    at: NonNull<SavedUser>,
    thread: PhantomData<&'a SavedUser>,
}

macro_rules! read {
    ($self:ident, $register:ident) => {{
        // SAFETY: mapped and this CPU's (`new`); written by the host before, or by the entry code.
        unsafe { (*$self.at.as_ptr()).registers.$register }
    }};
}

impl User<'_> {
    /// # Safety
    /// `at` stays mapped and is this CPU's alone while the value lives, apart from the gaps. The extended state is in
    /// the format and size that the processor restores from, as its host checked.
    #[inline]
    pub const unsafe fn new(at: NonNull<SavedUser>) -> Self {
        Self { at, thread: PhantomData }
    }

    /// Where the processor begins to save: the end of the registers.
    #[inline]
    pub(super) fn registers_end(&self) -> u64 {
        self.at.as_ptr() as u64 + size_of::<UserRegisters>() as u64
    }

    #[inline]
    pub(super) fn spec_ctrl(&self) -> u64 {
        // SAFETY: mapped and ours (`new`); written by the host before.
        unsafe { (*self.at.as_ptr()).spec_ctrl }
    }

    /// Loads all but the registers. `Err`: the processor refused some of it; the registers say so too, as if the program
    /// had raised that exception, so that its host deals with the state.
    #[inline]
    pub(super) fn load(&self, processor: Features, cpu: NonNull<CpuLocal>) -> Result<(), u8> {
        let at = self.at.as_ptr();
        // SAFETY: mapped and ours (`new`), with the extended state in the format and size that the processor restores
        // from; `cpu` as the caller has it.
        unsafe {
            if entry::load_state(self.at, processor, cpu) {
                return Ok(());
            }
            ((*at).registers.vector, (*at).registers.error) = (GENERAL_PROTECTION.into(), 0);
        }
        Err(GENERAL_PROTECTION)
    }

    pub(super) fn store(&self, processor: Features) {
        let at = self.at.as_ptr();
        // SAFETY: as in `load`.
        unsafe {
            let (ds, es, fs, gs): (u32, u32, u32, u32);
            asm!("mov {0:e}, ds", "mov {1:e}, es", "mov {2:e}, fs", "mov {3:e}, gs",
                out(reg) ds, out(reg) es, out(reg) fs, out(reg) gs, options(nostack, nomem));
            ((*at).ds, (*at).es, (*at).fs, (*at).gs) = (ds as u16, es as u16, fs as u16, gs as u16);
            (*at).fs_base = read_msr(FS_BASE);
            (*at).gs_base = read_msr(KERNEL_GS_BASE);
            if processor.has(Features::PKU) {
                asm!("rdpkru", out("eax") (*at).pkru, out("edx") _, in("ecx") 0, options(nostack));
            }
            let (low, high) = halves((*at).xstate_save_mask);
            let area = &raw mut (*at).xstate;
            if processor.has(Features::XSAVES) {
                asm!("xsaves64 [{}]", in(reg) area, in("eax") low, in("edx") high, options(nostack));
            } else {
                asm!("xsave64 [{}]", in(reg) area, in("eax") low, in("edx") high, options(nostack));
            }
        }
    }
}

impl UserState for User<'_> {
    #[inline]
    fn is_call(&self) -> bool {
        read!(self, vector) == CALL_VECTOR
    }

    #[inline]
    fn call_number(&self) -> u64 {
        // As Linux, which ignores the upper half.
        u64::from(read!(self, rax) as u32)
    }

    #[inline]
    fn arguments(&self) -> [u64; 6] {
        [read!(self, rdi), read!(self, rsi), read!(self, rdx), read!(self, r10), read!(self, r8), read!(self, r9)]
    }

    #[inline]
    fn set_result(&self, result: u64) {
        // SAFETY: mapped and ours (`new`).
        unsafe { (*self.at.as_ptr()).registers.rax = result };
    }

    #[inline]
    fn exit(&self) -> Exit {
        match read!(self, vector) {
            14 => Exit::PageFault(registers::fault_address()),
            vector @ 0..32 => Exit::Exception(vector as u8),
            vector @ 32..256 => Exit::Interrupt(vector as u8),
            _ => Exit::Call,
        }
    }

    #[inline]
    fn access(&self) -> Option<Access> {
        let error = read!(self, error);
        if error & !ORDINARY != 0 {
            return None;
        }
        Some(match (error & WRITE != 0, error & FETCH != 0) {
            (true, _) => Access::Write,
            (false, true) => Access::Execute,
            (false, false) => Access::Read,
        })
    }
}

fn halves(mask: u64) -> (u32, u32) {
    (mask as u32, (mask >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::MaybeUninit;

    #[test]
    fn the_upper_half_of_a_call_number_means_nothing() {
        let mut saved = MaybeUninit::<SavedUser>::zeroed();
        // SAFETY: (1) zeros are a value of it; (2) it lives longer than the user, and nobody else has it.
        let user = unsafe {
            (*saved.as_mut_ptr()).registers.rax = 0xdead_beef_0000_0009;
            User::new(NonNull::from(saved.assume_init_mut()))
        };
        assert_eq!(user.call_number(), 9);
    }
}
