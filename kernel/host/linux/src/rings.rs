// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The two rings through which threads come and go, and the interrupt that tells Linux to look. The other end is
//! `linux/border/rings.c`.

use crate::host::Linux;
use crate::page::{Page, field};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use tacet_abi::ring::{Push, Ring};
use tacet_arch::{Processor, native};

/// Between two bells while Linux does not take what is in the outbox.
const FULL_NS: u64 = 10_000;

impl Linux {
    /// The next posted thread's number, if any. A corrupt ring is Linux's
    /// fault and the end of the partition.
    pub(crate) fn next_posted(&self) -> Option<u32> {
        match self.page.inbox().pop() {
            Ok(posted) => posted,
            Err(_) => crate::die(format_args!("inbox: index is corrupt: Linux wrote it")),
        }
    }

    /// Tells Linux which thread came back. Its proxy may see that before Linux takes the interrupt, and post the
    /// thread again: a Linux CPU that keeps interrupts off for long leaves the outbox full. This CPU then waits for
    /// it, and rings again, because Linux may have moved its interrupts meanwhile.
    pub(crate) fn announce(&self, number: u32) {
        loop {
            match self.page.outbox().push(number) {
                Ok(Push::Done) => break,
                Ok(Push::Full) => {
                    self.ring_linux();
                    self.cpu.spin(FULL_NS, || false);
                }
                Err(_) => crate::die(format_args!("outbox: index is corrupt: Linux wrote it")),
            }
        }
        self.ring_linux();
    }

    /// Ends the halt of a CPU of Linux: `home` says where it is and what to send.
    pub(crate) fn interrupt_home(&self, home: u64) {
        self.page.count_notification();
        native::interrupt((home >> 32) as u32, home as u32);
    }

    pub(crate) fn ring_linux(&self) {
        self.page.count_notification();
        self.page.interrupt_linux();
    }
}

impl Page {
    pub fn interrupt_linux(&self) {
        // Pairs with Linux's release of the command; both change together only
        // while nothing is posted to this CPU.
        let command = field!(self, AtomicU32, notify_command).load(Ordering::Acquire);
        native::interrupt(field!(self, AtomicU32, notify_destination).load(Ordering::Relaxed), command);
    }

    fn inbox(&self) -> Ring {
        // SAFETY: the ring is in the mapped page; we are its only consumer.
        unsafe { Ring::new(NonNull::new_unchecked(&raw mut (*self.at.as_ptr()).inbox)) }
    }

    pub fn outbox(&self) -> Ring {
        // SAFETY: the ring is in the mapped page; we are its only producer.
        unsafe { Ring::new(NonNull::new_unchecked(&raw mut (*self.at.as_ptr()).outbox)) }
    }
}
