// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults on purpose (`enum tacet_test`): the module asks for them only with `test_hooks=1`.

use crate::host::Linux;
use tacet_abi::ring::Push;
use tacet_abi::{
    TACET_LOG_WARNING, TACET_TEST_BUSY, TACET_TEST_ENTRY, TACET_TEST_FAULT, TACET_TEST_FLAGS, TACET_TEST_FULL,
    TACET_TEST_HANG, TACET_TEST_OUTBOX, TACET_TEST_PANIC, TACET_TEST_REGISTERS, TACET_TEST_SELECTORS, tacet_context,
};
use tacet_arch::{Processor, native};
use tacet_core::Thread;

const BUSY_NS: u64 = 25_000_000_000;
/// No descriptor of ours has it.
const NO_SEGMENT: u16 = 0x3b;
/// No processor has such an address.
const NOT_CANONICAL: u64 = 1 << 62;
const ALIGNMENT_CHECK: u64 = 1 << 18;

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
            TACET_TEST_REGISTERS => self.spoil(|context| {
                (context.registers.rip, context.registers.ss) = (NOT_CANONICAL, 0);
            }),
            TACET_TEST_SELECTORS => self.spoil(|context| (context.ds, context.es) = (NO_SEGMENT, NO_SEGMENT)),
            TACET_TEST_FLAGS if native::flags() & ALIGNMENT_CHECK != 0 => {
                self.page.log(TACET_LOG_WARNING, b"AC is set")
            }
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

    /// Changes the saved state of all threads that this CPU has.
    fn spoil(&self, change: impl Fn(&mut tacet_context)) {
        for context in (0..self.contexts.count()).filter_map(|number| self.contexts.get(number)) {
            if context.home() == self.cpu.index() {
                // SAFETY: mapped; ours, since it was posted to this CPU; no other reference is in use.
                change(unsafe { &mut *context.at.as_ptr() });
            }
        }
    }
}
