// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The range of addresses in which a process has memory of the partition
//! (`struct tacet_own`), shared with Linux under its lock.

use crate::core_local::Core;
use core::hint::spin_loop;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tacet_abi::{TACET_OWN_OPEN, TACET_POLICIES, tacet_own, tacet_policy};
use tacet_logic::frames::Policy;

/// One range.
#[derive(Clone, Copy)]
pub struct Own {
    at: NonNull<tacet_own>,
}

/// The range's lock is held for as long as this lives: by this core, briefly.
pub struct OwnHeld {
    own: Own,
}

macro_rules! field {
    ($of:expr, $atomic:ident, $field:ident) => {{
        // SAFETY: mapped for as long as the core runs; aligned; always accessed atomically.
        unsafe { $atomic::from_ptr(&raw mut (*$of.at.as_ptr()).$field) }
    }};
}

impl Own {
    /// # Safety
    /// `base` is where Linux mapped the ranges, and `number` is below their count.
    pub(crate) unsafe fn new(base: u64, number: u32) -> Self {
        // SAFETY: the caller's; Linux maps nothing at 0.
        Self { at: unsafe { NonNull::new_unchecked((base as *mut tacet_own).add(number as usize)) } }
    }

    /// Its first address; it never changes while a thread of its process is here.
    pub fn base(&self) -> u64 {
        field!(self, AtomicU64, base).load(Ordering::Relaxed)
    }

    /// Pages come with the call that maps them.
    pub fn eager(&self) -> bool {
        field!(self, AtomicU32, eager).load(Ordering::Relaxed) != 0
    }

    /// What its pages may be besides readable and writable (`TACET_OWN_*`). Linux adds to it.
    pub fn rights(&self) -> u32 {
        field!(self, AtomicU32, rights).load(Ordering::Relaxed)
    }

    fn policy_at(&self, number: u8) -> Option<*mut tacet_policy> {
        // SAFETY: mapped for as long as the core runs; the number is within the list.
        (u32::from(number) < TACET_POLICIES)
            .then(|| unsafe { (&raw mut (*self.at.as_ptr()).policies).cast::<tacet_policy>().add(usize::from(number)) })
    }

    /// Number `number` of its list of policies. Under its lock.
    pub(crate) fn policy(&self, number: u8) -> Policy {
        let Some(at) = self.policy_at(number) else { return Policy::NONE };
        // SAFETY: mapped, aligned; written by nobody else while the lock is held.
        let tacet_policy { mode, nodes } = unsafe { at.read() };
        Policy { mode, nodes }
    }

    /// Waits for the lock. Linux, too, has it for a few instructions only; other cores
    /// may fill large pages with zeros meanwhile, one after the other: who waits for
    /// them does not hang, and says so.
    pub fn hold(&self, core: &Core) -> OwnHeld {
        let lock = field!(self, AtomicU32, lock);
        while lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            let mut spins: u32 = 0;
            while lock.load(Ordering::Relaxed) != 0 {
                spin_loop();
                spins = spins.wrapping_add(1);
                if spins.is_multiple_of(1 << 16) {
                    core.shared.count_kernel_entry();
                }
            }
        }
        OwnHeld { own: *self }
    }
}

impl OwnHeld {
    /// What its pages may say of their place: number `number`, which is not 0.
    pub fn policy(&self, number: u8) -> Policy {
        self.own.policy(number)
    }

    /// The number of `policy`, which is a new one if need be. None: there are too many.
    pub fn number_of(&self, policy: Policy) -> Option<u8> {
        let count = field!(self.own, AtomicU32, policy_count).load(Ordering::Relaxed).min(TACET_POLICIES) as u8;
        if let Some(known) = (1..count).find(|&number| self.own.policy(number) == policy) {
            return Some(known);
        }
        let place = self.own.policy_at(count)?;
        // SAFETY: in the list; nobody reads it, as no entry has this number yet, and the lock is held.
        unsafe { place.write(tacet_policy { mode: policy.mode, nodes: policy.nodes }) };
        field!(self.own, AtomicU32, policy_count).store(u32::from(count) + 1, Ordering::Relaxed);
        Some(count)
    }

    /// Calls and faults may be served.
    pub fn is_open(&self) -> bool {
        field!(self.own, AtomicU32, state).load(Ordering::Relaxed) == TACET_OWN_OPEN
    }

    /// The frame number of its table; 0: none.
    pub fn root(&self) -> u64 {
        field!(self.own, AtomicU64, root).load(Ordering::Relaxed)
    }

    pub fn set_root(&self, root: u64) {
        field!(self.own, AtomicU64, root).store(root, Ordering::Relaxed);
    }

    /// The page below which addresses are given.
    pub fn top(&self) -> u32 {
        field!(self.own, AtomicU32, top).load(Ordering::Relaxed)
    }

    /// Where to look for addresses, downwards.
    pub fn cursor(&self) -> u32 {
        field!(self.own, AtomicU32, cursor).load(Ordering::Relaxed)
    }

    /// The program's break: where it began, and where it is.
    pub fn program_break(&self) -> (u64, u64) {
        let start = field!(self.own, AtomicU64, break_start).load(Ordering::Relaxed);
        (start, field!(self.own, AtomicU64, break_end).load(Ordering::Relaxed))
    }

    pub fn set_program_break(&self, end: u64) {
        field!(self.own, AtomicU64, break_end).store(end, Ordering::Relaxed);
    }

    pub fn set_cursor(&self, page: u32) {
        field!(self.own, AtomicU32, cursor).store(page, Ordering::Relaxed);
    }
}

impl Drop for OwnHeld {
    fn drop(&mut self) {
        field!(self.own, AtomicU32, lock).store(0, Ordering::Release);
    }
}
