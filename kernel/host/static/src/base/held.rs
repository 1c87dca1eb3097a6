// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread as the core sees it while a CPU has it (`tacet_core::Thread`), and the count of its process's waits.

use super::node::Node;
use super::thread::ThreadState;
use crate::machine;
use core::sync::atomic::{AtomicU32, Ordering};
use tacet_core::{Affinity, FutexCounters, Left, Permits, Recall, Thread};
use tacet_logic::frames::Policy;

/// The thread's kinds of calls that the co-kernel answers.
const PERMITS: Permits = Permits(Permits::CALLS.0 | Permits::FUTEXES.0 | Permits::STAYS.0 | Permits::OWN_FUTEXES.0);

/// A thread that a CPU has.
pub struct StaticThread<'a> {
    pub number: u32,
    pub state: &'a ThreadState,
    pub node: &'a Node,
}

impl Thread for StaticThread<'_> {
    #[inline]
    fn recall(&self) -> Recall {
        if self.state.is_wanted() { Recall::Always } else { Recall::Not }
    }

    fn is_killed(&self) -> bool {
        self.node.process(self.state.process()).is_some_and(|process| process.end().is_some())
    }

    #[inline]
    fn permits(&self) -> Permits {
        PERMITS
    }

    #[inline]
    fn home(&self) -> u32 {
        self.state.home()
    }

    #[inline]
    fn root(&self) -> u64 {
        self.state.root()
    }

    /// All processes of a job are one user's.
    fn user(&self) -> u64 {
        1
    }

    fn range(&self) -> Option<tacet_core::memory::RangeName> {
        None
    }

    fn process_id(&self) -> i32 {
        self.state.process_id.load(Ordering::Relaxed)
    }

    fn thread_id(&self) -> i32 {
        self.state.id()
    }

    fn affinity(&self) -> Affinity {
        let cpus = self.node.cpus.len() as u32;
        let cpus_allowed = self.state.affinity.with(|cpus| *cpus);
        Affinity { cpus: cpus_allowed, bytes: 8 * cpus.div_ceil(64), least_bytes: cpus.div_ceil(8) }
    }

    fn policy(&self) -> (Policy, u32) {
        (Policy::NONE, 1)
    }

    #[inline]
    fn entered(&self) {
        self.state.entered_cycles.store(machine::cycles(), Ordering::Relaxed);
    }

    #[inline]
    fn left(&self, _: Left) {
        let since = self.state.entered_cycles.swap(0, Ordering::Relaxed);
        let total = self.state.user_cycles.load(Ordering::Relaxed);
        self.state.user_cycles.store(total.wrapping_add(machine::cycles().wrapping_sub(since)), Ordering::Relaxed);
    }

    fn count_local_call(&self) {}

    #[inline]
    fn is_profiled(&self) -> bool {
        false
    }

    fn spent_on_local_call(&self, _: u64, _: u64, _: bool) {}
}

/// How many threads of a process wait for futexes.
#[derive(Clone, Copy)]
pub struct Waits<'a>(pub &'a AtomicU32);

impl FutexCounters for Waits<'_> {
    /// No thread waits for a futex with its host.
    #[inline]
    fn waited_for_with_host(&self, _: u64) -> bool {
        false
    }

    /// A thread counts itself before it compares; the waker has changed the word before it looks here.
    #[inline]
    fn waited_for_on_cpus(&self) -> bool {
        core::sync::atomic::fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) != 0
    }

    #[inline]
    fn begin_wait(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    #[inline]
    fn end_wait(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}
