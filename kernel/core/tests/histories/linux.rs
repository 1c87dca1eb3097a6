// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A fake Linux: it posts, recalls, kills, rings, and executes the calls that threads come back with
//! (`linux/border/rings.c`, `linux/delegate/park.c`).
//!
//! What it writes and the bell that announces it are two steps: anything may happen in between.

mod futex;

use crate::program::WORDS;
use crate::world::{STICKY, Sabotage, World};
use std::collections::VecDeque;
use tacet_core::{Escape, Place, Recall, WakeRequest, request};

const FUTEX: u64 = 202;

/// What the task of a thread does on Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proxy {
    /// It may be posted, or is.
    Ready,
    /// It has counted itself as waiting, and compares next.
    Counted,
    Waits,
    /// A CPU wakes others for it.
    Wakes,
    Dead,
}

/// A bell that is to be rung, about a stay of a thread.
struct Bell {
    cpu: usize,
    requests: u32,
    about: Option<(u32, u32)>,
}

struct Waiter {
    thread: u32,
    space: usize,
    counted: usize,
    word: usize,
    bitset: u32,
}

/// A wake-up that a CPU is asked for.
struct Errand {
    request: WakeRequest,
    woken: u32,
    thread: Option<u32>,
    cpu: Option<usize>,
}

pub struct Linux<'w> {
    world: &'w World,
    bells: Vec<Bell>,
    proxies: Vec<Proxy>,
    dying: Vec<bool>,
    waiters: Vec<Waiter>,
    /// One after the other.
    errands: VecDeque<Errand>,
}

impl<'w> Linux<'w> {
    pub fn new(world: &'w World) -> Self {
        let threads = world.threads.len();
        let (bells, waiters, errands) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { world, bells, proxies: vec![Proxy::Ready; threads], dying: vec![false; threads], waiters, errands }
    }

    /// The next thing that the thread's task does; if it posts the thread, to `cpu`.
    pub fn proxy(&mut self, number: u32, cpu: usize) {
        self.run_errands(cpu);
        let (index, thread) = (number as usize, self.world.thread(number));
        if thread.posted.get().is_some() || self.proxies[index] == Proxy::Wakes {
            return;
        }
        if self.dying[index] {
            return self.die(number);
        }
        match (self.proxies[index], thread.escape.take()) {
            (Proxy::Dead, _) => {
                thread.at.set(0);
                self.proxies[index] = Proxy::Ready;
            }
            (Proxy::Counted, _) => self.compare(number),
            (Proxy::Waits, _) => self.time_out(number),
            (_, Some(Escape::Waiting { .. })) if thread.call.get().0 == FUTEX => self.end_wait(number),
            (_, Some(Escape::Call(_) | Escape::Waiting { .. })) => self.perform(number),
            (_, Some(Escape::PageFault(..) | Escape::Exception(_))) => thread.advance(),
            (_, Some(Escape::Recalled | Escape::Woken)) => {}
            (_, None) => self.post(number, cpu),
        }
    }

    pub fn post(&mut self, number: u32, cpu: usize) {
        let thread = self.world.thread(number);
        let space = &self.world.spaces[thread.space];
        if space.dropping.get() {
            return;
        }
        thread.recall.set(Recall::Not);
        thread.killed.set(false);
        thread.root.set(space.root.get());
        thread.range_serial.set(self.world.memory.ranges[thread.space].serial.get());
        thread.home.set(cpu);
        thread.posted.set(Some(cpu));
        thread.stays.set(thread.stays.get() + 1);
        let same = !thread.stays.get().is_multiple_of(3);
        if !same {
            thread.version.set(thread.version.get() + 1);
        }
        let wrong = self.world.sabotage.get() == Sabotage::KeepsOldState;
        thread.state_stays.set(same && thread.given_by.get().is_some_and(|by| by == cpu || wrong));
        self.world.posted(number);
        self.world.cpus[cpu].inbox.borrow_mut().push_back(number);
        self.bells.push(Bell { cpu, requests: request::POSTED, about: None });
    }

    /// Wants the thread back, wherever it is on its CPU, or only if it computes.
    pub fn recall(&mut self, number: u32, recall: Recall) {
        let thread = self.world.thread(number);
        let Some(cpu) = thread.posted.get() else { return };
        if recall == Recall::Always || thread.recall.get() == Recall::Not {
            thread.recall.set(recall);
        }
        self.bells.push(Bell { cpu, requests: request::RECALL, about: Some((number, thread.stays.get())) });
    }

    pub fn kill(&mut self, number: u32) {
        self.dying[number as usize] = true;
        self.world.thread(number).killed.set(true);
        self.recall(number, Recall::Always);
    }

    /// Rings the bell number `which` of those that are to be rung. False: none is.
    pub fn ring(&mut self, which: usize) -> bool {
        if self.bells.is_empty() {
            return false;
        }
        let Bell { cpu, requests, about } = self.bells.remove(which % self.bells.len());
        let attention = &self.world.cpus[cpu].attention;
        attention.set(attention.get() | requests);
        if let Some((number, stay)) = about
            && self.world.thread(number).stays.get() == stay
        {
            self.world.rung(number);
        }
        true
    }

    /// Whether there is a bell to be rung.
    pub fn has_bell(&self) -> bool {
        !self.bells.is_empty()
    }

    pub fn ask(&mut self, cpu: usize) {
        if !self.world.cpus[cpu].asked.replace(true) {
            self.bells.push(Bell { cpu, requests: request::ASK, about: None });
        }
    }

    /// Takes the address space away if no thread needs it, or continues to: then no CPU may have it loaded.
    pub fn drop_space(&mut self, number: usize) {
        let space = &self.world.spaces[number];
        let used = self.world.numbers().filter(|&n| self.world.thread(n).space == number).any(|n| {
            let thread = self.world.thread(n);
            let rests = matches!(self.proxies[n as usize], Proxy::Ready | Proxy::Dead);
            thread.posted.get().is_some() || thread.escape.get().is_some() || !rests
        });
        let loaded = self.world.cpus.iter().filter(|cpu| cpu.root.get() == space.root.get());
        if space.dropping.get() && loaded.clone().next().is_none() {
            space.root.set(space.root.get() + (1 << 20));
            (0..WORDS).for_each(|word| space.on_linux[word].set(0));
            space.dropping.set(false);
        } else if !space.dropping.get() && !used {
            space.dropping.set(true);
            loaded.for_each(|cpu| cpu.attention.set(cpu.attention.get() | request::LEAVE_SPACE));
        }
    }

    /// Whether something is still to be done for a thread that has to die, or by a CPU.
    pub fn is_busy(&self) -> bool {
        let dead = self.proxies.iter().all(|&proxy| proxy == Proxy::Dead);
        let asked = self.world.cpus.iter().any(|cpu| cpu.asked.get());
        !dead || asked || !self.errands.is_empty() || self.has_bell()
    }

    /// Continues with what ends the thread, if it is to end.
    pub fn bury(&mut self, number: u32) {
        if self.dying[number as usize] {
            self.proxy(number, 0);
        }
    }

    /// The thread is back, and its task ends.
    fn die(&mut self, number: u32) {
        let thread = self.world.thread(number);
        self.stop_waiting(number);
        thread.calls.set(false);
        thread.escape.set(None);
        thread.mapping.set(None);
        self.proxies[number as usize] = Proxy::Dead;
        self.dying[number as usize] = false;
    }

    /// No thread is anywhere.
    pub fn check_empty(&self) {
        assert!(self.world.numbers().all(|number| self.world.place(number) == Place::Away));
        assert!(self.world.books.borrow().futexes.is_empty(), "a thread is still in the futex table");
        for space in &self.world.spaces {
            assert_eq!(space.on_cpus.get(), 0, "threads are counted as waiting on CPUs");
            assert!(space.on_linux.iter().all(|counter| counter.get() & !STICKY == 0));
        }
        assert!(self.world.cpus.iter().all(|cpu| cpu.waiting.get() == 0 && cpu.inbox.borrow().is_empty()));
    }
}
