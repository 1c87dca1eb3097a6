// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process of the job on this node: its address space, its addresses, its threads in number, and how it ends.
//!
//! Made anew for each job by `job/begin.rs`. Its descriptors, credentials and limits are its proxy's. Nothing here may be kept
//! over the end of a job.

use super::layout::Layout;
use super::thread::{NOBODY, ThreadState};
use crate::machine::{Locked, Space};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use tacet_logic::paging::Protection;
use tacet_logic::signals;
use tacet_wire::key::Key;

/// RLIM_NLIMITS
pub const LIMITS: usize = 16;

/// The soft and the hard limits that the program has set.
pub type KeptLimits = [Option<(u64, u64)>; LIMITS];

pub struct Process {
    pub space: Locked<Option<Space>>,
    pub memory: Locked<Layout>,
    pub signals: Locked<signals::Process>,
    /// Limits that the program has set and that limit nothing.
    pub limits: Locked<KeptLimits>,
    /// What prctl(2) keeps for it.
    pub attributes: Locked<Attributes>,
    /// How the job's packets are signed.
    pub key: Locked<Key>,
    pub root: AtomicU64,
    /// Its first thread; `NOBODY` once that has ended.
    pub leader: AtomicU32,
    /// The signals that its first thread held back when it ended, as bits.
    pub leader_blocked: AtomicU64,
    /// Of its proxy.
    pub port: AtomicU32,
    pub process_id: AtomicU32,
    pub rank: AtomicU32,
    /// Its CPUs: the first, and how many.
    pub first_cpu: AtomicU32,
    pub cpu_count: AtomicU32,
    /// Threads that wait for futexes.
    pub futex_waits: AtomicU32,
    /// Threads that have not ended.
    pub threads: AtomicU32,
    /// The time in user mode of threads that have ended, by the processor's counter.
    pub ended_cycles: AtomicU64,
    /// The number of the thread that comes next.
    pub next_serial: AtomicU32,
    /// 0: it lives. Else [`End::encode`].
    end: AtomicU64,
    /// Its proxy is gone: nobody is told of the end.
    pub orphaned: AtomicBool,
}

/// What a program sets by prctl(2) and may ask for again. Nothing on a node depends on it.
#[derive(Clone, Copy)]
pub struct Attributes {
    pub dumpable: bool,
    pub no_new_privileges: bool,
    pub death_signal: u8,
}

impl Attributes {
    const NEW: Self = Self { dumpable: true, no_new_privileges: false, death_signal: 0 };
}

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By exit_group(2), with this status.
    Exit(u8),
    /// Of this signal.
    Signal(u8),
}

impl End {
    const ENDS: u64 = 1 << 32;

    fn encode(self) -> u64 {
        let (status, signal) = self.arguments();
        Self::ENDS | status | signal << 8
    }

    fn decode(code: u64) -> Option<Self> {
        let [status, signal, ..] = code.to_le_bytes();
        match (code & Self::ENDS, signal) {
            (0, _) => None,
            (_, 0) => Some(Self::Exit(status)),
            _ => Some(Self::Signal(signal)),
        }
    }

    /// As the proxy is told: the status, and the signal or 0.
    pub fn arguments(self) -> (u64, u64) {
        match self {
            Self::Exit(status) => (status.into(), 0),
            Self::Signal(signal) => (0, signal.into()),
        }
    }
}

impl Process {
    /// With memory for what it remembers of its addresses.
    pub fn new(memory: Layout) -> Self {
        Self {
            space: Locked::new(None),
            memory: Locked::new(memory),
            signals: Locked::new(signals::Process::NEW),
            limits: Locked::new([None; LIMITS]),
            attributes: Locked::new(Attributes::NEW),
            key: Locked::new(Key::new(&[0; 32])),
            root: AtomicU64::new(0),
            leader: AtomicU32::new(0),
            leader_blocked: AtomicU64::new(0),
            port: AtomicU32::new(0),
            process_id: AtomicU32::new(0),
            rank: AtomicU32::new(0),
            first_cpu: AtomicU32::new(0),
            cpu_count: AtomicU32::new(1),
            futex_waits: AtomicU32::new(0),
            threads: AtomicU32::new(0),
            ended_cycles: AtomicU64::new(0),
            next_serial: AtomicU32::new(0),
            end: AtomicU64::new(0),
            orphaned: AtomicBool::new(false),
        }
    }

    /// Prepares the process for a new job, while it has no thread.
    pub fn clear(&self) {
        for word in [&self.futex_waits, &self.threads, &self.next_serial] {
            word.store(0, Ordering::Relaxed);
        }
        self.end.store(0, Ordering::Relaxed);
        self.signals.with(|signals| *signals = signals::Process::NEW);
        self.limits.with(|limits| *limits = [None; LIMITS]);
        self.attributes.with(|attributes| *attributes = Attributes::NEW);
        self.ended_cycles.store(0, Ordering::Relaxed);
        self.orphaned.store(false, Ordering::Relaxed);
    }

    pub fn root(&self) -> u64 {
        self.root.load(Ordering::Relaxed)
    }

    /// The numbers of its CPUs.
    pub fn cpus(&self) -> core::ops::Range<u32> {
        let first = self.first_cpu.load(Ordering::Relaxed);
        first..first + self.cpu_count.load(Ordering::Relaxed)
    }

    /// A thread has ended. If it was the first one, its mask still decides about signals that are ignored, as on Linux,
    /// and its number may become another process's.
    pub fn forget_leader(&self, number: u32, thread: &ThreadState) {
        if self.leader.load(Ordering::Relaxed) == number {
            let blocked = thread.signals.with(|thread| thread.blocked());
            self.leader_blocked.store(blocked.0, Ordering::Relaxed);
            self.leader.store(NOBODY, Ordering::Release);
        }
    }

    /// Begins the process's end in this way. False: the process ends already.
    pub fn begin_end(&self, end: End) -> bool {
        self.end.compare_exchange(0, end.encode(), Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    pub fn end(&self) -> Option<End> {
        End::decode(self.end.load(Ordering::Acquire))
    }

    /// Where `address` is in RAM, how many bytes follow there, and what the program may do with them.
    pub fn find(&self, address: u64) -> Option<(u64, u64, Protection)> {
        self.space.with(|space| space.as_ref()?.find(address))
    }
}
