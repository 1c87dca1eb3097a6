// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What local calls are answered from. The other end is `linux/delegate/local.c`, which writes it before each posting.

use crate::context::Context;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tacet_abi::TACET_LOCAL_MEMORY;
use tacet_core::memory::RangeName;
use tacet_core::{Affinity, Left, Permits, Recall, Thread};
use tacet_logic::frames::Policy;
use tacet_logic::handshake::mask;

macro_rules! read {
    ($self:ident, $($path:tt)+) => {{
        // SAFETY: mapped; ours; written before it was posted.
        unsafe { (*$self.at.as_ptr()).$($path)+ }
    }};
}

impl Context<'_> {
    /// The number of the address space's entry.
    #[inline]
    pub(crate) fn space(&self) -> u32 {
        read!(self, space)
    }

    /// The number of the thread's table of descriptors.
    #[inline]
    pub(crate) fn descriptors(&self) -> u64 {
        read!(self, descriptors)
    }
}

impl Thread for Context<'_> {
    #[inline]
    fn recall(&self) -> Recall {
        self.read_recall()
    }

    #[inline]
    fn goes_first(&self) -> bool {
        read!(self, goes_first) != 0
    }

    fn is_killed(&self) -> bool {
        self.read_killed()
    }

    #[inline]
    fn permits(&self) -> Permits {
        Permits(read!(self, local))
    }

    #[inline]
    fn home(&self) -> u32 {
        read!(self, core)
    }

    #[inline]
    fn root(&self) -> u64 {
        read!(self, root)
    }

    #[inline]
    fn user(&self) -> u64 {
        read!(self, user)
    }

    #[inline]
    fn state_stays(&self) -> bool {
        read!(self, state_stays) != 0
    }

    #[inline]
    fn range(&self) -> Option<RangeName> {
        (read!(self, local) & TACET_LOCAL_MEMORY != 0)
            .then(|| RangeName { number: read!(self, range), serial: read!(self, range_serial) })
    }

    #[inline]
    fn process_id(&self) -> i32 {
        read!(self, process_id)
    }

    #[inline]
    fn thread_id(&self) -> i32 {
        read!(self, thread_id)
    }

    fn affinity(&self) -> Affinity {
        Affinity {
            cpus: read!(self, affinity),
            bytes: read!(self, affinity_bytes),
            least_bytes: read!(self, affinity_least_bytes),
        }
    }

    #[inline]
    fn policy(&self) -> (Policy, u32) {
        let policy = Policy { mode: read!(self, policy.mode), nodes: read!(self, policy.nodes) };
        (policy, read!(self, nodes_allowed))
    }

    fn signal_mask(&self) -> Option<u64> {
        // SAFETY: mapped and aligned; only this CPU writes it meanwhile.
        Some(unsafe { AtomicU64::from_ptr(&raw mut (*self.at.as_ptr()).signal_mask) }.load(Ordering::Relaxed))
    }

    fn set_signal_mask(&self, blocked: u64, new: u64) -> bool {
        let at = self.at.as_ptr();
        // SAFETY: both are mapped and aligned, and accessed atomically by both sides.
        let (mask, waits) = unsafe {
            (AtomicU64::from_ptr(&raw mut (*at).signal_mask), AtomicU32::from_ptr(&raw mut (*at).signal_waits))
        };
        mask::change(mask, blocked, new, waits)
    }

    fn name_robust_list(&self, head: u64) -> bool {
        let at = self.at.as_ptr();
        // SAFETY: mapped; ours until the context is returned.
        unsafe { ((*at).robust_list, (*at).robust_list_named) = (head, 1) };
        true
    }

    #[inline]
    fn entered(&self) {
        self.begin_user();
    }

    #[inline]
    fn left(&self, left: Left) {
        self.end_user(left);
    }

    #[inline]
    fn count_local_call(&self) {
        // SAFETY: mapped and aligned; ours; Linux only reads it.
        let count = unsafe { AtomicU64::from_ptr(&raw mut (*self.at.as_ptr()).local_calls) };
        count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    #[inline]
    fn is_profiled(&self) -> bool {
        self.profiled()
    }

    fn spent_on_local_call(&self, number: u64, ticks: u64, by_device: bool) {
        self.add_answered_call(number, ticks, by_device);
    }
}
