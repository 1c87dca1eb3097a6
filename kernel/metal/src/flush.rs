// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Translations that are not so any more, taken out of all cores' TLBs. Called with the lock of what was changed held, and
//! before anything that is gone is used again.
//!
//! Linux asks in the same way (`linux/border/space.c`). Cores that ask each other at once answer while they wait: the interrupt
//! that asks them is not maskable (`entry.S`).

use crate::core_local::Core;
use crate::registers;

/// Cores that are asked before the first is waited for.
const ASKED_AT_ONCE: usize = 64;

impl Core {
    /// No core has anything older than now of the address space `root` (0: of any) in its TLB when this returns.
    pub fn flush(&self, root: u64) {
        match self.shared.active_root() {
            0 => {} // the idle root maps no program
            active if root == 0 || active == root => registers::load_root(active),
            _ => {}
        }
        for first in (0..self.core_count).step_by(ASKED_AT_ONCE) {
            let cores = || (first..self.core_count).map(|index| (index, self.shared.other(self.index, index)));
            let mut requests = [None; ASKED_AT_ONCE];
            for (request, (index, core)) in requests.iter_mut().zip(cores()) {
                *request = if index == self.index { None } else { core.request_flush(root) };
            }
            for (request, (_, core)) in requests.iter().zip(cores()) {
                if let Some(generation) = *request {
                    core.await_flush(generation);
                }
            }
        }
    }
}
