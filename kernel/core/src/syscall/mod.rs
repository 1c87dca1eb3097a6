// SPDX-License-Identifier: Apache-2.0 OR MIT
//! System calls that the CPU answers itself.
//!
//! Which these are, and why, says `abi/syscalls.tbl`: the dispatch is made from it (`build.rs`). A call is answered
//! here only as Linux would answer it; whatever is not certain, every error included, escapes: the host's answer is
//! always right.

pub mod futex;
mod memory;
mod policy;
mod process;
mod sched;
mod time;

use crate::cpu::Cpu;
use crate::escape::CallEnd;
use crate::host::Host;
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
