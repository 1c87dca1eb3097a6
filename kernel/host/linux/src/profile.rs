// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread's account of where its time goes outside of user mode (`profile.h`). The other end is
//! `linux/process/profile.c`, which sums it up.
//!
//! The CPU that has the thread keeps it, for programs whose owner asked. It decides nothing. Each exit from user mode
//! begins an entry, and the next entry into user mode ends it, whatever happened in between: so the account says what
//! the program lost, not what either kernel did.

use crate::context::Context;
use core::sync::atomic::{AtomicU16, Ordering};
use tacet_abi::{
    TACET_SPENT_CALL, TACET_SPENT_CALLED_BACK, TACET_SPENT_DEVICE_CALL, TACET_SPENT_ENTRIES, TACET_SPENT_EXCEPTION,
    TACET_SPENT_FAULT, TACET_SPENT_LOCAL_CALL, TACET_SPENT_LOCAL_FAULT, TACET_SPENT_LOCAL_WAIT, TACET_SPENT_NOTHING,
    TACET_SPENT_OTHER, tacet_spent,
};
use tacet_arch::UserState;
use tacet_core::Left;

const ENTRIES: usize = TACET_SPENT_ENTRIES as usize;

impl Context<'_> {
    /// Whether the thread's owner wants the account.
    #[inline]
    pub(crate) fn profiled(&self) -> bool {
        // SAFETY: mapped; ours; written before it was posted.
        unsafe { (*self.at.as_ptr()).profiled != 0 }
    }

    /// User mode ended at `now`, for that reason.
    pub(crate) fn begin_spending(&self, left: Left, now: u64) {
        let (on, detail) = match left {
            Left::Call(_) => (TACET_SPENT_CALL, self.user().call_number()),
            Left::Yielded => (TACET_SPENT_LOCAL_CALL, YIELD),
            Left::Blocked => (TACET_SPENT_LOCAL_WAIT, self.user().call_number()),
            Left::OnDevice => (TACET_SPENT_DEVICE_CALL, self.user().call_number()),
            Left::PageFault(_) => (TACET_SPENT_LOCAL_FAULT, 0),
            Left::Exception(vector) => (TACET_SPENT_EXCEPTION, vector.into()),
            Left::Interrupt(_) | Left::Doorbell | Left::Paused => (TACET_SPENT_CALLED_BACK, 0),
        };
        let at = self.at.as_ptr();
        // SAFETY: mapped; ours; only this CPU reads these three.
        unsafe { ((*at).spending_on, (*at).spending_detail, (*at).left_tsc) = (on as u16, detail_of(detail), now) };
    }

    /// The call that ended user mode is Linux's, whatever a device has tried.
    pub(crate) fn calls_linux(&self) {
        // SAFETY: as in `begin_spending`.
        unsafe { (*self.at.as_ptr()).spending_on = TACET_SPENT_CALL as u16 };
    }

    /// The page fault that ended user mode is Linux's to resolve.
    pub(crate) fn spends_on_linux(&self) {
        // SAFETY: as in `begin_spending`.
        unsafe { (*self.at.as_ptr()).spending_on = TACET_SPENT_FAULT as u16 };
    }

    /// User mode begins at `now`: the entry that it left for ends.
    pub(crate) fn end_spending(&self, now: u64) {
        let at = self.at.as_ptr();
        // SAFETY: as in `begin_spending`.
        let (on, detail, since) = unsafe { ((*at).spending_on, (*at).spending_detail, (*at).left_tsc) };
        if u32::from(on) != TACET_SPENT_NOTHING {
            self.add(on, detail, now.saturating_sub(since)); // another CPU may be a little behind
        }
    }

    /// The CPU has answered a call without leaving the thread, or a device has for it.
    pub(crate) fn add_answered_call(&self, number: u64, ticks: u64, by_device: bool) {
        let on = if by_device { TACET_SPENT_DEVICE_CALL } else { TACET_SPENT_LOCAL_CALL };
        self.add(on as u16, detail_of(number), ticks);
    }

    /// Adds to the entry of this kind: the first that has it or is free. The last one is
    /// for all kinds that find no other.
    fn add(&self, on: u16, detail: u16, ticks: u64) {
        // SAFETY: mapped; ours; Linux only reads the account.
        let entries: *mut tacet_spent = unsafe { (&raw mut (*self.at.as_ptr()).spent).cast() };
        for index in 0..ENTRIES {
            // SAFETY: below their number.
            let entry = unsafe { entries.add(index) };
            // SAFETY: as above; aligned.
            let (kind, found_detail) = unsafe { (AtomicU16::from_ptr(&raw mut (*entry).on), (*entry).detail) };
            let found = kind.load(Ordering::Relaxed);
            let free = u32::from(found) == TACET_SPENT_NOTHING;
            let last = index == ENTRIES - 1;
            if !(free || last || (found, found_detail) == (on, detail)) {
                continue;
            }
            // SAFETY: as above; Linux sees the kind of a new entry after the rest of it.
            unsafe {
                (*entry).detail = if last { 0 } else { detail };
                (*entry).count = (*entry).count.wrapping_add(1);
                (*entry).ticks = (*entry).ticks.wrapping_add(ticks);
                (*entry).longest_ticks = (*entry).longest_ticks.max(ticks);
            }
            kind.store(if last { TACET_SPENT_OTHER as u16 } else { on }, Ordering::Release);
            return;
        }
    }
}

/// A number that fits, as all of Linux's calls do; the largest stands for what is none.
fn detail_of(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// sched_yield(2), whose number is gone when its result is there.
const YIELD: u64 = 24;
