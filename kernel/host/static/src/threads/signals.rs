// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How signals get to the threads that shall take them. `tacet_logic::signals` decides the effect of a signal; delivery is
//! in `delivery.rs`, the calls about signals in `calls/signals.rs`.
//!
//! A thread that may have a signal to take is wanted: its CPU gives it back at the next boundary, be it in user mode, in
//! a wait or in a shipped call. Lock order: the process's signals before a thread's.

use crate::base::process::Process;
use crate::base::thread::{ThreadState, wanted};
use crate::base::{StaticHost, Subject};
use core::sync::atomic::Ordering;
use tacet_logic::signals::{self, Info, Sent, Set, Thread, codes, numbers};

pub const SIGNALS: u64 = 64;

/// Does `work` with the signals of a thread and of its process.
pub fn with_signals<T>(
    process: &Process,
    thread: &ThreadState,
    work: impl FnOnce(&mut signals::Process, &mut Thread) -> T,
) -> T {
    process.signals.with(|process| thread.signals.with(|thread| work(process, thread)))
}

impl StaticHost {
    pub fn send_to_thread(&self, process: &Process, number: u32, thread: &ThreadState, info: Info) -> Sent {
        let done = with_signals(process, thread, |process, thread| process.send_to(thread, info));
        if done == Sent::Queued {
            self.want_for_signal(number, process, thread, info.signal);
        }
        done
    }

    /// Sends a signal to a process; `first` takes it if it can.
    pub fn send_to_process(&self, index: usize, info: Info, first: Option<&Subject<'_>>) -> Sent {
        let Some(process) = self.node.process(index) else { return Sent::Invalid };
        let blocked = self.node.blocked_by_leader(process);
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
}
