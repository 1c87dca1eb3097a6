// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state that all CPUs of a partition share: where threads are, which threads wait for which futex, which were woken for
//! which CPU, and which memory devices have.

use super::loans::Loans;
use super::place::{Place, Places};
use super::sizes::{CPUS, THREADS};
use tacet_logic::futex::Table;
use tacet_logic::woken::{NextWoken, Woken};

/// One for each partition, in the co-kernel's own memory.
pub struct Common {
    pub(crate) places: Places,
    pub(crate) futexes: Table<1024, THREADS>,
    pub(crate) next_woken: NextWoken<THREADS>,
    /// By CPU.
    pub(crate) woken: [Woken; CPUS],
    pub(crate) loans: Loans,
}

impl Common {
    /// No thread is here.
    pub const fn new() -> Self {
        Self {
            places: Places::new(),
            futexes: Table::new(),
            next_woken: NextWoken::new(),
            woken: [const { Woken::new() }; CPUS],
            loans: Loans::new(),
        }
    }

    /// Where a thread is. `None`: there is no such thread. It may have moved by now: for tests and for reports.
    pub fn place(&self, thread: u32) -> Option<Place> {
        self.places.get(thread)
    }
}

impl Default for Common {
    fn default() -> Self {
        Self::new()
    }
}
