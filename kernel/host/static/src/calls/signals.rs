// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls about signals: actions, masks, what is pending, sending, and waiting. Signals go their way by `threads/signals.rs`.

use crate::base::clock::read_timespec;
use crate::base::{StaticHost, Subject};
use crate::threads::signals::{SIGNALS, with_signals};
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_core::Answer;
use tacet_logic::deadlines::Deadline;
use tacet_logic::signals::{Action, AlternateStack, Info, Sent, Set, Thread, codes};
use tacet_wire::calls::number;
use tacet_wire::errno::Errno;

/// sizeof(sigset_t) of the kernel.
const SET_BYTES: u64 = 8;
/// MINSIGSTKSZ
const LEAST_STACK_BYTES: u64 = 2048;

fn sent(sent: Sent) -> Result<u64, Errno> {
    match sent {
        Sent::Queued | Sent::Ignored => Ok(0),
        Sent::Full => Err(Errno::EAGAIN),
        Sent::Invalid => Err(Errno::EINVAL),
    }
}

/// Reads a program's account of a signal that it queues.
fn read_info(subject: &Subject<'_>, signal: u64, at: u64) -> Result<Info, Errno> {
    let mut bytes = [0; Info::BYTES];
    subject.memory.read(at, &mut bytes).ok_or(Errno::EFAULT)?;
    let signal = u8::try_from(signal).map_err(|_| Errno::EINVAL)?;
    Info::queued(signal, &bytes).ok_or(Errno::EPERM)
}

impl StaticHost {
    pub fn rt_sigaction(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [signal, new_at, old_at, bytes, ..] = *arguments;
        if bytes != SET_BYTES {
            return Err(Errno::EINVAL);
        }
        let new = match new_at {
            0 => None,
            at => {
                let mut bytes = [0; Action::BYTES];
                subject.memory.read(at, &mut bytes).ok_or(Errno::EFAULT)?;
                Some(Action::from_bytes(&bytes))
            }
        };
        let signal = u8::try_from(signal).map_err(|_| Errno::EINVAL)?;
        let (old, ignored) = subject.process.signals.with(|process| {
            let old = process.set_action(signal, new);
            (old, process.ignores(signal))
        });
        let old = old.map_err(|_| Errno::EINVAL)?;
        if ignored && new.is_some() {
            for (_, thread) in self.node.threads_of(subject.thread.process()) {
                thread.signals.with(|thread| thread.forget(signal));
            }
        }
        if old_at != 0 {
            subject.memory.write(old_at, &old.to_bytes()).ok_or(Errno::EFAULT)?;
        }
        Ok(0)
    }

    pub fn rt_sigprocmask(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [how, new_at, old_at, bytes, ..] = *arguments;
        if bytes != SET_BYTES {
            return Err(Errno::EINVAL);
        }
        let old = subject.thread.signals.with(|thread| thread.blocked());
        if new_at != 0 {
            let set = Set(subject.memory.read_u64(new_at).ok_or(Errno::EFAULT)?);
            let changed = subject.thread.signals.with(|thread| thread.change_blocked(how, set));
            changed.map_err(|_| Errno::EINVAL)?;
            self.look_for_signals(subject.process, subject.thread);
        }
        if old_at != 0 {
            subject.memory.write_u64(old_at, old.0).ok_or(Errno::EFAULT)?;
        }
        Ok(0)
    }

    pub fn rt_sigpending(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [at, bytes, ..] = *arguments;
        if bytes > SET_BYTES {
            return Err(Errno::EINVAL);
        }
        let pending = with_signals(subject.process, subject.thread, |process, thread| process.pending(thread));
        let set = pending.0.to_le_bytes();
        subject.memory.write(at, set.get(..bytes as usize).unwrap_or(&set)).map(|()| 0).ok_or(Errno::EFAULT)
    }

    pub fn sigaltstack(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let stack_pointer = self.context(subject.number).registers().rsp;
        let [new_at, old_at, ..] = *arguments;
        let old = subject.thread.signals.with(|thread| thread.stack_at(stack_pointer));
        if new_at != 0 {
            let mut bytes = [0; AlternateStack::BYTES];
            subject.memory.read(new_at, &mut bytes).ok_or(Errno::EFAULT)?;
            let new = AlternateStack::from_bytes(&bytes);
            let set = |thread: &mut Thread| thread.set_stack(new, stack_pointer, LEAST_STACK_BYTES);
            match subject.thread.signals.with(set) {
                0 => {}
                error => return Err(Errno(error.unsigned_abs() as u16)),
            }
        }
        if old_at != 0 {
            subject.memory.write(old_at, &old.to_bytes()).ok_or(Errno::EFAULT)?;
        }
        Ok(0)
    }

    /// kill(2): of the process itself. Others are not this node's to signal.
    pub fn kill(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [target, signal, ..] = *arguments;
        let own = subject.thread.process_id.load(Ordering::Relaxed);
        let target = target as i32;
        if signal > SIGNALS {
            return Err(Errno::EINVAL);
        }
        if target != own && target != 0 && target != -own {
            return Err(Errno::ESRCH);
        }
        let info = self.info(subject, signal, codes::USER);
        if signal == 0 { Ok(0) } else { sent(self.send_to_process(subject.thread.process(), info, Some(subject))) }
    }

    pub fn tkill(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, signal, ..] = *arguments;
        self.signal_thread(subject, id as i32, signal)
    }

    pub fn tgkill(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [process_id, id, signal, ..] = *arguments;
        if process_id as i32 != subject.thread.process_id.load(Ordering::Relaxed) {
            return Err(Errno::ESRCH);
        }
        self.signal_thread(subject, id as i32, signal)
    }

    /// rt_sigqueueinfo(2), to the process itself.
    pub fn rt_sigqueueinfo(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [target, signal, info_at, ..] = *arguments;
        if target as i32 != subject.thread.process_id.load(Ordering::Relaxed) {
            return Err(Errno::ESRCH);
        }
        let info = read_info(subject, signal, info_at)?;
        sent(self.send_to_process(subject.thread.process(), info, Some(subject)))
    }

    pub fn rt_tgsigqueueinfo(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [target, id, signal, info_at, ..] = *arguments;
        if target as i32 != subject.thread.process_id.load(Ordering::Relaxed) {
            return Err(Errno::ESRCH);
        }
        let info = read_info(subject, signal, info_at)?;
        let (number, thread) = self.thread_with_id(subject, id as i32).ok_or(Errno::ESRCH)?;
        sent(self.send_to_thread(subject.process, number, thread, info))
    }

    fn signal_thread(&self, subject: &Subject<'_>, id: i32, signal: u64) -> Result<u64, Errno> {
        if id <= 0 || signal > SIGNALS {
            return Err(Errno::EINVAL);
        }
        let (number, thread) = self.thread_with_id(subject, id).ok_or(Errno::ESRCH)?;
        if signal == 0 {
            return Ok(0);
        }
        let info = self.info(subject, signal, codes::THREAD);
        sent(self.send_to_thread(subject.process, number, thread, info))
    }

    fn info(&self, subject: &Subject<'_>, signal: u64, code: i32) -> Info {
        let user = self.node.job.with(|job| job.user.uid);
        Info::sent(signal as u8, code, subject.thread.process_id.load(Ordering::Relaxed), user)
    }

    pub fn pause(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Answer {
        self.wait_for_signal(subject, number::PAUSE, arguments)
    }

    pub fn rt_sigsuspend(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Answer {
        self.wait_for_signal(subject, number::RT_SIGSUSPEND, arguments)
    }

    pub fn rt_sigtimedwait(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Answer {
        self.wait_for_signal(subject, number::RT_SIGTIMEDWAIT, arguments)
    }

    /// restart_syscall(2): no call of a static node needs it.
    pub fn restart_syscall(&self, _: &Subject<'_>, _: &[u64; 6]) -> Result<u64, Errno> {
        Err(Errno::EINTR)
    }

    fn wait_for_signal(&self, subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> Answer {
        let result = match number {
            number::PAUSE => Ok(Deadline::at(u64::MAX)),
            number::RT_SIGSUSPEND => self.begin_suspension(subject, arguments),
            _ => match self.begin_timed_wait(subject, arguments) {
                Ok(Ok(signal)) => return Answer::Done(signal.into()),
                Ok(Err(until)) => Ok(until),
                Err(error) => Err(error),
            },
        };
        match result {
            // Wanted meanwhile: the thread leaves the co-kernel, and makes the call again if nothing comes of that.
            Ok(_) if subject.thread.is_wanted() => Answer::Escape,
            Ok(until) => Answer::Sleep(until),
            Err(error) => {
                subject.thread.waits_for.store(0, Ordering::SeqCst);
                Answer::Done(error.result() as u64)
            }
        }
    }

    fn begin_suspension(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<Deadline, Errno> {
        let [at, bytes, ..] = *arguments;
        if bytes != SET_BYTES {
            return Err(Errno::EINVAL);
        }
        let set = Set(subject.memory.read_u64(at).ok_or(Errno::EFAULT)?);
        subject.thread.signals.with(|thread| thread.replace_blocked(set));
        self.look_for_signals(subject.process, subject.thread);
        Ok(Deadline::at(u64::MAX))
    }

    /// The signal that is there already, or until when the thread waits for one.
    fn begin_timed_wait(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<Result<u8, Deadline>, Errno> {
        let [set_at, info_at, time_at, bytes, ..] = *arguments;
        if bytes != SET_BYTES {
            return Err(Errno::EINVAL);
        }
        let thread = subject.thread;
        // Taken in any case: a later sleep must not find it.
        let goes_on = thread.sleeps_on.swap(false, Ordering::Relaxed);
        let set = Set(subject.memory.read_u64(set_at).ok_or(Errno::EFAULT)?);
        // Announced before the look: a signal that comes in between finds the thread waiting.
        thread.waits_for.store(set.0, Ordering::SeqCst);
        let taken = with_signals(subject.process, thread, |process, thread| process.take(thread, set));
        if let Some(info) = taken {
            thread.waits_for.store(0, Ordering::SeqCst);
            if info_at != 0 {
                subject.memory.write(info_at, &info.to_bytes()).ok_or(Errno::EFAULT)?;
            }
            return Ok(Ok(info.signal));
        }
        if goes_on {
            return Ok(Err(Deadline::at(thread.sleeps_until_ns.load(Ordering::Relaxed))));
        }
        let until = match time_at {
            0 => u64::MAX,
            at => self.monotonic_ns(self.cpu.cycles()).saturating_add(read_timespec(subject, at)?),
        };
        thread.sleeps_until_ns.store(until, Ordering::Relaxed);
        Ok(Err(Deadline::at(until)))
    }
}
