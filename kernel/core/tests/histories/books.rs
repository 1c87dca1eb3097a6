// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where every thread is, as it was told: the invariants.
//!
//! A thread is at one place; it runs on its CPU only, and only while that CPU has it; it goes back once, with its state in
//! memory and its call either answered once or not at all. Once a recall has rung, no instruction of the thread is executed
//! any more.

use crate::futexes::Futexes;
use crate::host::FakeHost;
use crate::memory::is_inside;
use crate::program::{Action, time_of};
use crate::world::{ThreadState, World};
use std::mem::discriminant;
use tacet_arch::Exit;
use tacet_core::{Cpu, Escape, Place, Recall};

/// How often a CPU pauses at most before a recalled thread is back.
const PATIENCE: u32 = 400;
/// ETIMEDOUT, as a call gives it.
const TIMED_OUT: u64 = -110i64 as u64;
const NANOSLEEP: u64 = 35;
const MMAP: u64 = 9;
const MPROTECT: u64 = 10;
const MUNMAP: u64 = 11;
const MADVISE: u64 = 28;
const PREAD64: u64 = 17;
const PWRITE64: u64 = 18;

pub struct Books {
    pub futexes: Futexes,
    places: Vec<Place>,
    /// By CPU: the thread that is in user mode.
    running: Vec<Option<u32>>,
    /// By CPU: threads that it has woken, with their CPUs, which it has not rung yet.
    undelivered: Vec<Vec<(u32, usize)>>,
    /// By thread: its CPU was rung after it was recalled, and has paused so often since.
    rung: Vec<Option<u32>>,
    /// By thread: its turn was ended while it ran.
    turn_over: Vec<bool>,
}

impl Books {
    pub fn new(cpus: usize, threads: usize) -> Self {
        Self {
            futexes: Futexes::new(cpus),
            places: vec![Place::Away; threads],
            running: vec![None; cpus],
            undelivered: vec![Vec::new(); cpus],
            rung: vec![None; threads],
            turn_over: vec![false; threads],
        }
    }

    pub fn last_woken_home(&self, cpu: usize) -> Option<usize> {
        self.undelivered[cpu].last().map(|&(_, home)| home)
    }

    /// `cpu` has rung `home`.
    pub fn delivered(&mut self, cpu: usize, home: usize) {
        self.undelivered[cpu].retain(|&(_, other)| other != home);
    }
}

impl World {
    pub fn posted(&self, number: u32) {
        let books = &mut *self.books.borrow_mut();
        (books.rung[number as usize], books.turn_over[number as usize]) = (None, false);
    }

    /// Linux has rung about a recall of the thread.
    pub fn rung(&self, number: u32) {
        let books = &mut *self.books.borrow_mut();
        let number = number as usize;
        match self.threads[number].recall.get() {
            Recall::Always => books.rung[number] = books.rung[number].or(Some(0)),
            Recall::Turn => books.turn_over[number] = books.places[number] == Place::Running,
            Recall::Not => {}
        }
    }

    pub fn enters_user(&self, cpu: usize, number: u32) {
        let before = self.books.borrow_mut().running[cpu].replace(number);
        assert_eq!(before, None, "CPU {cpu} runs two threads");
        self.memory.check_unlocked(cpu);
        let user = self.thread(number).user();
        let left_by = self.cpus[cpu].left_by.replace(user);
        assert!([0, user].contains(&left_by), "thread {number} finds what user {left_by} left in CPU {cpu}");
    }

    pub fn leaves_user(&self, cpu: usize) {
        self.books.borrow_mut().running[cpu] = None;
    }

    pub fn is_in_user(&self, cpu: usize) -> bool {
        self.books.borrow().running[cpu].is_some()
    }

    /// The CPU computes and will not do anything else unless it is rung.
    pub fn computes(&self, cpu: usize) -> bool {
        let done = |number| self.thread(number).at.get() >= self.thread(number).program.len();
        self.cpus[cpu].attention.get() == 0 && self.books.borrow().running[cpu].is_some_and(done)
    }

    /// Executes the thread's next instruction. Why that ends user mode, if it does.
    pub fn execute(&self, cpu: usize, number: u32) -> Option<Exit> {
        let (thread, state) = (self.thread(number), &self.cpus[cpu]);
        let books = &mut *self.books.borrow_mut();
        let running = books.running.iter().filter(|&&running| running == Some(number)).count();
        assert_eq!(running, 1, "thread {number} runs {running} times");
        assert_eq!((thread.posted.get(), self.place(number)), (Some(cpu), Place::Running), "thread {number} runs");
        assert_eq!((state.root.get(), state.live.get()), (thread.root.get(), Some(number)), "not its memory or state");
        assert!(!thread.calls.get(), "thread {number} continues without a result of its call");
        let recalled = thread.recall.get() == Recall::Always && books.rung[number as usize].is_some();
        assert!(!recalled, "thread {number} runs on after its recall");
        assert!(!books.turn_over[number as usize], "thread {number} runs on after its turn");
        let action = thread.action();
        let touched = match action {
            Action::Touch { page } => thread.mapped(page),
            Action::TouchOther { page } if thread.space == self.thread(0).space => self.thread(0).mapped(page),
            _ => None,
        };
        if let Some(touched) = touched
            && !self.memory.touch(thread.space, touched, &state.tlb)
        {
            return Some(Exit::PageFault(touched));
        }
        if !matches!(action, Action::PageFault | Action::Exception) {
            thread.advance();
        }
        if let Action::Store { word, value } = action {
            self.spaces[thread.space].words[word].set(value);
        }
        if let Action::Sleep { ns } = action {
            thread.slept_until.set(self.now.get() + u64::from(ns));
        }
        if action.exit() == Some(Exit::Call) {
            let other = matches!(action, Action::AboutOther { .. });
            let mapping = if other { self.thread(0).mapping.get() } else { thread.mapping.get() };
            thread.call.set(action.call(self.monotonic_ns(), mapping));
            thread.calls.set(true);
            thread.exactly.set(matches!(action, Action::Exactly(_)));
            books.futexes.begin_call(cpu, thread.root.get(), thread.call.get());
        }
        action.exit()
    }

    pub fn moved(&self, cpu: usize, number: u32, from: Place, to: Place) {
        let (index, thread) = (number as usize, self.thread(number));
        let books = &mut *self.books.borrow_mut();
        assert_eq!(books.places[index], from, "thread {number}: moved to {to:?}");
        let home = thread.home.get();
        assert!(cpu == home || is_woken(to), "thread {number} of CPU {home} moved by CPU {cpu}");
        books.places[index] = to;
        self.seen.borrow_mut().arrows.insert((from, to));
        books.turn_over[index] &= to == Place::Running;
        let waiting = &self.cpus[home].waiting;
        match (from, to) {
            (_, Place::WaitsForDevice) => books.futexes.forward(cpu),
            (_, Place::WaitsForFutex | Place::WaitsForTime) => {
                waiting.set(waiting.get() + 1);
                if to == Place::WaitsForFutex {
                    books.futexes.waits(cpu, number, thread.root.get(), thread.call.get());
                }
            }
            (_, Place::WokenIfFree | Place::WokenHere) => {
                books.futexes.woken(cpu, number);
                books.undelivered[cpu].push((number, home));
            }
            _ if from.is_wait() => {
                waiting.set(waiting.get() - 1);
                if from == Place::WaitsForFutex {
                    books.futexes.cancel(number);
                }
            }
            _ => {}
        }
    }

    /// A CPU has answered a call.
    pub fn answered(&self, number: u32, result: u64) {
        let thread = self.thread(number);
        assert!(thread.calls.replace(false), "thread {number}: a result without a call");
        if self.place(number) == Place::Running {
            self.books.borrow_mut().futexes.finish(thread.home.get(), result);
        }
        match thread.exactly.get() {
            true => thread.results.borrow_mut().push(result),
            false => self.check_end(thread, result),
        }
    }

    /// No wait ends before its time; memory is as the call says.
    fn check_end(&self, thread: &ThreadState, result: u64) {
        let (number, arguments) = thread.call.get();
        match number {
            MMAP => {
                assert!(is_inside(result, arguments[1]), "mapped at {result:#x}");
                thread.mapping.set(Some((result, arguments[1])));
            }
            MPROTECT | MUNMAP | MADVISE => {
                assert_eq!(result, 0, "call {number}");
                thread.mapping.set(thread.mapping.get().filter(|_| number != MUNMAP));
            }
            PREAD64 | PWRITE64 => {
                let is_whole = !self.cpus.iter().any(|cpu| cpu.device.has_ended());
                assert!(result == arguments[2] || !is_whole, "call {number}: {result}");
                thread.transferred.set(result);
            }
            _ => {}
        }
        if number == NANOSLEEP {
            assert!(thread.slept_until.get() <= self.now.get(), "a sleep ends too early");
        } else if result == TIMED_OUT {
            assert!(time_of(arguments[3]).unwrap() <= self.monotonic_ns(), "a wait ends too early");
        }
    }

    /// The CPU has handed over the last thread that it wakes.
    pub fn wake_up_ends(&self, cpu: usize) {
        self.books.borrow_mut().futexes.end(cpu);
    }

    pub fn gives_back(&self, cpu: usize, number: u32, escape: Escape) {
        let thread = self.thread(number);
        assert_eq!(thread.posted.get(), Some(cpu), "thread {number} is given back by CPU {cpu}");
        assert_eq!((self.place(number), self.cpus[cpu].live.get().filter(|&live| live == number)), (Place::Away, None));
        self.seen.borrow_mut().escapes.insert(discriminant(&escape));
        self.memory.check_unlocked(cpu);
        let unanswered = matches!(escape, Escape::Call(_) | Escape::Waiting { .. });
        let unfinished = thread.killed.get() && escape == Escape::Recalled;
        assert!(thread.calls.get() == unanswered || unfinished, "thread {number}: {escape:?}");
        if thread.calls.get() {
            self.books.borrow_mut().futexes.forward(cpu);
        }
        if let Escape::Waiting { left_ns: Some(left_ns) } = escape {
            assert!(self.now.get() + left_ns >= thread.slept_until.get(), "thread {number}: a sleep loses time");
        }
    }

    /// Between two steps of a CPU's loop.
    pub fn check_cpu(&self, cpu: &Cpu<FakeHost<'_>>, index: usize) {
        let here = |&number: &u32| self.thread(number).posted.get() == Some(index);
        let mut queued: Vec<_> = cpu.queued().collect();
        queued.sort_unstable();
        let expected: Vec<_> = self.numbers().filter(here).filter(|&n| self.place(n) == Place::Queued).collect();
        assert_eq!(queued, expected, "CPU {index}: its queue");
        let waiting = self.numbers().filter(here).filter(|&n| self.place(n).is_wait()).count() as u32;
        assert_eq!((cpu.waiting(), self.cpus[index].waiting.get()), (waiting, waiting), "CPU {index}: waiting threads");
        assert!(self.numbers().all(|n| self.books.borrow().places[n as usize] == self.place(n)));
    }

    /// Nobody rings a CPU that sleeps: then nothing is left for it to do.
    pub fn check_sleep(&self, cpu: usize) {
        let books = self.books.borrow();
        for number in self.numbers().filter(|&number| self.thread(number).posted.get() == Some(cpu)) {
            let place = self.place(number);
            let told = books.undelivered.iter().flatten().any(|&(woken, _)| woken == number);
            assert!(told || !is_woken(place), "CPU {cpu} sleeps, and thread {number} is {place:?}");
            assert_ne!(place, Place::WaitsForDevice, "CPU {cpu} sleeps: nobody looks for thread {number}");
            let lost = books.rung[number as usize].is_some() && place != Place::Away && !is_woken(place);
            assert!(!lost, "CPU {cpu} sleeps, and thread {number}, recalled, is {place:?}");
            assert!(!matches!(place, Place::Queued | Place::Running), "CPU {cpu} sleeps: thread {number} is {place:?}");
        }
    }

    /// A CPU goes on: what was recalled from it does not stay for long.
    pub fn check_patience(&self, cpu: usize) {
        let books = &mut *self.books.borrow_mut();
        for (number, thread) in self.threads.iter().enumerate() {
            if thread.posted.get() == Some(cpu)
                && !self.cpus[cpu].waits_for_lock.get()
                && !self.cpus[cpu].device.is_at_work()
                && let Some(pauses) = &mut books.rung[number]
            {
                *pauses += 1;
                assert!(
                    *pauses < PATIENCE,
                    "thread {number}, recalled, does not come back: {:?}",
                    books.places[number]
                );
            }
        }
    }
}

fn is_woken(place: Place) -> bool {
    matches!(place, Place::WokenIfFree | Place::WokenHere)
}
