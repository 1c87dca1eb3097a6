// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a thread goes on that has left the co-kernel: calls that need its registers, faults, signals, its end. Its
//! registers are in memory; nothing of it runs until it is posted again.

use crate::host::{Alone, Subject};
use crate::process::End;
use crate::thread::wanted;
use core::sync::atomic::Ordering;
use tacet_arch::UserState;
use tacet_core::Escape;
use tacet_shipping::calls::{Disposition, disposition};
use tacet_shipping::errno::Errno;

/// system calls that escape, by number.
pub mod number {
    pub const RT_SIGRETURN: u64 = 15;
    pub const CLONE: u64 = 56;
    pub const EXIT: u64 = 60;
    pub const ARCH_PRCTL: u64 = 158;
    pub const SCHED_SETAFFINITY: u64 = 203;
    pub const EXIT_GROUP: u64 = 231;
}

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

impl Alone {
    /// Decides about a thread that the co-kernel has given back.
    pub fn proceed(&self, subject: &Subject<'_>, escape: Escape) {
        let next = match escape {
            Escape::Call(_) => self.answer_escaped(subject),
            Escape::PageFault(address, _) => self.fault(subject, 14, Some(address)),
            Escape::Exception(vector) => self.fault(subject, vector, None),
            Escape::Waiting { .. } => self.interrupt_wait(subject),
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
            _ => self.interrupt_wait(subject),
        }
    }

    /// A shipped call, while other threads run if that is possible.
    fn ship_escaped(&self, subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> Next {
        let left = self.with_time_left(subject, number, arguments, false);
        let result = match self.begin_call(subject, number, &left) {
            Ok(true) => return Next::Shipped,
            Ok(false) => self.ship_interruptibly(subject, number, &left.arguments),
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

    /// The thread's call begins anew when it goes on: the instruction is two bytes long.
    pub fn repeat_call(&self, subject: &Subject<'_>) {
        let context = self.context(subject.number);
        let mut registers = context.registers();
        registers.rip = registers.rip.wrapping_sub(2);
        registers.rax = subject.thread.call.load(Ordering::Relaxed);
        context.set_registers(&registers);
    }
}
