// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Everything that the CPUs of a node share. Made once by `lib.rs` before the CPUs start.
//!
//! Order of locks: a process's before a thread's; the link before an exchange. No lock is held while user mode runs or
//! while a reply is waited for.

use crate::exchange::Exchange;
use crate::lead::Session;
use crate::link::Link;
use crate::outstanding::{CALLS, Outstanding, Spare};
use crate::process::Process;
use crate::settings::Settings;
use crate::thread::ThreadState;
use crate::watch::Watch;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tacet_arch::Processor;
use tacet_arch::native::Cpu;
use tacet_arch::native::alone::{Contexts, Locked, Ram, Tables};
use tacet_core::{Common, QUEUE, request};
use tacet_logic::run_queue::RunQueue;
use tacet_logic::static_map::Map;

/// The state that the co-kernel's CPUs share.
pub static COMMON: Common = Common::new();

/// Which process has which memory.
pub static MAP: Locked<Map> = Locked::new(Map::EMPTY);

pub struct Node {
    pub settings: Settings,
    /// The memory that the node had before its kernel took some.
    pub free_bytes: u64,
    /// Made one by one, hence the options: all are there.
    pub cpus: &'static [Option<CpuState>],
    pub threads: &'static [ThreadState],
    pub processes: &'static [Process],
    pub contexts: Contexts,
    pub tables: Tables,
    /// Set before the CPUs start.
    pub ram: Locked<Option<Ram>>,
    pub link: Locked<Link>,
    pub session: Locked<Session>,
    /// For calls that are shipped while others run.
    pub spares: &'static [Option<Spare>],
    /// For orders while a job runs (`watch.rs`).
    pub watch: Locked<Watch>,
    /// When, by the processor's counter, somebody shall look for orders again.
    pub next_look: AtomicU64,
    pub map: &'static Locked<Map>,
    /// The description of the job, as it came.
    pub description: Locked<&'static mut [u8]>,
    /// For CPU 0 while it loads: the beginning of a file, or a path.
    pub scratch: Locked<&'static mut [u8]>,
    pub program: Locked<Program>,
    pub job: Locked<JobState>,
    pub clock: Clock,
    /// Counts jobs; a CPU begins to serve when it changes.
    pub generation: AtomicU32,
    /// CPUs that have served the job to its end.
    pub parked: AtomicU32,
    /// Processes that have not ended.
    pub living: AtomicU32,
}

/// The state of a CPU that other CPUs use too.
pub struct CpuState {
    /// Threads that are handed over to it.
    pub inbox: Locked<RunQueue<QUEUE>>,
    /// How many threads live on it.
    pub threads: AtomicU32,
    /// The one other process that has threads here, by its index plus one; 0: none. And how many.
    pub guest: Locked<(u32, u32)>,
    pub exchange: Locked<Exchange>,
    /// Calls of its threads that are under way, used by the CPU itself.
    pub calls: Locked<[Option<Outstanding>; CALLS]>,
}

/// The state that all processes of a job share.
#[derive(Clone, Copy)]
pub struct JobState {
    pub id: u32,
    pub flags: u32,
    pub user: tacet_shipping::job::User,
}

impl JobState {
    pub const NONE: Self =
        Self { id: 0, flags: 0, user: tacet_shipping::job::User { uid: 0, gid: 0, euid: 0, egid: 0 } };
}

/// The path of the job's program, as the proxies see it, with its NUL.
#[derive(Clone, Copy)]
pub struct Program {
    pub text: [u8; 256],
}

impl Program {
    pub const NONE: Self = Self { text: [0; 256] };

    /// Without the NUL.
    pub fn path(&self) -> &[u8] {
        self.text.split(|&byte| byte == 0).next().unwrap_or(&[])
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// The time-stamp counter when the job came, and what the clocks of its Linux node said.
pub struct Clock {
    pub cycles: AtomicU64,
    pub monotonic_ns: AtomicU64,
    pub realtime_ns: AtomicU64,
}

impl Clock {
    pub const fn new() -> Self {
        Self { cycles: AtomicU64::new(0), monotonic_ns: AtomicU64::new(0), realtime_ns: AtomicU64::new(0) }
    }

    pub fn set(&self, cycles: u64, monotonic_ns: u64, realtime_ns: u64) {
        self.cycles.store(cycles, Ordering::Relaxed);
        self.monotonic_ns.store(monotonic_ns, Ordering::Relaxed);
        self.realtime_ns.store(realtime_ns, Ordering::Relaxed);
    }
}

impl Node {
    /// The state of a CPU that other CPUs use too.
    pub fn cpu(&self, index: u32) -> Option<&'static CpuState> {
        self.cpus.get(index as usize)?.as_ref()
    }

    /// The state of a thread.
    pub fn thread(&self, number: u32) -> Option<&ThreadState> {
        self.threads.get(number as usize)
    }

    pub fn process(&self, index: usize) -> Option<&Process> {
        self.processes.get(index)
    }

    /// All threads of a process.
    pub fn threads_of(&self, process: usize) -> impl Iterator<Item = (u32, &ThreadState)> {
        let of =
            move |thread: &(u32, &ThreadState)| thread.1.taken.load(Ordering::Acquire) && thread.1.process() == process;
        (0..).zip(self.threads).filter(of)
    }

    /// Hands a thread over to its CPU. `cpu`: the one that does it.
    pub fn post(&self, number: u32, cpu: &Cpu) {
        let Some(thread) = self.thread(number) else { return };
        let home = thread.home();
        let Some(state) = self.cpu(home) else { return };
        // Each CPU has at most as many threads as the queue has room for (`clone.rs`).
        let _ = state.inbox.with(|inbox| inbox.push(number));
        cpu.call(home, request::POSTED);
    }

    /// Asks for a thread: its CPU gives it back.
    pub fn want(&self, number: u32, why: u32, cpu: &Cpu) {
        let Some(thread) = self.thread(number) else { return };
        thread.wanted.fetch_or(why, Ordering::AcqRel);
        cpu.call(thread.home(), request::RECALL);
    }
}
