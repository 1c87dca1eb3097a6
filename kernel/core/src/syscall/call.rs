// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A call in progress.

use crate::cpu::Cpu;
use crate::host::Host;
use tacet_arch::Processor;

/// Of a thread that runs here. `'h` is how long the thread stays.
pub struct Call<'c, 'h, H: Host> {
    pub cpu: &'h Cpu<H>,
    pub thread: &'c H::Thread<'h>,
    pub user: &'c <H::Processor as Processor>::User<'h>,
    /// The calling thread's number.
    pub number: u32,
    /// No other thread is in the CPU's queue.
    pub uncontended: bool,
}

impl<H: Host> Call<'_, '_, H> {
    #[inline]
    pub fn user_load(&self, address: u64) -> Option<u32> {
        self.cpu.host.processor().user_load(address)
    }

    #[inline]
    pub fn user_store(&self, address: u64, value: u32) -> Option<()> {
        self.cpu.host.processor().user_store(address, value)
    }
}
