// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread of a process: what all CPUs may know of it. Its registers are in its context (`tacet_arch`), which belongs to
//! one CPU at a time.
//!
//! Written when the thread is made (`threads/clone.rs`, `job/begin.rs`) and by its own CPU; other CPUs set bits of `wanted`. Must never
//! be used again before its process has been told that the thread ended (`threads/exit.rs`).

use crate::machine::Locked;
use crate::machine::signal_frame::Trap;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};
use tacet_core::CPUS;
use tacet_logic::signals;

/// Why a thread is wanted by its host: bits of `wanted`. They say where to look; a number may have changed hands since.
pub mod wanted {
    /// A signal may be deliverable.
    pub const SIGNAL: u32 = 1;
    /// Its process may end.
    pub const END: u32 = 2;
    /// It may have to live on another CPU.
    pub const MOVE: u32 = 4;
}

/// Index of no process, and number of no thread.
pub const NOBODY: u32 = u32::MAX;

pub struct ThreadState {
    /// Somebody has this number.
    pub taken: AtomicBool,
    /// A CPU of the co-kernel has it.
    pub here: AtomicBool,
    pub wanted: AtomicU32,
    pub home: AtomicU32,
    /// Index of its process.
    pub process: AtomicU32,
    pub root: AtomicU64,
    pub process_id: AtomicI32,
    pub id: AtomicI32,
    /// The thread's number in its process, for its proxy; never given twice.
    pub serial: AtomicU32,
    /// Of its last shipped call.
    pub sequence: AtomicU64,
    /// The word that the thread's end sets to zero and wakes as a futex; 0: none.
    pub clear_at_end: AtomicU64,
    /// Its list of robust futexes; 0: none.
    pub robust_list: AtomicU64,
    /// Bits of the CPUs that it may run on, those of its process.
    pub affinity: Locked<[u64; CPUS / 64]>,
    /// As prctl(2) names it.
    pub name: Locked<[u8; 16]>,
    /// As prctl(2) keeps it; 0: nobody has set it.
    pub timer_slack_ns: AtomicU64,
    /// It sleeps until this time of the monotonic clock, if it sleeps.
    pub sleeps_until_ns: AtomicU64,
    /// Its sleep was interrupted for nothing, and continues.
    pub sleeps_on: AtomicBool,
    /// The processor's counter when it entered user mode, 0 if it is not there, and what it has had before.
    pub entered_cycles: AtomicU64,
    pub user_cycles: AtomicU64,
    /// The number of the call that it makes, for its restart after a signal.
    pub call: AtomicU64,
    /// How that call was interrupted (`tacet_logic::signals::interrupted`, or -EINTR); 0: it was not.
    pub interrupted: AtomicI64,
    /// Signals for which it waits (rt_sigtimedwait(2)), as bits.
    pub waits_for: AtomicU64,
    /// Its last exception.
    pub trap: Locked<Trap>,
    pub signals: Locked<signals::Thread>,
}

impl ThreadState {
    pub const fn new() -> Self {
        Self {
            taken: AtomicBool::new(false),
            here: AtomicBool::new(false),
            wanted: AtomicU32::new(0),
            home: AtomicU32::new(0),
            process: AtomicU32::new(NOBODY),
            root: AtomicU64::new(0),
            process_id: AtomicI32::new(0),
            id: AtomicI32::new(0),
            serial: AtomicU32::new(0),
            sequence: AtomicU64::new(0),
            clear_at_end: AtomicU64::new(0),
            robust_list: AtomicU64::new(0),
            affinity: Locked::new([0; CPUS / 64]),
            name: Locked::new([0; 16]),
            timer_slack_ns: AtomicU64::new(0),
            sleeps_until_ns: AtomicU64::new(0),
            sleeps_on: AtomicBool::new(false),
            entered_cycles: AtomicU64::new(0),
            user_cycles: AtomicU64::new(0),
            call: AtomicU64::new(0),
            interrupted: AtomicI64::new(0),
            waits_for: AtomicU64::new(0),
            trap: Locked::new(Trap { error: 0, number: 0, address: 0 }),
            signals: Locked::new(signals::Thread::NEW),
        }
    }

    /// Makes it nobody's thread any more with this number, before it is given a process.
    pub fn clear(&self) {
        for word in [&self.clear_at_end, &self.robust_list, &self.sequence, &self.sleeps_until_ns, &self.user_cycles] {
            word.store(0, Ordering::Relaxed);
        }
        self.waits_for.store(0, Ordering::Relaxed);
        self.timer_slack_ns.store(0, Ordering::Relaxed);
        self.interrupted.store(0, Ordering::Relaxed);
        self.sleeps_on.store(false, Ordering::Relaxed);
        self.signals.with(|signals| *signals = signals::Thread::NEW);
        self.trap.with(|trap| *trap = Trap::default());
        self.wanted.store(0, Ordering::Relaxed);
    }

    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire) != 0
    }

    /// Its process; of a thread that is nobody's, no process has this index.
    pub fn process(&self) -> usize {
        self.process.load(Ordering::Acquire) as usize
    }

    /// Gives the number away. Whoever takes it next is not taken for a thread of this process before it has its own.
    pub fn free(&self) {
        self.process.store(NOBODY, Ordering::Relaxed);
        self.taken.store(false, Ordering::Release);
    }

    pub fn id(&self) -> i32 {
        self.id.load(Ordering::Relaxed)
    }

    pub fn home(&self) -> u32 {
        self.home.load(Ordering::Relaxed)
    }

    pub fn root(&self) -> u64 {
        self.root.load(Ordering::Relaxed)
    }
}
