// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process's range of addresses that the partition backs (`struct tacet_range_shared`), shared with Linux under the
//! locks of its pieces. The other end is `linux/memory/range.c`.

use core::hint::spin_loop;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering};
use tacet_abi::{TACET_PIECE_LINES, TACET_PIECES, TACET_POLICIES, TACET_RANGE_OPEN, tacet_policy, tacet_range_shared};
use tacet_core::memory::{HeldRange, SharedRange};
use tacet_logic::frames::Policy;
use tacet_logic::ranges::Pieces;

/// One range.
#[derive(Clone, Copy)]
pub struct LinuxRange {
    at: NonNull<tacet_range_shared>,
}

/// The locks of some of its pieces are held for as long as this lives: by this CPU, briefly.
pub struct HeldLinuxRange {
    range: LinuxRange,
    pieces: Range<u32>,
}

macro_rules! field {
    ($of:expr, $atomic:ident, $field:ident) => {{
        // SAFETY: mapped for as long as the CPU runs; aligned; always accessed atomically.
        unsafe { $atomic::from_ptr(&raw mut (*$of.at.as_ptr()).$field) }
    }};
}

impl LinuxRange {
    /// # Safety
    /// `base` is where Linux mapped the ranges, and `number` is below their count.
    pub(crate) unsafe fn new(base: u64, number: u32) -> Self {
        // SAFETY: the caller's; Linux maps nothing at 0.
        Self { at: unsafe { NonNull::new_unchecked((base as *mut tacet_range_shared).add(number as usize)) } }
    }

    /// So many frames more are behind pages of it, or fewer. Linux counts them for its process.
    pub(crate) fn count_frames(&self, more: i64) {
        let most = field!(self, AtomicI64, most_frames);
        let frames = field!(self, AtomicI64, frames).fetch_add(more, Ordering::Relaxed) + more;
        if frames > most.load(Ordering::Relaxed) {
            most.fetch_max(frames, Ordering::Relaxed);
        }
    }

    /// The number of its job; 0: none.
    pub(crate) fn job(&self) -> u32 {
        field!(self, AtomicU32, job).load(Ordering::Relaxed)
    }

    fn policy_at(&self, number: u8) -> Option<*mut tacet_policy> {
        // SAFETY: mapped for as long as the CPU runs; the number is within the list.
        (u32::from(number) < TACET_POLICIES)
            .then(|| unsafe { (&raw mut (*self.at.as_ptr()).policies).cast::<tacet_policy>().add(usize::from(number)) })
    }

    fn known_or_new(&self, policy: Policy) -> Option<u8> {
        let count = field!(self, AtomicU32, policy_count);
        let next = count.load(Ordering::Relaxed).min(TACET_POLICIES) as u8;
        if let Some(known) = (1..next).find(|&number| self.policy(number) == policy) {
            return Some(known);
        }
        let at = self.policy_at(next)?;
        // SAFETY: in the list; no reader has it, as no entry has this number yet; the writer has the lock.
        unsafe { at.write(tacet_policy { mode: policy.mode, nodes: policy.nodes }) };
        count.store(u32::from(next) + 1, Ordering::Release);
        Some(next)
    }

    fn lock_of(&self, piece: u32) -> &AtomicU32 {
        let (line, place) = (piece % TACET_PIECE_LINES, piece % TACET_PIECES / TACET_PIECE_LINES);
        let number = line * (TACET_PIECES / TACET_PIECE_LINES) + place;
        // SAFETY: mapped for as long as the CPU runs; aligned; always accessed atomically; within the table.
        unsafe { AtomicU32::from_ptr((&raw mut (*self.at.as_ptr()).locks).cast::<u32>().add(number as usize)) }
    }

    fn owner_of(&self, piece: u32) -> &AtomicU16 {
        let number = (piece % TACET_PIECES) as usize;
        // SAFETY: as in `lock_of`.
        unsafe { AtomicU16::from_ptr((&raw mut (*self.at.as_ptr()).owners).cast::<u16>().add(number)) }
    }
}

impl SharedRange for LinuxRange {
    type Held = HeldLinuxRange;

    #[inline]
    fn base(&self) -> u64 {
        field!(self, AtomicU64, base).load(Ordering::Relaxed)
    }

    #[inline]
    fn is_eager(&self) -> bool {
        field!(self, AtomicU16, eager).load(Ordering::Relaxed) != 0
    }

    #[inline]
    fn rights(&self) -> u32 {
        field!(self, AtomicU32, rights).load(Ordering::Relaxed)
    }

    #[inline]
    fn top(&self) -> u32 {
        field!(self, AtomicU32, top).load(Ordering::Relaxed)
    }

    #[inline]
    fn root(&self) -> u64 {
        field!(self, AtomicU64, root).load(Ordering::Relaxed)
    }

    fn set_root(&self, root: u64) {
        field!(self, AtomicU64, root).store(root, Ordering::Relaxed);
    }

    fn policy(&self, number: u8) -> Policy {
        let Some(at) = self.policy_at(number) else { return Policy::NONE };
        // SAFETY: mapped, aligned; written before any entry had this number.
        let tacet_policy { mode, nodes } = unsafe { at.read() };
        Policy { mode, nodes }
    }

    fn number_of(&self, policy: Policy, waits: impl Fn()) -> Option<u8> {
        wait_for(field!(self, AtomicU32, policies_lock), waits);
        let number = self.known_or_new(policy);
        field!(self, AtomicU32, policies_lock).store(0, Ordering::Release);
        number
    }

    fn inherit(&self, parent: &Self) {
        let count = field!(parent, AtomicU32, policy_count).load(Ordering::Acquire);
        for number in 1..count.min(TACET_POLICIES) as u8 {
            if let (Some(to), Some(from)) = (self.policy_at(number), parent.policy_at(number)) {
                // SAFETY: in the lists; no other CPU uses either.
                unsafe { to.write(from.read()) };
            }
        }
        field!(self, AtomicU32, policy_count).store(count, Ordering::Release);
        field!(self, AtomicU64, break_end).store(parent.program_break().1, Ordering::Relaxed);
    }

    fn program_break(&self) -> (u64, u64) {
        let start = field!(self, AtomicU64, break_start).load(Ordering::Relaxed);
        (start, field!(self, AtomicU64, break_end).load(Ordering::Relaxed))
    }

    #[inline]
    fn hold(&self, pieces: Range<u32>, waits: impl Fn()) -> HeldLinuxRange {
        pieces.clone().for_each(|piece| wait_for(self.lock_of(piece), &waits));
        HeldLinuxRange { range: *self, pieces }
    }

    fn try_hold(&self, pieces: Range<u32>) -> Option<HeldLinuxRange> {
        // What it has so far is free again when it is dropped.
        let mut held = HeldLinuxRange { range: *self, pieces: pieces.start..pieces.start };
        for piece in pieces {
            self.lock_of(piece).compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).ok()?;
            held.pieces.end = piece + 1;
        }
        Some(held)
    }
}

impl Pieces for LinuxRange {
    fn owner(&self, piece: u32) -> u16 {
        self.owner_of(piece).load(Ordering::Relaxed)
    }

    fn exchange(&self, piece: u32, current: u16, new: u16) -> bool {
        self.owner_of(piece).compare_exchange(current, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[inline]
fn wait_for(lock: &AtomicU32, waits: impl Fn()) {
    while lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        let mut spins: u32 = 0;
        while lock.load(Ordering::Relaxed) != 0 {
            spin_loop();
            spins = spins.wrapping_add(1);
            if spins.is_multiple_of(1 << 16) {
                waits();
            }
        }
    }
}

impl HeldRange for HeldLinuxRange {
    #[inline]
    fn is_open(&self, serial: u64) -> bool {
        field!(self.range, AtomicU32, state).load(Ordering::Relaxed) == TACET_RANGE_OPEN
            && field!(self.range, AtomicU64, serial).load(Ordering::Relaxed) == serial
            && field!(self.range, AtomicU16, forks).load(Ordering::Relaxed) == 0
    }

    fn set_program_break(&self, end: u64) {
        field!(self.range, AtomicU64, break_end).store(end, Ordering::Relaxed);
    }
}

impl Drop for HeldLinuxRange {
    #[inline]
    fn drop(&mut self) {
        self.pieces.clone().for_each(|piece| self.range.lock_of(piece).store(0, Ordering::Release));
    }
}
