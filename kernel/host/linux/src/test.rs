// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults on purpose (`enum tacet_test`): the module asks for them only with `test_hooks=1`.

use crate::host::Linux;
use tacet_abi::ring::Push;
use tacet_abi::{
    TACET_TEST_BUSY, TACET_TEST_ENTRY, TACET_TEST_FAULT, TACET_TEST_FULL, TACET_TEST_HANG, TACET_TEST_OUTBOX,
    TACET_TEST_PANIC,
};
use tacet_arch::{Processor, native};

const BUSY_NS: u64 = 25_000_000_000;

impl Linux {
    pub(crate) fn do_test(&self) {
        match self.page.take_test() {
            TACET_TEST_PANIC => crate::die(format_args!("test: a failed check, on request")),
            TACET_TEST_FAULT => native::wild_read(),
            TACET_TEST_HANG => loop {
                core::hint::spin_loop();
            },
            TACET_TEST_OUTBOX => {
                self.page.outbox().corrupt_tail(0x1000);
                self.ring_linux();
            }
            TACET_TEST_ENTRY => {
                let _ = self.page.outbox().push(u32::MAX);
                self.ring_linux();
            }
            // Linux wakes a proxy without need, or none.
            TACET_TEST_FULL => while self.page.outbox().push(0) == Ok(Push::Done) {},
            TACET_TEST_BUSY => self.be_busy(),
            _ => {}
        }
    }

    /// As if a program had this CPU do what takes long, and cannot be interrupted.
    fn be_busy(&self) {
        let end = self.cpu.cycles().saturating_add(self.cpu.ticks(BUSY_NS));
        while self.cpu.cycles() < end {
            self.page.count_progress();
            core::hint::spin_loop();
        }
    }
}
