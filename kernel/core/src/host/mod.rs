// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A CPU's host, to which the CPU answers. Where Linux runs too, Linux is the host (`kernel/host/linux`). On a static node
//! the host is the co-kernel's own code, which ships calls to another node (`kernel/host/static`).
//!
//! A host hands threads over (`receive`), each with a number below `THREADS` that names it for as long as it is here,
//! and gets them back (`give_back`). Everything else that it wants it asks for through the requests of
//! `base/request.rs`.

pub mod left;
pub mod none;
pub mod partition;
pub mod question;

use crate::base::common::Common;
use crate::base::escape::{Escape, Left};
use crate::base::flights::Flight;
use crate::base::place::{Place, Recall};
use crate::base::sizes::CPUS;
use core::fmt::Arguments;
use partition::{PartitionMemory, RangeName};
use question::Question;
use tacet_arch::Processor;
use tacet_logic::deadlines::{Clock, Deadline};
use tacet_logic::frames::Policy;
use tacet_logic::futex::Key;
use tacet_pico::{Descriptors, FastPath};

/// One CPU's host.
pub trait Host {
    type Processor: Processor;
    type Thread<'a>: Thread
    where
        Self: 'a;
    type Space: FutexCounters;
    type Memory: PartitionMemory;
    type Devices: FastPath;

    /// Whether the host answers calls on the CPU itself ([`Host::answer`]), and threads wait until a time here even while
    /// others run. A host that only takes threads back says no, and costs nothing.
    const ANSWERS: bool = false;

    /// This CPU.
    fn processor(&self) -> &Self::Processor;

    /// What all CPUs of the partition share.
    fn common(&self) -> &Common;

    /// The number that programs know this CPU by.
    fn cpu_number(&self) -> u32;

    /// This CPU's NUMA node, as programs know it.
    fn node(&self) -> u32;

    /// This CPU's way to the partition's memory. `None`: programs get none. Called once.
    fn open_memory(&self) -> Option<Self::Memory>;

    /// The thread's descriptors, if some of its address space may be granted.
    fn granted(&self, _thread: &Self::Thread<'_>) -> Option<Descriptors> {
        None
    }

    /// This CPU's way to devices.
    fn devices(&self) -> Option<&Self::Devices> {
        None
    }

    /// The next thread that the host hands over to this CPU, if there is one.
    fn receive(&self) -> Option<u32>;

    /// The thread with this number. `None`: no CPU has it.
    fn thread(&self, number: u32) -> Option<Self::Thread<'_>>;

    /// The thread's user state.
    fn user<'a>(&'a self, thread: &Self::Thread<'a>) -> <Self::Processor as Processor>::User<'a>;

    /// Hands a thread back. It is the host's from here on.
    fn give_back(&self, number: u32, escape: Escape);

    /// The thread's place has changed. Called by the thread's own CPU, except for `Waiting` to `Woken`.
    fn moved(&self, thread: &Self::Thread<'_>, from: Place, to: Place);

    /// What is counted about the thread's address space.
    fn space(&self, thread: &Self::Thread<'_>) -> Option<Self::Space>;

    /// Another thread than before runs.
    fn switched_to(&self, number: u32);

    /// The CPU came from user mode.
    fn count_entry(&self);

    /// The CPU shows that it is alive: it has done a bounded portion of long work, or it waits for the work of another.
    /// A host gives up a CPU that does not for long.
    fn count_progress(&self);

    /// The host's clock as last read, if the processor's counter tells it.
    fn clock(&self) -> Option<Clock>;

    /// How long a CPU without work looks for the answer to a call or a fault that it has handed over, before it halts.
    fn answers_within_ns(&self) -> u64 {
        0
    }

    /// Lets `wake` do what the host wants woken, if it wants anything; how many that were.
    fn answer_wake(&self, wake: impl FnMut(WakeRequest) -> u32);

    /// Lets `work` answer the host's question, if there is one: 0 or a negative error number.
    fn answer_question(&self, work: impl FnOnce(Question) -> i32);

    /// A call of the running thread, which the co-kernel does not serve, before it escapes. Only if [`Host::ANSWERS`].
    fn answer<'a>(
        &'a self,
        _number: u32,
        _thread: &Self::Thread<'a>,
        _user: &<Self::Processor as Processor>::User<'a>,
    ) -> Answer {
        Answer::Escape
    }

    /// The result of a thread's call that slept until its time ([`Answer::Sleep`]). Only if [`Host::ANSWERS`].
    fn result_of_sleep(&self, _number: u32) -> u64 {
        0
    }

    /// The CPU has nothing to run: the host may do something else, and says for how many ticks the CPU may halt at most.
    /// Only if [`Host::ANSWERS`].
    fn rests(&self) -> Option<u64> {
        None
    }

    /// Whether the host waits for something that it looks for between two turns: a thread that shares its CPU with that
    /// gets turns. Only if [`Host::ANSWERS`].
    fn waits_for_something(&self) -> bool {
        false
    }

    /// A turn is over: the host may look, and hand threads over. Only if [`Host::ANSWERS`].
    fn looks_between_turns(&self) {}

    /// How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC. Only if [`Host::ANSWERS`].
    fn realtime_ahead_ns(&self) -> u64 {
        0
    }

    /// Until when, on CLOCK_MONOTONIC, a thread waits that asks to wait for so many nanoseconds; `None`: it does not say for
    /// how long. A call that is made again after an interruption keeps the end that it had. Only if [`Host::ANSWERS`].
    fn end_of_relative_wait(&self, _number: u32, asked_ns: Option<u64>) -> Option<u64> {
        Some(self.clock()?.monotonic_ns.saturating_add(asked_ns?))
    }

    /// The futex at an address that the thread may share with other processes. Only if [`Host::ANSWERS`].
    fn shared_futex(&self, thread: &Self::Thread<'_>, address: u64) -> Key {
        Key { root: thread.root(), address }
    }

    /// Does what a test of the co-kernel asks for: mostly something fatal.
    fn test(&self);

    /// Writes a log record.
    fn log(&self, text: &[u8]);

    /// A check has failed: the end of this CPU.
    fn die(&self, reason: Arguments<'_>) -> !;
}

/// How a host's devices name what a call uses of them.
pub(crate) type UsedOf<H> = <<H as Host>::Devices as FastPath>::Used;

/// A call of a host's thread whose commands a device has.
pub(crate) type FlightOf<H> = Flight<UsedOf<H>, <<H as Host>::Devices as FastPath>::Flight>;

/// A thread that a CPU has.
pub trait Thread {
    /// Whether the host wants it back. The host may change that at any time.
    fn recall(&self) -> Recall;

    /// The host wants its turn to be before those of the threads that are queued.
    fn goes_first(&self) -> bool {
        false
    }

    /// It is recalled and will execute nothing any more: not even its call needs to end.
    fn is_killed(&self) -> bool;

    /// What may be answered here.
    fn permits(&self) -> Permits;

    /// The index of the CPU that has it.
    fn home(&self) -> u32;

    /// Its address space's root.
    fn root(&self) -> u64;

    /// The state in the registers of the CPU to which the thread was given is right, if the thread was the last one there:
    /// its host has changed nothing but the general registers since.
    fn state_stays(&self) -> bool {
        false
    }

    /// Its user: threads with the same number need no [`Processor::part_users`] between them. Never 0.
    fn user(&self) -> u64;

    /// The range in which it has memory of the partition, if it has one.
    fn range(&self) -> Option<RangeName>;

    /// As the thread itself sees it.
    fn process_id(&self) -> i32;

    /// As the thread itself sees it.
    fn thread_id(&self) -> i32;

    /// Where it may run.
    fn affinity(&self) -> Affinity;

    /// Where it wants its memory, and from which nodes it may take it.
    fn policy(&self) -> (Policy, u32);

    /// The signals that it has blocked, if it may change that here: bit n for signal n + 1.
    fn signal_mask(&self) -> Option<u64> {
        None
    }

    /// Replaces that by `new`. False: the host is to do it ([`tacet_logic::handshake::mask`]).
    fn set_signal_mask(&self, _blocked: u64, _new: u64) -> bool {
        false
    }

    /// Its list of robust futexes is at `head` from now on. False: the host is to be told at once.
    fn name_robust_list(&self, _head: u64) -> bool {
        false
    }

    /// It enters user mode.
    fn entered(&self);

    /// It has left user mode.
    fn left(&self, left: Left);

    /// A call of it was answered here.
    fn count_local_call(&self);

    /// Whether its owner wants to know how long its calls take.
    fn is_profiled(&self) -> bool;

    /// A call of it was answered here, or by a device for this CPU, and that took so long.
    fn spent_on_local_call(&self, number: u64, ticks: u64, by_device: bool);
}

/// A host's answer to a call of the running thread.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    /// It has this result; the thread continues.
    Done(u64),
    /// It has this result; others go first, and a recalled thread goes back.
    Yield(u64),
    /// The thread waits until this time ([`Host::result_of_sleep`]); a recalled thread waits with its host.
    Sleep(Deadline),
    /// The thread leaves the CPU with its call.
    Escape,
}

/// Which kinds of calls may be answered here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permits(pub u32);

impl Permits {
    pub const CALLS: Self = Self(1 << 0);
    pub const FUTEXES: Self = Self(1 << 1);
    /// It has memory of the partition.
    pub const MEMORY: Self = Self(1 << 2);
    /// It may run on this CPU alone.
    pub const STAYS: Self = Self(1 << 3);
    /// Its clock is the host's.
    pub const SLEEPS: Self = Self(1 << 4);
    /// All of its futexes are here, errors included. Only where [`Host::ANSWERS`].
    pub const OWN_FUTEXES: Self = Self(1 << 5);
    /// The host moves several mappings by one call, if they are to keep their sizes.
    pub const MOVES_SEVERAL: Self = Self(1 << 6);

    /// Nothing is.
    #[inline]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }
}

/// The CPUs where a thread may run, as sched_getaffinity(2) gives them.
pub struct Affinity {
    pub cpus: [u64; CPUS / 64],
    /// How many bytes the call gives at most, and takes at least.
    pub bytes: u32,
    pub least_bytes: u32,
}

/// Threads of one address space that wait for futexes, by where they wait.
pub trait FutexCounters {
    /// Whether a thread may be waiting with the host for a futex that counts as this one.
    fn waited_for_with_host(&self, address: u64) -> bool;

    /// Whether any thread of it waits on a CPU, or is about to compare. To be asked after `waited_for_with_host`, whose
    /// barrier this needs too.
    fn waited_for_on_cpus(&self) -> bool;

    /// One more thread of it waits on a CPU; before it compares.
    fn begin_wait(&self);

    /// And one fewer.
    fn end_wait(&self);
}

/// Threads that the host wants woken from local waits.
#[derive(Debug, Clone, Copy)]
pub struct WakeRequest {
    pub root: u64,
    pub address: u64,
    pub bitset: u32,
    /// At most so many wake; then at most `moved` others wait for `to`.
    pub count: u32,
    pub moved: u32,
    pub to: u64,
}
