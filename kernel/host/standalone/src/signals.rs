// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls about signals, and how signals get to the threads that shall take them. `tacet_logic::signals` decides the
//! effect of a signal; delivery is in `delivery.rs`.
//!
//! A thread that may have a signal to take is wanted: its CPU gives it back at the next boundary, be it in user mode, in
//! a wait or in a shipped call. Lock order: the process's signals before a thread's.

use crate::host::{Alone, Subject};
use crate::process::Process;
use crate::thread::{ThreadState, wanted};
use crate::time::read_timespec;
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_core::Answer;
use tacet_logic::deadlines::Deadline;
use tacet_logic::signals::{self, Action, AlternateStack, Info, Sent, Set, Thread, codes, numbers};
use tacet_shipping::errno::Errno;

/// sizeof(sigset_t) of the kernel.
const SET_BYTES: u64 = 8;
const PAUSE: u64 = 34;
const SIGSUSPEND: u64 = 130;
/// MINSIGSTKSZ
const LEAST_STACK_BYTES: u64 = 2048;
const SIGNALS: u64 = 64;

/// Does `work` with the signals of a thread and of its process.
pub fn with_signals<T>(
    process: &Process,
    thread: &ThreadState,
    work: impl FnOnce(&mut signals::Process, &mut Thread) -> T,
) -> T {
    process.signals.with(|process| thread.signals.with(|thread| work(process, thread)))
}

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

impl Alone {
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

    /// sigaltstack(2). `stack_pointer`: the thread's.
    pub fn sigaltstack(&self, subject: &Subject<'_>, arguments: &[u64; 6], stack_pointer: u64) -> Result<u64, Errno> {
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
        self.send_to_thread(subject.process, number, thread, info)
    }

    fn send_to_thread(&self, process: &Process, number: u32, thread: &ThreadState, info: Info) -> Result<u64, Errno> {
        let done = with_signals(process, thread, |process, thread| process.send_to(thread, info));
        if done == Sent::Queued {
            self.want_for_signal(number, process, thread, info.signal);
        }
        sent(done)
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
        self.send_to_thread(subject.process, number, thread, info)
    }

    fn info(&self, subject: &Subject<'_>, signal: u64, code: i32) -> Info {
        let user = self.node.job.with(|job| job.user.uid);
        Info::sent(signal as u8, code, subject.thread.process_id.load(Ordering::Relaxed), user)
    }

    /// Sends a signal to a process; `first` takes it if it can.
    pub fn send_to_process(&self, index: usize, info: Info, first: Option<&Subject<'_>>) -> Sent {
        let Some(process) = self.node.process(index) else { return Sent::Invalid };
        let blocked = process.blocked_by_leader(self.node);
        let done = process.signals.with(|process| process.send(info, blocked));
        if done != Sent::Queued {
            return done;
        }
        if first.is_some_and(|first| self.want_for_signal(first.number, process, first.thread, info.signal)) {
            return done;
        }
        for (number, thread) in self.node.threads_of(index) {
            if self.want_for_signal(number, process, thread, info.signal) {
                break;
            }
        }
        done
    }

    /// Asks for the thread if it can take the signal. Returns whether it can.
    fn want_for_signal(&self, number: u32, process: &Process, thread: &ThreadState, signal: u8) -> bool {
        let waits = Set(thread.waits_for.load(Ordering::Acquire)).has(signal);
        let takes = waits || with_signals(process, thread, |process, thread| signals::is_deliverable(thread, process));
        if takes {
            self.node.want(number, wanted::SIGNAL, &self.cpu);
        }
        takes
    }

    /// A thread that was chosen for a signal of its process has left it, by its mask or its end: others may take it.
    pub fn pass_signals_on(&self, subject: &Subject<'_>) {
        let process = subject.process;
        let (left, unblocked) = with_signals(process, subject.thread, |process, thread| {
            (process.pending(thread), signals::is_deliverable(thread, process))
        });
        if left == Set::EMPTY && !unblocked {
            return;
        }
        for (number, thread) in self.node.threads_of(subject.thread.process()) {
            let waits = Set(thread.waits_for.load(Ordering::Acquire)) & left != Set::EMPTY;
            let takes = || with_signals(process, thread, |process, thread| signals::is_deliverable(thread, process));
            if number != subject.number && (waits || takes()) {
                self.node.want(number, wanted::SIGNAL, &self.cpu);
            }
        }
    }

    /// The thread of this CPU has another mask: it may have something to take now.
    pub fn look_for_signals(&self, process: &Process, thread: &ThreadState) {
        if with_signals(process, thread, |process, thread| signals::is_deliverable(thread, process)) {
            thread.wanted.fetch_or(wanted::SIGNAL, Ordering::AcqRel);
        }
    }

    /// Signals that the proxy has received for the process: bit n - 1 is signal n.
    pub fn take_signals_of_proxy(&self, subject: &Subject<'_>, pending: u64) {
        for signal in (1..=SIGNALS).filter(|signal| pending >> (signal - 1) & 1 != 0) {
            let info = Info::sent(signal as u8, codes::USER, 0, 0);
            // Linux gives these to the thread that writes: whose call the proxy has just made.
            if matches!(info.signal, numbers::PIPE | numbers::XFSZ) {
                let _ = self.send_to_thread(subject.process, subject.number, subject.thread, info);
            } else {
                self.send_to_process(subject.thread.process(), info, Some(subject));
            }
        }
    }

    /// pause(2), rt_sigsuspend(2), rt_sigtimedwait(2).
    pub fn wait_for_signal(&self, subject: &Subject<'_>, number: u64, arguments: &[u64; 6]) -> Answer {
        let result = match number {
            PAUSE => Ok(Deadline::at(u64::MAX)),
            SIGSUSPEND => self.begin_suspension(subject, arguments),
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
