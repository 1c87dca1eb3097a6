// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The signal mask that a call brings along for as long as it waits: ppoll(2), pselect(2), epoll_pwait(2).
//!
//! `shipped.rs` and `proceed.rs` call this around the shipment. The proxy never learns of the mask: a signal that the mask
//! lets through makes the thread wanted, and a wanted thread has its call interrupted.

use crate::base::{StaticHost, Subject};
use tacet_logic::signals::{Set, Thread};
use tacet_wire::calls::number::{EPOLL_PWAIT, EPOLL_PWAIT2, PPOLL, PSELECT6};
use tacet_wire::errno::Errno;

/// sizeof(sigset_t) of the kernel.
const SET_BYTES: u64 = 8;

impl StaticHost {
    /// Applies the mask of a call that is about to wait. A call that is made again has its mask already.
    pub fn replace_mask(&self, subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> Result<(), Errno> {
        let [_, _, _, fourth, fifth, sixth] = *arguments;
        let (at, bytes) = match number {
            PPOLL => (fourth, fifth),
            EPOLL_PWAIT | EPOLL_PWAIT2 => (fifth, sixth),
            // Its last argument is a pointer to the pair: a call has six arguments at most.
            PSELECT6 if sixth != 0 => {
                let word = |at| subject.memory.read_u64(at).ok_or(Errno::EFAULT);
                (word(sixth)?, word(sixth.wrapping_add(8))?)
            }
            _ => return Ok(()),
        };
        if at == 0 {
            return Ok(());
        }
        if bytes != SET_BYTES {
            return Err(Errno::EINVAL);
        }
        let set = Set(subject.memory.read_u64(at).ok_or(Errno::EFAULT)?);
        subject.thread.signals.with(|thread| thread.replace_blocked(set));
        self.look_for_signals(subject.process, subject.thread);
        Ok(())
    }

    /// The call has a result of its own: the mask before it holds again. After a call that a signal interrupted,
    /// `deliver_signals` does this, once the handlers of that signal have their frames.
    pub fn restore_mask(&self, subject: &Subject<'_>) {
        subject.thread.signals.with(Thread::restore_blocked);
    }
}
