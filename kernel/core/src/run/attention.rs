// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the doorbell asked for.
//!
//! Called with no thread in user mode; the one that is loaded, if any, is not in the queue and is not touched. An
//! address space that the host wants left runs no thread any more: if one is loaded, that space was left already.

use crate::base::escape::Escape;
use crate::base::place::{Event, Place};
use crate::base::request;
use crate::cpu::Cpu;
use crate::host::Host;
use crate::memory::answer;
use tacet_arch::Processor;

impl<H: Host> Cpu<H> {
    /// Serves every request that is pending. False: the host ends the service.
    pub(crate) fn serve_requests(&mut self, loaded: bool) -> bool {
        let requests = self.host.processor().take_attention();
        if requests & request::POSTED != 0 {
            self.receive();
        }
        if requests & request::WAKE != 0 {
            self.wake_for_host();
        }
        if requests & request::ASK != 0 {
            answer::answer(self, loaded);
        }
        self.end_flights();
        // whatever rang: an idle CPU that looks is not rung for it
        self.resume_woken(loaded);
        if requests & request::RECALL != 0 {
            self.return_recalled();
        }
        if requests & request::TEST != 0 {
            self.host.test();
        }
        if requests & request::HALT != 0 {
            return false;
        }
        if requests & request::LEAVE_SPACE != 0 && !loaded {
            self.leave_space();
        }
        true
    }

    /// Takes the threads that the host hands over; one that it has recalled meanwhile goes back at once.
    fn receive(&mut self) {
        while let Some(number) = self.host.receive() {
            match self.change_present(number, Event::Post) {
                Place::Away => self.give_back(number, Escape::Recalled),
                _ => self.enqueue_posted(number),
            }
        }
    }

    /// Threads whose waits have ended continue here if the CPU is free, or if they were told to; else their host
    /// looks for a better CPU, or makes room on this one.
    fn resume_woken(&mut self, loaded: bool) {
        let mut woken = self.take_woken();
        while let Some(number) = woken.pop(&self.common().next_woken) {
            self.waits.get_mut().remove(number);
            let room = self.room(loaded);
            self.end_wait_and_proceed(number, Event::Resume(room), 0);
        }
    }

    /// Gives back the queued and the waiting threads that the host has recalled. Those that were woken go back when
    /// they are taken from their list.
    fn return_recalled(&mut self) {
        while let Some(number) = self.take_recalled() {
            self.give_back(number, Escape::Recalled);
        }
        self.return_recalled_waits();
    }

    /// Takes a recalled thread out of the queue.
    fn take_recalled(&mut self) -> Option<u32> {
        let recalled = |&number: &u32| self.change_present(number, Event::Look) == Place::Away;
        let number = self.queue.iter().find(recalled)?;
        self.queue.take(|queued| queued == number)
    }
}
