// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A hosted thread on this CPU (`context.h`): the words that say whose it is, and its accounts.
//!
//! A [`Context`] exists only while a CPU of the partition owns it, that is between Linux's release of
//! `TACET_CONTEXT_POSTED` and ours of `TACET_CONTEXT_RETURNED`.

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tacet_abi::{
    TACET_CONTEXT_POSTED, TACET_CONTEXT_RETURNED, TACET_RECALL_KILLED, TACET_RECALL_NOT, TACET_RECALL_TURN,
    tacet_context, tacet_cpu_boot,
};
use tacet_arch::native::{User, cycles};
use tacet_core::{Left, Recall};
use tacet_logic::handshake::home;

/// All contexts of the partition.
#[derive(Clone, Copy)]
pub struct ContextTable {
    base: *mut tacet_context,
    count: u32,
}

impl ContextTable {
    pub fn new(boot: &tacet_cpu_boot) -> Self {
        Self { base: boot.contexts_base as *mut tacet_context, count: boot.context_count }
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    #[inline]
    pub fn get(&self, number: u32) -> Option<Context<'_>> {
        if number >= self.count {
            return None;
        }
        // SAFETY: `number` is below the count of contexts that Linux mapped.
        let context =
            Context { at: unsafe { NonNull::new_unchecked(self.base.add(number as usize)) }, table: PhantomData };
        // Pairs with Linux's release: the registers are written.
        (context.state().load(Ordering::Acquire) == TACET_CONTEXT_POSTED).then_some(context)
    }
}

/// A context that a CPU of the partition owns.
pub struct Context<'a> {
    pub(crate) at: NonNull<tacet_context>,
    table: PhantomData<&'a ContextTable>,
}

impl<'a> Context<'a> {
    /// The thread's user state.
    #[inline]
    pub fn user(&self) -> User<'a> {
        // SAFETY: mapped and a CPU's own while it is posted; Linux checked selectors and bases, and gives the extended
        // state in the format and size from which it restores itself. The layouts agree (`layout.rs`).
        unsafe { User::new(self.at.cast()) }
    }
}

impl Context<'_> {
    /// Whether Linux wants the thread back.
    #[inline]
    pub(crate) fn read_recall(&self) -> Recall {
        // SAFETY: mapped and aligned; the only field Linux writes meanwhile.
        match unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).recall) }.load(Ordering::Acquire) {
            TACET_RECALL_NOT => Recall::Not,
            TACET_RECALL_TURN => Recall::Turn,
            _ => Recall::Always,
        }
    }

    /// Linux kills the thread.
    pub(crate) fn read_killed(&self) -> bool {
        // SAFETY: as in `read_recall`.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).recall) }.load(Ordering::Acquire)
            == TACET_RECALL_KILLED
    }

    /// What Linux sees of a wait: 0 none, 1 a local wait, 2 one that has ended, and the thread continues here.
    pub(crate) fn set_blocked(&self, blocked: u32) {
        // SAFETY: mapped and aligned; ours; Linux only reads it.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).blocked) }.store(blocked, Ordering::Release);
    }

    /// The context is Linux's from here on. How its proxy waits for it (`TACET_HOME_*`).
    pub(crate) fn release(&self, event: u32) -> u64 {
        // SAFETY: mapped; ours until the store of the state.
        unsafe { (*self.at.as_ptr()).event = event };
        home::give_back(self.state(), TACET_CONTEXT_RETURNED, self.home())
    }

    /// User mode begins.
    #[inline]
    pub(crate) fn begin_user(&self) {
        let now = cycles();
        if self.profiled() {
            self.end_spending(now);
        }
        self.entered_tsc().store(now, Ordering::Relaxed);
    }

    /// User mode has ended.
    #[inline]
    pub(crate) fn end_user(&self, left: Left) {
        let doorbell = left == Left::Doorbell;
        if self.profiled() {
            self.begin_spending(left, cycles());
        }
        let since = self.entered_tsc().load(Ordering::Relaxed);
        let at = self.at.as_ptr();
        // SAFETY: mapped; ours; Linux only reads them. Linux may sum the two
        // while we are between the stores, hence the order: never too much.
        unsafe {
            if doorbell {
                let rung = &raw mut (*at).doorbells;
                rung.write_volatile(rung.read_volatile().wrapping_add(1));
            }
            self.entered_tsc().store(0, Ordering::Release);
            let total = AtomicU64::from_ptr(&raw mut (*at).user_tsc);
            total.store(total.load(Ordering::Relaxed).wrapping_add(cycles().wrapping_sub(since)), Ordering::Release);
        }
    }

    fn state(&self) -> &AtomicU32 {
        // SAFETY: mapped, aligned, accessed atomically by both sides.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at.as_ptr()).state) }
    }

    fn home(&self) -> &AtomicU64 {
        // SAFETY: mapped for ever, aligned; Linux writes it atomically at any time, we only read it.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.at.as_ptr()).home) }
    }

    fn entered_tsc(&self) -> &AtomicU64 {
        // SAFETY: mapped, aligned; Linux only reads it.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.at.as_ptr()).entered_tsc) }
    }
}
