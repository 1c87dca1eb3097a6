// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls of the running thread that the co-kernel does not serve: answered here, left to `proceed.rs` if they need the
//! thread's registers, shipped otherwise. A shipped call keeps its CPU: no other thread runs meanwhile.
//!
//! `abi/syscalls.tbl` says which calls are whose. A call that the table calls local and that has no line here is refused.

use crate::delivery::{INTERRUPTED, is_restartable};
use crate::host::{Alone, Subject};
use crate::proceed::number;
use core::sync::atomic::Ordering;
use tacet_arch::UserState;
use tacet_arch::native::User;
use tacet_core::Answer;
use tacet_logic::signals::interrupted;
use tacet_shipping::calls::{Disposition, disposition};
use tacet_shipping::errno::Errno;

impl Alone {
    pub fn answer_call(&self, subject: &Subject<'_>, user: &User<'_>) -> Answer {
        let (number, arguments) = (user.call_number(), user.arguments());
        subject.thread.call.store(number, Ordering::Relaxed);
        let result = match number {
            number::RT_SIGRETURN
            | number::CLONE
            | number::EXIT
            | number::EXIT_GROUP
            | number::ARCH_PRCTL
            | number::SCHED_SETAFFINITY => return Answer::Escape,
            35 => return self.nanosleep(subject, &arguments),
            230 => return self.clock_nanosleep(subject, &arguments),
            34 | 130 | 128 => return self.wait_for_signal(subject, number, &arguments),
            202 => return Answer::Escape,
            131 => Some(self.sigaltstack(subject, &arguments, self.context(subject.number).registers().rsp)),
            _ => self.answer_local(subject, number, &arguments),
        };
        let result = match result {
            Some(result) => result.unwrap_or_else(|error| error.result() as u64),
            None if self.yields() && matches!(disposition(number), Disposition::Ship(_)) => return Answer::Escape,
            None => self.ship_interruptibly(subject, number, &arguments) as u64,
        };
        // A thread that is wanted leaves the co-kernel with its result.
        if subject.thread.is_wanted() { Answer::Yield(result) } else { Answer::Done(result) }
    }

    /// Ships a call. If a signal interrupts it that leads to nothing, the call is made again.
    pub fn ship_interruptibly(&self, subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> i64 {
        if let Err(error) = self.replace_mask(subject, number, arguments) {
            return error.result();
        }
        let mut again = false;
        loop {
            let left = self.with_time_left(subject, number, arguments, again);
            again = true;
            let result = self.ship(subject, number, &left.arguments, &left);
            if result != INTERRUPTED {
                self.restore_mask(subject);
                return result;
            }
            if subject.thread.is_wanted() {
                let code = if is_restartable(number) { interrupted::IF_ALLOWED } else { interrupted::UNLESS_HANDLED };
                subject.thread.interrupted.store(code, Ordering::Relaxed);
                return result;
            }
        }
    }

    /// `None`: it is shipped or refused.
    fn answer_local(&self, subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        let user = || self.node.job.with(|job| job.user);
        Some(match number {
            9 => self.mmap(subject, arguments),
            10 => self.mprotect(subject, arguments),
            11 => self.munmap(subject, arguments),
            12 => self.brk(subject, arguments),
            13 => self.rt_sigaction(subject, arguments),
            14 => self.rt_sigprocmask(subject, arguments),
            25 => self.mremap(subject, arguments),
            26 | 149 | 150 | 151 | 152 | 325 => Ok(0), // msync, mlock and the like: all memory is there
            27 => self.mincore(subject, arguments),
            28 => self.madvise(subject, arguments),
            62 => self.kill(subject, arguments),
            96 => self.gettimeofday(subject, arguments),
            98 => self.getrusage(subject, arguments),
            99 => self.sysinfo(subject, arguments),
            100 => self.times(subject, arguments),
            102 => Ok(user().uid.into()),
            104 => Ok(user().gid.into()),
            107 => Ok(user().euid.into()),
            108 => Ok(user().egid.into()),
            127 => self.rt_sigpending(subject, arguments),
            142 => self.sched_setparam(subject, arguments),
            143 => self.sched_getparam(subject, arguments),
            144 => self.sched_setscheduler(subject, arguments),
            145 => self.sched_getscheduler(subject, arguments),
            146 => self.sched_priority(arguments, true),
            147 => self.sched_priority(arguments, false),
            148 => self.sched_rr_get_interval(subject, arguments),
            157 => self.prctl(subject, arguments),
            200 => self.tkill(subject, arguments),
            201 => self.time(subject, arguments),
            204 => self.sched_getaffinity(subject, arguments),
            218 => self.set_tid_address(subject, arguments),
            228 => self.clock_gettime(subject, arguments),
            229 => self.clock_getres(subject, arguments),
            234 => self.tgkill(subject, arguments),
            273 => self.set_robust_list(subject, arguments),
            274 => self.get_robust_list(subject, arguments),
            309 => self.getcpu(subject, arguments),
            324 => self.membarrier(arguments),
            36 | 38 => return self.interval_timer(arguments),
            97 => return self.getrlimit(subject, arguments),
            160 => return self.setrlimit(subject, arguments),
            129 => self.rt_sigqueueinfo(subject, arguments),
            219 => Err(Errno::EINTR),
            297 => self.rt_tgsigqueueinfo(subject, arguments),
            302 => return self.prlimit(subject, arguments),
            2 | 89 | 257 | 267 => return self.answer_own_file(subject, number, arguments),
            _ => return None,
        })
    }
}
