// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of programs is zero before a job's processes are loaded. Each CPU zeroes an equal part of each range: CPU 0
//! calls the others from their rest (`start.rs`), and waits for them.
//!
//! Must never be called while a process of any job has memory.

use crate::base::StaticHost;
use crate::base::layout::PAGE_BYTES;
use crate::machine::relax;
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_core::request;

impl StaticHost {
    /// Zeroes all memory that programs get. Called by CPU 0 (`loader.rs`).
    pub fn zero_memory(&self) {
        let node = self.node;
        let others = node.cpus.len() as u32 - 1;
        node.zeroing.left.store(others, Ordering::Relaxed);
        node.zeroing.round.fetch_add(1, Ordering::Release);
        (1..=others).for_each(|index| self.cpu.call(index, request::POSTED));
        self.zero_part();
        while node.zeroing.left.load(Ordering::Acquire) != 0 {
            relax();
        }
    }

    /// Zeroes this CPU's part, if it has not done so in this round. `seen`: the last round in which it has.
    pub fn zero_if_called(&self, seen: &mut u32) {
        let zeroing = &self.node.zeroing;
        let round = zeroing.round.load(Ordering::Acquire);
        if round != *seen {
            *seen = round;
            self.zero_part();
            zeroing.left.fetch_sub(1, Ordering::Release);
        }
    }

    fn zero_part(&self) {
        let (index, cpus) = (u64::from(self.cpu.index()), self.node.cpus.len() as u64);
        for range in self.ram.ranges() {
            let page = |cpu: u64| range.bytes / PAGE_BYTES * cpu / cpus * PAGE_BYTES;
            self.ram.zero(range.base + page(index), page(index + 1) - page(index));
        }
    }
}
