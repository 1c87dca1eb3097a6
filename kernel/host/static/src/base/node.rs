// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Everything that the CPUs of a node share. Made once by `start.rs` before the CPUs start.
//!
//! Order of locks: a process's before a thread's; the watch before an exchange, and the link's line too. No lock is held while user mode runs or
//! while a reply is waited for.

use super::process::Process;
use super::settings::Settings;
use super::thread::ThreadState;
use crate::link::Link;
use crate::link::patience::Patience;
use crate::link::session::{Session, Watch};
use crate::machine::Cpu;
use crate::machine::{Contexts, Locked, Ram, Tables};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use tacet_arch::Processor;
use tacet_core::{Common, QUEUE, request};
use tacet_logic::run_queue::RunQueue;
use tacet_logic::signals::Set;
use tacet_logic::static_map::Map;
use tacet_logic::text::Text;
use tacet_wire::ask::Ask;
use tacet_wire::key::NONCE_BYTES;
use tacet_wire::marshal::Shipment;

pub struct Node {
    pub settings: Settings,
    /// The memory that the node had before its kernel took some.
    pub free_bytes: u64,
    pub cpus: &'static [CpuState],
    pub threads: &'static [ThreadState],
    pub processes: &'static [Process],
    pub contexts: Contexts,
    pub tables: Tables,
    /// Set before the CPUs start.
    pub ram: Locked<Option<Ram>>,
    pub link: Link,
    pub session: Locked<Session>,
    /// Which spare exchanges are taken, for calls that are shipped while others run.
    pub spares: &'static [AtomicBool],
    /// For orders while a job runs (`threads/orders.rs`).
    pub watch: Locked<Watch>,
    /// When, by the processor's counter, somebody shall look for orders again.
    pub next_look: AtomicU64,
    /// Which process has which memory.
    pub map: &'static Locked<Map>,
    /// The state that the core's CPUs share.
    pub common: &'static Common,
    /// The description of the job, as it came.
    pub description: Locked<&'static mut [u8]>,
    /// For CPU 0 while it loads: what its proxy tells about two files.
    pub scratch: Locked<&'static mut [u8]>,
    pub program: Locked<Program>,
    pub job: Locked<JobState>,
    pub clock: Clock,
    /// Counts jobs; a CPU begins to serve when it changes.
    pub generation: AtomicU32,
    pub zeroing: Zeroing,
    /// CPUs that have served the job to its end.
    pub parked: AtomicU32,
    /// Processes that have not ended.
    pub living: AtomicU32,
    /// Errors of the hardware that it has corrected, until the daemon knows.
    pub corrected: AtomicU64,
    /// The line about the job's last proxy that was silent.
    pub silent: Locked<Option<Text<80>>>,
}

/// All CPUs zero the memory of programs (`job/zero.rs`).
pub struct Zeroing {
    /// Counts the times; a CPU begins when it changes. CPU 0 writes `left` before.
    pub round: AtomicU32,
    /// CPUs besides CPU 0 that have not done their part.
    pub left: AtomicU32,
}

impl Zeroing {
    pub const fn new() -> Self {
        Self { round: AtomicU32::new(0), left: AtomicU32::new(0) }
    }
}

/// The state of a CPU that other CPUs use too.
pub struct CpuState {
    /// Threads that are handed over to it.
    pub inbox: Locked<RunQueue<QUEUE>>,
    /// How many threads live on it.
    pub threads: AtomicU32,
    /// The one other process that has threads here, by its index plus one; 0: none. And how many.
    pub guest: Locked<(u32, u32)>,
    /// Calls of its threads that are under way, used by the CPU itself.
    pub calls: Locked<[Option<Outstanding>; CALLS]>,
}

/// The most calls of a CPU that may be under way.
pub const CALLS: usize = 8;

/// A call under way while other threads of its CPU run (`threads/outstanding.rs`).
pub struct Outstanding {
    /// Of the thread.
    pub number: u32,
    /// Its exchange: which of the spare ones.
    pub spare: usize,
    pub shipment: Shipment,
    pub patience: Patience,
    /// When its piece was sent, by the processor's counter.
    pub sent: u64,
    pub interrupted: bool,
}

/// The state that all processes of a job share.
#[derive(Clone, Copy)]
pub struct JobState {
    pub id: u32,
    pub flags: u32,
    pub user: tacet_wire::job::User,
}

impl JobState {
    pub const NONE: Self = Self { id: 0, flags: 0, user: tacet_wire::job::User { uid: 0, gid: 0, euid: 0, egid: 0 } };
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
        self.cpus.get(index as usize)
    }

    /// The numbers of the CPUs that execute programs: all, or all but the one that looks after the link.
    pub fn program_cpus(&self) -> Range<u32> {
        u32::from(self.settings.service_cpu)..self.cpus.len() as u32
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

    /// The signals that a process's first thread holds back, or held back when it ended.
    pub fn blocked_by_leader(&self, process: &Process) -> Set {
        match self.thread(process.leader.load(Ordering::Acquire)) {
            Some(leader) => leader.signals.with(|leader| leader.blocked()),
            None => Set(process.leader_blocked.load(Ordering::Relaxed)),
        }
    }

    /// The greeting of the daemon, which begins another session.
    pub fn hello(&self) -> Ask<'static> {
        let nonce = self.session.with(|session| session.nonce);
        let (cpus, service_cpu) = (self.program_cpus().len() as u32, self.settings.service_cpu);
        Ask::Hello { nonce, cpus, memory_bytes: self.free_bytes, service_cpu }
    }

    /// The daemon has welcomed the node with this nonce.
    pub fn begin_session(&self, welcome: &[u8; NONCE_BYTES]) {
        let Settings { key, node, .. } = &self.settings;
        self.session.with(|session| session.begin(*node, key, welcome));
    }

    /// Hands a thread over to its CPU. `cpu`: the one that does it.
    pub fn post(&self, number: u32, cpu: &Cpu) {
        let Some(thread) = self.thread(number) else { return };
        let home = thread.home();
        let Some(state) = self.cpu(home) else { return };
        // Each CPU has at most as many threads as the queue has room for (`threads/clone.rs`).
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
