// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls on Linux that wait for futexes, wake and move; a CPU does the rest of these (`linux/delegate/futex.c`).

use super::{Bell, Errand, FUTEX, Linux, Proxy, Waiter};
use crate::program::{address, time_of, word_at};
use crate::world::STICKY;
use tacet_core::{WakeRequest, request};

/// EAGAIN and ETIMEDOUT, as calls give them.
const AGAIN: u64 = -11i64 as u64;
const TIMED_OUT: u64 = -110i64 as u64;

impl Linux<'_> {
    /// A task that is not hosted wakes.
    pub fn wake(&mut self, space: usize, word: usize, count: u32) {
        let root = self.world.spaces[space].root.get();
        let request = WakeRequest { root, address: address(word), bitset: u32::MAX, count, moved: 0, to: 0 };
        self.wake_here(space, None, request);
    }

    /// Performs the call that the thread came back with.
    pub(super) fn perform(&mut self, number: u32) {
        let thread = self.world.thread(number);
        let (call, [address, operation, value, take, to, third]) = thread.call.get();
        let (Some(word), FUTEX) = (word_at(address), call) else {
            // After a hand-over the range is no longer the CPUs'.
            thread.mapping.set(thread.mapping.get().filter(|_| call == 0));
            return thread.calls.set(false);
        };
        let space = &self.world.spaces[thread.space];
        let (root, moves) = (thread.root.get(), matches!(operation & 127, 3 | 4));
        let bitset = if operation & 127 == 10 { third as u32 } else { u32::MAX };
        let mut request = WakeRequest { root, address, bitset, count: value as u32, moved: 0, to: 0 };
        if operation & 127 == 9 {
            space.on_linux[word].set(space.on_linux[word].get() + 1);
            self.waiters.push(Waiter {
                thread: number,
                space: thread.space,
                counted: word,
                word,
                bitset: third as u32,
            });
            self.proxies[number as usize] = Proxy::Counted;
            return;
        }
        if moves {
            let target = &space.on_linux[word_at(to).unwrap()];
            target.set(target.get() | STICKY);
            (request.moved, request.to) = (take as u32, to);
        }
        if operation & 127 == 4 && space.words[word].get() != third as u32 {
            return self.finish(number, AGAIN);
        }
        self.wake_here(thread.space, Some(number), request);
    }

    /// The thread was recalled from a wait on its CPU: a waker may have found nobody since.
    pub(super) fn end_wait(&mut self, number: u32) {
        self.finish(number, 0);
    }

    /// Wakes and moves threads that wait on Linux; if others wait on CPUs, one of these does the rest.
    fn wake_here(&mut self, space: usize, thread: Option<u32>, mut request: WakeRequest) {
        let word = word_at(request.address).unwrap();
        let mut woken = 0;
        while request.count > 0
            && let Some(waiter) = self.waiting(space, word, request.bitset)
        {
            self.finish(waiter, 0);
            (woken, request.count) = (woken + 1, request.count - 1);
        }
        let matching = |waiter: &&mut Waiter| (waiter.space, waiter.word) == (space, word);
        let waits = |waiter: &&mut Waiter| self.proxies[waiter.thread as usize] == Proxy::Waits;
        for waiter in self.waiters.iter_mut().filter(matching).filter(waits).take(request.moved as usize) {
            waiter.word = word_at(request.to).unwrap();
            (woken, request.moved) = (woken + 1, request.moved - 1);
        }
        let counter = &self.world.spaces[space].on_cpus;
        if counter.get() == 0 {
            self.world.books.borrow().futexes.nobody_waits(request.root);
        }
        if counter.get() == 0 || request.count + request.moved == 0 {
            return thread.into_iter().for_each(|number| self.finish(number, woken.into()));
        }
        thread.into_iter().for_each(|number| self.proxies[number as usize] = Proxy::Wakes);
        self.errands.push_back(Errand { request, woken, thread, cpu: None });
    }

    /// Who waits longest on Linux.
    fn waiting(&self, space: usize, word: usize, bitset: u32) -> Option<u32> {
        let found = self.waiters.iter().find(|waiter| {
            let waits = self.proxies[waiter.thread as usize] == Proxy::Waits;
            waits && (waiter.space, waiter.word) == (space, word) && waiter.bitset & bitset != 0
        });
        found.map(|waiter| waiter.thread)
    }

    /// Asks `cpu` for the next wake-up, or looks whether the last one is done.
    pub fn run_errands(&mut self, cpu: usize) {
        let Some(errand) = self.errands.front_mut() else { return };
        match errand.cpu {
            None => {
                errand.cpu = Some(cpu);
                self.world.cpus[cpu].wake.set(Some(errand.request));
                self.bells.push(Bell { cpu, requests: request::WAKE, about: None });
            }
            Some(cpu) => {
                let Some(woken) = self.world.cpus[cpu].woken.take() else { return };
                let (thread, woken) = (errand.thread, errand.woken + woken);
                self.errands.pop_front();
                thread.into_iter().for_each(|number| self.finish(number, woken.into()));
            }
        }
    }

    pub(super) fn compare(&mut self, number: u32) {
        let thread = self.world.thread(number);
        let (_, [address, _, value, ..]) = thread.call.get();
        match word_at(address) {
            Some(word) if u64::from(self.world.spaces[thread.space].words[word].get()) == value => {
                self.proxies[number as usize] = Proxy::Waits;
            }
            _ => self.finish(number, AGAIN),
        }
    }

    pub(super) fn time_out(&mut self, number: u32) {
        let (_, [_, _, _, until, ..]) = self.world.thread(number).call.get();
        if time_of(until).is_some_and(|until| until <= self.world.monotonic_ns()) {
            self.finish(number, TIMED_OUT);
        }
    }

    /// The thread's call has its result.
    fn finish(&mut self, number: u32, result: u64) {
        self.stop_waiting(number);
        let thread = self.world.thread(number);
        thread.calls.set(false);
        thread.result.set(result);
        self.proxies[number as usize] = Proxy::Ready;
    }

    pub(super) fn stop_waiting(&mut self, number: u32) {
        if let Some(at) = self.waiters.iter().position(|waiter| waiter.thread == number) {
            let waiter = self.waiters.remove(at);
            let counter = &self.world.spaces[waiter.space].on_linux[waiter.counted];
            counter.set(counter.get() - 1);
        }
    }
}
