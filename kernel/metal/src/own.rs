// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The range of addresses in which a process has memory of the partition
//! (`struct tacet_range_shared`), shared with Linux under the locks of its pieces.

use crate::core_local::Core;
use core::hint::spin_loop;
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use tacet_abi::{TACET_PIECE_LINES, TACET_PIECES, TACET_POLICIES, TACET_RANGE_OPEN, tacet_policy, tacet_range_shared};
use tacet_logic::frames::Policy;
use tacet_logic::ranges::Pieces;

/// One range.
#[derive(Clone, Copy)]
pub struct Own {
    at: NonNull<tacet_range_shared>,
}

/// The locks of some of its pieces are held for as long as this lives: by this core, briefly.
pub struct OwnHeld {
    own: Own,
    pieces: Range<u32>,
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
        Self { at: unsafe { NonNull::new_unchecked((base as *mut tacet_range_shared).add(number as usize)) } }
    }

    /// Its first address; it never changes while a thread of its process is here.
    pub fn base(&self) -> u64 {
        field!(self, AtomicU64, base).load(Ordering::Relaxed)
    }

    /// Pages come with the call that maps them.
    pub fn eager(&self) -> bool {
        field!(self, AtomicU32, eager).load(Ordering::Relaxed) != 0
    }

    /// What its pages may be besides readable and writable (`TACET_RANGE_*`). Linux adds to it.
    pub fn rights(&self) -> u32 {
        field!(self, AtomicU32, rights).load(Ordering::Relaxed)
    }

    fn policy_at(&self, number: u8) -> Option<*mut tacet_policy> {
        // SAFETY: mapped for as long as the core runs; the number is within the list.
        (u32::from(number) < TACET_POLICIES)
            .then(|| unsafe { (&raw mut (*self.at.as_ptr()).policies).cast::<tacet_policy>().add(usize::from(number)) })
    }

    /// Number `number` of its list of policies, which never changes once it has that number.
    pub fn policy(&self, number: u8) -> Policy {
        let Some(at) = self.policy_at(number) else { return Policy::NONE };
        // SAFETY: mapped, aligned; written before any entry had this number.
        let tacet_policy { mode, nodes } = unsafe { at.read() };
        Policy { mode, nodes }
    }

    /// Its number for `policy`, a new one if need be. None: there are too many.
    pub fn number_of(&self, core: &Core, policy: Policy) -> Option<u8> {
        wait_for(field!(self, AtomicU32, policies_lock), core);
        let number = self.known_or_new(policy);
        field!(self, AtomicU32, policies_lock).store(0, Ordering::Release);
        number
    }

    fn known_or_new(&self, policy: Policy) -> Option<u8> {
        let count = field!(self, AtomicU32, policy_count);
        let next = count.load(Ordering::Relaxed).min(TACET_POLICIES) as u8;
        if let Some(known) = (1..next).find(|&number| self.policy(number) == policy) {
            return Some(known);
        }
        let place = self.policy_at(next)?;
        // SAFETY: in the list; nobody reads it, as no entry has this number yet; who writes has the lock.
        unsafe { place.write(tacet_policy { mode: policy.mode, nodes: policy.nodes }) };
        count.store(u32::from(next) + 1, Ordering::Release);
        Some(next)
    }

    /// The frame number of its table; 0: none. It stays while any core is at the range.
    pub fn root(&self) -> u64 {
        field!(self, AtomicU64, root).load(Ordering::Relaxed)
    }

    pub fn set_root(&self, root: u64) {
        field!(self, AtomicU64, root).store(root, Ordering::Relaxed);
    }

    /// The policies and the break of its parent, at the moment at which its memory is copied: all locks of both are held.
    pub fn inherit(&self, parent: &Self) {
        let count = field!(parent, AtomicU32, policy_count).load(Ordering::Acquire);
        for number in 1..count.min(TACET_POLICIES) as u8 {
            if let (Some(to), Some(from)) = (self.policy_at(number), parent.policy_at(number)) {
                // SAFETY: in the lists; nobody else is at either.
                unsafe { to.write(from.read()) };
            }
        }
        field!(self, AtomicU32, policy_count).store(count, Ordering::Release);
        field!(self, AtomicU64, break_end).store(parent.program_break().1, Ordering::Relaxed);
    }

    /// Below which page addresses are given.
    pub fn top(&self) -> u32 {
        field!(self, AtomicU32, top).load(Ordering::Relaxed)
    }

    /// The program's break: where it began, and where it is. Only who has the lock of the first one's piece can
    /// rely on the second.
    pub fn program_break(&self) -> (u64, u64) {
        let start = field!(self, AtomicU64, break_start).load(Ordering::Relaxed);
        (start, field!(self, AtomicU64, break_end).load(Ordering::Relaxed))
    }

    fn lock_of(&self, piece: u32) -> &AtomicU32 {
        let (line, place) = (piece % TACET_PIECE_LINES, piece % TACET_PIECES / TACET_PIECE_LINES);
        let number = line * (TACET_PIECES / TACET_PIECE_LINES) + place;
        // SAFETY: mapped for as long as the core runs; aligned; always accessed atomically; within the table.
        unsafe { AtomicU32::from_ptr((&raw mut (*self.at.as_ptr()).locks).cast::<u32>().add(number as usize)) }
    }

    fn owner_of(&self, piece: u32) -> &AtomicU16 {
        let number = (piece % TACET_PIECES) as usize;
        // SAFETY: as in `lock_of`.
        unsafe { AtomicU16::from_ptr((&raw mut (*self.at.as_ptr()).owners).cast::<u16>().add(number)) }
    }

    /// Waits for the locks of `pieces`, from the lowest on. Linux, too, has one for a few instructions only; other
    /// cores may fill large pages with zeros meanwhile, one after the other: who waits for them does not hang, and
    /// says so.
    pub fn hold(&self, core: &Core, pieces: Range<u32>) -> OwnHeld {
        pieces.clone().for_each(|piece| wait_for(self.lock_of(piece), core));
        OwnHeld { own: *self, pieces }
    }
}

impl Pieces for Own {
    fn owner(&self, piece: u32) -> u16 {
        self.owner_of(piece).load(Ordering::Relaxed)
    }

    fn exchange(&self, piece: u32, current: u16, new: u16) -> bool {
        self.owner_of(piece).compare_exchange(current, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

fn wait_for(lock: &AtomicU32, core: &Core) {
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
}

impl OwnHeld {
    /// Calls and faults may be served.
    pub fn is_open(&self) -> bool {
        field!(self.own, AtomicU32, state).load(Ordering::Relaxed) == TACET_RANGE_OPEN
    }

    /// With the lock of the piece where it began.
    pub fn set_program_break(&self, end: u64) {
        field!(self.own, AtomicU64, break_end).store(end, Ordering::Relaxed);
    }
}

impl Drop for OwnHeld {
    fn drop(&mut self) {
        self.pieces.clone().for_each(|piece| self.own.lock_of(piece).store(0, Ordering::Release));
    }
}
