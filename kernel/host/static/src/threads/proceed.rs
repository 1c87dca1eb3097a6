// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a thread goes on that has left the co-kernel: calls that need its registers, faults, signals, its end. Its
//! registers are in memory; nothing of it runs until it is posted again.

use super::outstanding::Done;
use super::shipped::interruption;
use crate::base::process::End;
use crate::base::thread::wanted;
use crate::base::{StaticHost, Subject};
use core::sync::atomic::Ordering;
use tacet_arch::UserState;
use tacet_core::Escape;
use tacet_wire::calls::{Disposition, disposition, number};
use tacet_wire::errno::Errno;

/// The consequence of a call.
pub enum Next {
    Result(Result<u64, Errno>),
    /// The registers are as the thread goes on with them.
    Ready,
    Ended,
    /// The thread's call is under way (`outstanding.rs`).
    Shipped,
}

/// arch/x86/include/uapi/asm/prctl.h
const SET_GS: u64 = 0x1001;
const SET_FS: u64 = 0x1002;
const GET_FS: u64 = 0x1003;
const GET_GS: u64 = 0x1004;
const GET_CPUID: u64 = 0x1011;
const SET_CPUID: u64 = 0x1012;

impl StaticHost {
    /// Decides about a thread that the co-kernel has given back.
    pub fn proceed(&self, subject: &Subject<'_>, escape: Escape) {
        let next = match escape {
            Escape::Call(_) => self.answer_escaped(subject),
            Escape::PageFault(address, _) => {
                self.fault(subject, 14, Some(address));
                Next::Ready
            }
            Escape::Exception(vector) => {
                self.fault(subject, vector, None);
                Next::Ready
            }
            Escape::Waiting { .. } => {
                self.interrupt_wait(subject);
                Next::Ready
            }
            Escape::Recalled | Escape::Woken => Next::Ready,
        };
        match next {
            Next::Result(result) => {
                let result = result.unwrap_or_else(|error| error.result() as u64);
                self.context(subject.number).user().set_result(result);
                self.go_on(subject);
            }
            Next::Ready => self.go_on(subject),
            Next::Ended => self.end_thread(subject),
            Next::Shipped => {}
        }
        self.tend_calls();
    }

    /// The thread goes on, after what signals want of it; or its process ends.
    pub fn go_on(&self, subject: &Subject<'_>) {
        // Taken before the looks: who wants the thread later finds none of the bits, and it leaves once more.
        let why = subject.thread.wanted.swap(0, Ordering::AcqRel);
        if subject.process.end().is_some() {
            return self.end_thread(subject);
        }
        self.deliver_signals(subject);
        if why & wanted::SIGNAL != 0 {
            self.pass_signals_on(subject);
        }
        if subject.process.end().is_some() {
            return self.end_thread(subject);
        }
        self.move_if_needed(subject);
        self.hand_over(subject);
    }

    /// Looks at the calls that are under way: threads whose calls have ended go on.
    pub fn tend_calls(&self) {
        self.tend(|subject, done| match done {
            Done::Result(result) => self.conclude(subject, result),
            Done::Gone => self.end_thread(subject),
        });
    }

    /// The thread goes on with its result. A signal that leads to nothing does not end a call.
    fn conclude(&self, subject: &Subject<'_>, result: i64) {
        let user = self.context(subject.number).user();
        match interruption(result) {
            Some(code) => subject.thread.interrupted.store(code, Ordering::Relaxed),
            None => self.restore_mask(subject),
        }
        user.set_result(result as u64);
        self.go_on(subject);
    }

    fn answer_escaped(&self, subject: &Subject<'_>) -> Next {
        let user = self.context(subject.number).user();
        let arguments = user.arguments();
        let [first, second, ..] = arguments;
        match user.call_number() {
            number::CLONE => Next::Result(self.clone_thread(subject, &arguments)),
            number::EXIT => Next::Ended,
            number::EXIT_GROUP => {
                self.end_process(subject.thread.process(), End::Exit(first as u8));
                Next::Ended
            }
            number::ARCH_PRCTL => Next::Result(self.set_base(subject, first, second)),
            number::RT_SIGRETURN => {
                self.return_from_handler(subject);
                Next::Ready
            }
            number::SCHED_SETAFFINITY => Next::Result(self.set_affinity(subject, &arguments)),
            number if matches!(disposition(number), Disposition::Ship(_)) => {
                self.ship_escaped(subject, number, &arguments)
            }
            // A call that waits, of a thread that is wanted: as if it had begun to wait.
            _ => {
                self.interrupt_wait(subject);
                Next::Ready
            }
        }
    }

    /// A shipped call, while other threads run if that is possible.
    fn ship_escaped(&self, subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> Next {
        let left = self.with_time_left(subject, number, arguments, false);
        let result = match self.begin_call(subject, number, &left) {
            Ok(true) => return Next::Shipped,
            Ok(false) => self.ship_left(subject, number, arguments, left),
            Err(result) => result,
        };
        self.context(subject.number).user().set_result(result as u64);
        Next::Ready
    }

    fn set_base(&self, subject: &Subject<'_>, code: u64, value: u64) -> Result<u64, Errno> {
        let context = self.context(subject.number);
        let done = match code {
            SET_FS => context.set_fs_base(value),
            SET_GS => context.set_gs_base(value),
            GET_FS => subject.memory.write_u64(value, context.fs_base()).is_some(),
            GET_GS => subject.memory.write_u64(value, context.gs_base()).is_some(),
            // As on processors that cannot make CPUID fault.
            GET_CPUID => return Ok(1),
            SET_CPUID => return Err(Errno::ENODEV),
            _ => return Err(Errno::EINVAL),
        };
        match (done, code) {
            (true, _) => Ok(0),
            (false, SET_FS | SET_GS) => Err(Errno::EPERM),
            (false, _) => Err(Errno::EFAULT),
        }
    }
}
