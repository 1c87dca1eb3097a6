// SPDX-License-Identifier: Apache-2.0 OR MIT
//! System calls that the CPU answers itself.
//!
//! Which these are, and why, says `abi/syscalls.tbl`: the dispatch is made from it (`build.rs`). A call is answered
//! here only as Linux would answer it; whatever is not certain, every error included, escapes: the host's answer is
//! always right.

pub mod flight;
pub mod futex;
mod memory;
mod own_futex;
pub mod pico;
mod policy;
mod process;
mod sched;
mod time;

use crate::cpu::Cpu;
use crate::escape::{CallEnd, Reason};
use crate::host::{Answer, Host, Permits, Thread};
use tacet_arch::{Processor, UserState};

include!(concat!(env!("OUT_DIR"), "/dispatch.rs"));

/// A call in progress. `'h` is how long the thread stays.
pub struct Call<'c, 'h, H: Host> {
    pub cpu: &'h Cpu<H>,
    pub thread: &'c H::Thread<'h>,
    pub user: &'c <H::Processor as Processor>::User<'h>,
    /// The calling thread's number.
    pub number: u32,
    /// No other thread is in the CPU's queue.
    pub alone: bool,
}

/// A call that is not served here, of a host that answers ([`Host::ANSWERS`]).
#[inline(never)]
pub fn ask_host<H: Host>(call: &Call<'_, '_, H>, reason: Reason) -> CallEnd {
    if call.user.call_number() == own_futex::NUMBER && call.thread.permits().has(Permits::OWN_FUTEXES) {
        return own_futex::futex(call);
    }
    match call.cpu.host.answer(call.number, call.thread, call.user) {
        Answer::Done(result) => CallEnd::Done(result),
        Answer::Yield(result) => CallEnd::Yield(result),
        Answer::Sleep(until) => time::sleep_until(call, until),
        Answer::Escape => CallEnd::Escape(reason),
    }
}

impl<H: Host> Call<'_, '_, H> {
    #[inline]
    fn user_load(&self, address: u64) -> Option<u32> {
        self.cpu.host.processor().user_load(address)
    }

    #[inline]
    fn user_store(&self, address: u64, value: u32) -> Option<()> {
        self.cpu.host.processor().user_store(address, value)
    }
}
