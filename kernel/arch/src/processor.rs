// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a processor must offer: the guide to a port of the co-kernel.
//!
//! A [`Processor`] is one CPU, as the code that runs on it sees it. Everything here runs with interrupts off, in the
//! co-kernel's own address space; only the doorbell arrives, and it means "look at memory".

use core::ops::ControlFlow;
use tacet_logic::handshake::idle::Rest;

/// One CPU.
pub trait Processor {
    /// A thread's user state, in the one layout in which this processor saves it.
    type User<'a>: UserState;

    /// This CPU, among those of the partition.
    fn index(&self) -> u32;

    /// A counter that counts at a constant rate, the same on all CPUs.
    fn cycles(&self) -> u64;

    /// What that counter counts in `ns` nanoseconds.
    fn ticks(&self, ns: u64) -> u64;

    /// What that counter counts in a millisecond.
    fn cycles_per_ms(&self) -> u64;

    /// Looks at `done` until it holds or `ns`, less than a second, have passed.
    fn spin(&self, ns: u64, done: impl Fn() -> bool) {
        let ticks = self.ticks(ns) + 1;
        let begin = self.cycles();
        while !done() && self.cycles().wrapping_sub(begin) < ticks {
            core::hint::spin_loop();
        }
    }

    /// Runs user mode with `user`'s registers until the doorbell rings: `None`. Whenever something else ends it,
    /// `ended` decides; `Continue` says that it was a system call which has its result, and user mode continues.
    fn run<'a, T>(&self, user: &Self::User<'a>, ended: impl FnMut(&Self::User<'a>) -> ControlFlow<T>) -> Option<T>;

    /// Loads what [`Processor::run`] does not: segments and extended state. `Err`: the processor refuses some of it by
    /// an exception with this number. If it refuses registers, `run` ends as if the program had raised the exception.
    fn load_state(&self, user: &Self::User<'_>) -> Result<(), u8>;

    /// The same for a user whose state is in the processor still, and the same as in memory.
    fn resume_state(&self, user: &Self::User<'_>);

    /// Saves the same.
    fn store_state(&self, user: &Self::User<'_>);

    /// Reads a word of the program's memory as the program would. `None`: that would fault, or the address is not the
    /// program's.
    fn user_load(&self, address: u64) -> Option<u32>;

    /// Writes a word of the program's memory as the program would. `None`: as above.
    fn user_store(&self, address: u64, value: u32) -> Option<()>;

    /// Writes `to` to a word of the program's memory if it holds `from`, in one step for all CPUs. Gives the value found
    /// there. `None`: as above.
    fn user_exchange(&self, address: u64, from: u32, to: u32) -> Option<u32>;

    /// Loads the address space `root`, which the host gave for a thread that is here. Does nothing if it is loaded.
    fn load_space(&self, root: u64);

    /// Leaves the address space that is loaded, if any.
    fn leave_space(&self);

    /// Another user's thread runs next: clears what the last user's threads left in this CPU, as far as its host has
    /// told it to. Called with no thread's state loaded.
    fn part_users(&self);

    /// When this returns, no CPU of the partition has a translation of the address space `root` (0: of any) in its TLB
    /// that is older than the call.
    ///
    /// Called with the lock of what was changed held, and before anything that was taken away is used again.
    fn flush(&self, root: u64);

    /// Takes the requests that came with the doorbell since the last call (`Attention` of the layer above).
    fn take_attention(&self) -> u32;

    /// Whether a request waits to be taken.
    fn is_wanted(&self) -> bool;

    /// Makes requests of CPU `index` and rings. This CPU itself needs no bell.
    fn call(&self, index: u32, requests: u32);

    /// The same about threads on its list of woken ones, unless that CPU looks at its list anyway.
    fn call_for_woken(&self, index: u32, requests: u32);

    /// Tells other CPUs what this one does. What it looks at after it said that it rests, it looks at later
    /// (`tacet_logic::handshake::idle`).
    fn set_mode(&self, mode: Mode);

    /// Halts until the doorbell rings, or for at most so many ticks; returns at once if a request waits. It may return
    /// early.
    fn halt(&self, ticks: Option<u64>);

    /// Interrupts user mode once, after so many ticks or a little later ([`Exit::Interrupt`]), whatever halts and calls
    /// come in between. Replaces the turn that was begun before.
    fn begin_turn(&self, ticks: u64);

    /// Ends the turn, if one was begun: nothing interrupts user mode for it any more.
    fn end_turn(&self);

    /// Whether a turn has begun, and whether its time is over.
    fn turn(&self) -> Turn;

    /// Ends an interrupt of user mode. One that is neither of a turn nor of a device that the CPU listens to is counted as
    /// unexpected.
    fn foreign_interrupt(&self, vector: u8);
}

/// The time that the running thread has while others wait for its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It has no end.
    Endless,
    Begun,
    Over,
}

/// The registers of a thread whose user mode has ended.
pub trait UserState {
    /// Whether a system call ended it.
    fn is_call(&self) -> bool;

    /// Which call it is: below 2^32.
    fn call_number(&self) -> u64;

    /// The call's arguments, in its order.
    fn arguments(&self) -> [u64; 6];

    /// Gives the call its result.
    fn set_result(&self, result: u64);

    /// Why user mode ended.
    fn exit(&self) -> Exit;

    /// What a page fault wanted. `None`: it was not one that a page with other rights would have avoided.
    fn access(&self) -> Option<Access>;
}

/// Why user mode ended, apart from the doorbell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// A system call; the instruction is done.
    Call,
    /// A page fault, with the address.
    PageFault(u64),
    /// Another exception.
    Exception(u8),
    /// An interrupt that has no business on this CPU.
    Interrupt(u8),
}

/// What a program did to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    Execute,
}

/// What a CPU does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    Kernel = 0,
    User = 1,
    Idle = 2,
    /// Idle, and still looking: it needs no bell.
    Spinning = 3,
}

impl Mode {
    /// From this value on the CPU runs no thread, and touches no program's memory.
    pub(crate) const RESTS: Self = Self::Idle;
}

const _: () = assert!(Mode::RESTS as u32 <= Mode::Spinning as u32 && Mode::RESTS as u32 > Mode::User as u32);

impl From<Rest> for Mode {
    #[inline]
    fn from(rest: Rest) -> Self {
        match rest {
            Rest::Looks => Self::Spinning,
            Rest::Sleeps => Self::Idle,
            Rest::Ends => Self::Kernel,
        }
    }
}
