// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A context whose thread has made a system call: what it asks for, and what is
//! known of it. User mode is not running, so nobody else writes what is read here.

use crate::context::Context;
use core::sync::atomic::{AtomicU64, Ordering};
use tacet_abi::{TACET_CPU_WORDS, TACET_LOCAL_MEMORY, TACET_VECTOR_SYSCALL};
use tacet_logic::frames::Policy;

macro_rules! read {
    ($self:ident, $($path:tt)+) => {{
        // SAFETY: mapped; ours; written before it was posted or by the entry code.
        unsafe { (*$self.at.as_ptr()).$($path)+ }
    }};
}

impl Context<'_> {
    /// Whether user mode ended by a call that Linux lets the core answer.
    pub(crate) fn may_answer(&self) -> bool {
        read!(self, registers.vector) == u64::from(TACET_VECTOR_SYSCALL) && read!(self, local) != 0
    }

    /// Which call it is.
    pub fn call_number(&self) -> u64 {
        read!(self, registers.rax)
    }

    /// The call's arguments, in its order.
    pub fn arguments(&self) -> [u64; 6] {
        [
            read!(self, registers.rdi),
            read!(self, registers.rsi),
            read!(self, registers.rdx),
            read!(self, registers.r10),
            read!(self, registers.r8),
            read!(self, registers.r9),
        ]
    }

    /// What the call gives.
    pub(crate) fn set_result(&self, result: u64) {
        // SAFETY: mapped; ours.
        unsafe { (*self.at.as_ptr()).registers.rax = result };
    }

    /// Counts a call that the core has answered.
    pub(crate) fn count_local_call(&self) {
        // SAFETY: mapped and aligned; ours; Linux only reads it.
        let count = unsafe { AtomicU64::from_ptr(&raw mut (*self.at.as_ptr()).local_calls) };
        count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Which kinds of calls the core may answer: `TACET_LOCAL_*`.
    pub fn local(&self) -> u32 {
        read!(self, local)
    }

    /// The address space's root.
    pub fn root(&self) -> u64 {
        read!(self, root)
    }

    /// The number of the address space's entry.
    pub(crate) fn space(&self) -> u32 {
        read!(self, space)
    }

    /// The number of the range in which it has memory of the partition, if it has one.
    pub fn own(&self) -> Option<u32> {
        (self.local() & TACET_LOCAL_MEMORY != 0).then(|| read!(self, range))
    }

    /// The processor's error code of a page fault.
    pub fn fault_error(&self) -> u64 {
        read!(self, registers.error)
    }

    /// Says why Linux gets a call or a fault that is about the partition's memory, and
    /// about which addresses.
    pub fn refuse(&self, refusal: u32, start: u64, end: u64) {
        let at = self.at.as_ptr();
        // SAFETY: mapped; ours.
        unsafe { ((*at).refusal, (*at).refused_start, (*at).refused_end) = (refusal, start, end) };
    }

    /// Leaves for Linux how long it would still have slept.
    pub fn set_sleep_left(&self, ns: u64) {
        // SAFETY: mapped; ours.
        unsafe { (*self.at.as_ptr()).sleep_left_ns = ns };
    }

    /// The index of the core that it is posted to.
    pub fn home(&self) -> u32 {
        read!(self, core)
    }

    /// As the task itself sees it.
    pub fn process_id(&self) -> i32 {
        read!(self, process_id)
    }

    /// As the task itself sees it.
    pub fn thread_id(&self) -> i32 {
        read!(self, thread_id)
    }

    /// The CPUs where it may run, and how many bytes sched_getaffinity(2) gives at
    /// most and takes at least.
    pub fn affinity(&self) -> ([u64; TACET_CPU_WORDS as usize], u32, u32) {
        (read!(self, affinity), read!(self, affinity_bytes), read!(self, affinity_least_bytes))
    }

    /// Where the thread wants its memory, and from which nodes it may take it.
    pub fn policy(&self) -> (Policy, u32) {
        let policy = Policy { mode: read!(self, policy.mode), nodes: read!(self, policy.nodes) };
        (policy, read!(self, nodes_allowed))
    }
}
