// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The decision that a process ends. Its threads are wanted then: each ends at its next boundary (`exit.rs`).

use crate::base::process::End;
use crate::base::thread::wanted;
use crate::base::{StaticHost, Subject};
use crate::link::exchange::Lost;
use crate::machine::log;
use core::sync::atomic::{Ordering, fence};
use tacet_logic::text::Text;
use tacet_wire::ask::Refusal;

const SIGKILL: u8 = 9;

impl StaticHost {
    /// Ends the process in this way, unless it ends already, and asks for all of its threads.
    pub fn end_process(&self, process: usize, end: End) {
        let begun = self.node.process(process).is_some_and(|process| process.begin_end(end));
        // Pairs with `clone.rs`: a thread that is being made is found here, or sees the end there.
        fence(Ordering::SeqCst);
        if begun {
            for (number, _) in self.node.threads_of(process) {
                self.node.want(number, wanted::END, &self.cpu);
            }
        }
    }

    /// The proxy does not answer: the process ends, if it does not end already.
    pub fn lose_proxy(&self, subject: &Subject<'_>, lost: Lost) {
        let why = match lost {
            Lost::GivenUp => return,
            Lost::Refused(Refusal::NoJob) => "its proxy is gone",
            Lost::Refused(Refusal::NoSession) => "its proxy does not know it",
            Lost::Silent => "its proxy is silent",
            Lost::TooLong => "a call is too long",
        };
        if lost == Lost::TooLong {
            return;
        }
        let orphaned = subject.process.orphaned.swap(true, Ordering::AcqRel);
        if !orphaned && subject.process.end().is_none() {
            let rank = subject.process.rank.load(Ordering::Relaxed);
            let line = Text::<80>::format(format_args!("process {rank} ends: {why}"));
            log(line.as_bytes());
            // A proxy that refuses has ended, and `run` knows; one that is silent may live on.
            if lost == Lost::Silent {
                self.node.silent.with(|silent| *silent = Some(line));
            }
        }
        self.end_process(subject.thread.process(), End::Signal(SIGKILL));
    }

    /// `run` is gone, and with it the proxies: a process that told its proxy of its end would wait half a minute for an answer.
    pub fn orphan_processes(&self) {
        for (index, process) in self.node.processes.iter().enumerate() {
            // Also one without threads: its last one may be telling the proxy of the end, and stops waiting.
            process.orphaned.store(true, Ordering::Release);
            if process.threads.load(Ordering::Acquire) > 0 {
                self.end_process(index, End::Signal(SIGKILL));
            }
        }
    }
}
