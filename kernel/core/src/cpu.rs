// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One CPU of the partition and its threads: the only place where a thread moves.
//!
//! Owned by the CPU itself. Other CPUs reach its threads through [`Common`] alone, and only to wake
//! them.

use crate::base::common::Common;
use crate::base::escape::Escape;
use crate::base::flights::Flights;
use crate::base::long::Long;
use crate::base::place::{Event, Place, Recall, Room, next};
use crate::base::sizes::QUEUE;
use crate::base::waiting::{Waiting, Waits};
use crate::host::{FlightOf, FutexCounters, Host, Thread};
use core::cell::{Cell, RefCell};
use tacet_arch::{Processor, UserState};
use tacet_logic::run_queue::RunQueue;

/// The running CPU.
pub struct Cpu<H: Host> {
    pub(crate) host: H,
    pub(crate) queue: RunQueue<QUEUE>,
    /// Its way to the partition's memory, if programs get any.
    pub(crate) memory: RefCell<Option<H::Memory>>,
    /// What is left of the running thread's call, if that takes long.
    pub(crate) rest: Cell<Option<Long>>,
    /// Its threads' calls whose commands devices have.
    pub(crate) flights: Flights<FlightOf<H>>,
    /// A device served the call that is being answered; only for the account of a profiled thread.
    pub(crate) by_device: Cell<bool>,
    /// Its threads that wait until a time.
    pub(crate) waits: RefCell<Waits>,
    /// The thread whose state is in the processor's registers, newer than in memory.
    live: Option<u32>,
    /// The thread whose state is in the processor's registers, and the same in memory, unless its host has changed it
    /// there since: it was given back, and no other thread has been loaded.
    given_back: Cell<Option<u32>>,
    /// The thread that ran last.
    current: Option<u32>,
    /// The user of the thread that ran last; 0: nobody.
    last_user: Cell<u64>,
    /// Its threads that wait in local calls.
    pub(crate) waiting: Waiting,
    /// A thread has gone to its host with a call or a fault since this CPU last rested: it will soon be back.
    pub(crate) asked: Cell<bool>,
    /// Others were in the queue when the running thread's turn began (`run/turns.rs`).
    pub(crate) turn_is_shared: bool,
}

impl<H: Host> Cpu<H> {
    /// Without a thread. Not inlined: what it needs to make the value is gone from the stack, which is small, when the
    /// value is made.
    #[inline(never)]
    pub fn new(host: H) -> Self {
        let memory = RefCell::new(host.open_memory());
        let waits = RefCell::new(Waits::new());
        Self {
            host,
            queue: RunQueue::new(),
            memory,
            rest: Cell::new(None),
            flights: Flights::new(),
            by_device: Cell::new(false),
            waits,
            live: None,
            given_back: Cell::new(None),
            current: None,
            last_user: Cell::new(0),
            waiting: Waiting::new(),
            asked: Cell::new(false),
            turn_is_shared: false,
        }
    }

    /// Whom it answers to.
    pub fn host(&self) -> &H {
        &self.host
    }

    #[inline]
    pub(crate) fn common(&self) -> &Common {
        self.host.common()
    }

    /// Its threads whose turn is to come, oldest first.
    pub fn queued(&self) -> impl Iterator<Item = u32> {
        self.queue.iter()
    }

    /// How many of its threads wait in local calls.
    pub fn waiting(&self) -> u32 {
        self.waiting.count()
    }

    /// Where a thread is.
    pub(crate) fn place(&self, number: u32) -> Place {
        self.common().places.get(number).unwrap_or(Place::Away)
    }

    /// Moves a thread: nothing else does. Where to depends on where it is and on whether its host has recalled it.
    #[inline(always)]
    pub(crate) fn change(&self, number: u32, thread: &H::Thread<'_>, event: Event) -> Place {
        let (from, to) = match self.common().places.change(number, event, thread.recall()) {
            Ok(change) => change,
            Err(place) => self.host.die(format_args!("thread {number}: {event:?}, but it is {place:?}")),
        };
        // A waker may be another CPU, whose own threads these are not: nor does this change then.
        if from.is_wait() != to.is_wait() {
            self.waiting.mark(number, to.is_wait());
        }
        self.host.moved(thread, from, to);
        to
    }

    /// The same for a thread that must be here.
    #[inline(always)]
    pub(crate) fn change_present(&self, number: u32, event: Event) -> Place {
        self.change(number, &self.present(number), event)
    }

    /// A thread that must be here.
    #[inline]
    pub(crate) fn present(&self, number: u32) -> H::Thread<'_> {
        match self.host.thread(number) {
            Some(thread) => thread,
            None => self.host.die(format_args!("thread {number}: it should be here, and was not handed over")),
        }
    }

    /// The host wants the running thread back.
    pub(crate) fn is_recalled(&self) -> bool {
        self.live.and_then(|number| self.host.thread(number)).is_some_and(|thread| thread.recall() != Recall::Not)
    }

    /// Puts a thread whose place is `Queued` into the queue.
    pub(crate) fn enqueue(&mut self, number: u32) {
        let full = self.queue.push(number).is_err();
        self.unless_full(number, full);
    }

    /// The same for one that the host has just handed over.
    pub(crate) fn enqueue_posted(&mut self, number: u32) {
        if self.present(number).goes_first() {
            let full = self.queue.push_first(number).is_err();
            self.unless_full(number, full);
        } else {
            self.enqueue(number);
        }
    }

    fn unless_full(&self, number: u32, full: bool) {
        if full {
            self.host.die(format_args!("thread {number}: the queue is full"));
        }
    }

    /// What this CPU offers to a thread that may continue; `loaded`: one is in the middle of its turn.
    pub(crate) fn room(&self, loaded: bool) -> Room {
        match self.queue.len() {
            0 if !loaded => Room::Free,
            QUEUE.. => Room::Full,
            _ => Room::Shared,
        }
    }

    /// A thread's wait has ended, and `event` says how. With a result its call has its answer; without, it is as if the
    /// thread had just made the call.
    pub(crate) fn end_wait(&self, number: u32, event: Event, result: Option<u64>) -> Place {
        let thread = self.present(number);
        if let Some(result) = result {
            self.host.user(&thread).set_result(result);
            thread.count_local_call();
        }
        let futex = self.place(number).is_futex_wait();
        let to = self.change(number, &thread, event);
        if futex && let Some(space) = self.host.space(&thread) {
            space.end_wait();
        }
        to
    }

    /// The same, for a thread that continues: here, if its place says so.
    pub(crate) fn end_wait_and_proceed(&mut self, number: u32, event: Event, result: u64) {
        let unless_recalled = next(self.place(number), event, Recall::Not);
        match self.end_wait(number, event, Some(result)) {
            Place::Queued => self.enqueue(number),
            _ if unless_recalled == Some(Place::Away) => self.give_back(number, Escape::Woken),
            _ => self.give_back(number, Escape::Recalled),
        }
    }

    /// Others go first.
    pub(crate) fn yield_cpu(&mut self, number: u32) {
        match self.change_present(number, Event::Yield) {
            Place::Away => self.give_back(number, Escape::Recalled),
            _ => self.enqueue(number),
        }
    }

    /// A running thread leaves the CPU.
    #[inline(always)]
    pub(crate) fn escape(&mut self, number: u32, escape: Escape) {
        self.change_present(number, Event::Leave);
        self.asked.set(true);
        self.give_back(number, escape);
    }

    /// Hands a thread back whose place is `Away`.
    pub(crate) fn give_back(&mut self, number: u32, escape: Escape) {
        if self.live == Some(number) {
            self.set_aside();
            self.given_back.set(Some(number));
        } else if self.given_back.get() == Some(number) {
            // another CPU may have run it since: what is here is older than what its host has
            self.given_back.set(None);
        }
        self.host.give_back(number, escape);
    }

    /// Makes `number` the thread that user mode runs, and loads its state. `Err`: the processor refuses some of that
    /// by this exception.
    pub(crate) fn load_thread(&mut self, number: u32) -> Result<(), u8> {
        if self.live != Some(number) {
            self.set_aside();
        }
        let thread = self.present(number);
        if self.last_user.get() != thread.user() {
            self.part_users(thread.user());
        }
        let processor = self.host.processor();
        processor.load_space(thread.root());
        if self.live != Some(number) {
            let stays = self.given_back.take() == Some(number) && thread.state_stays();
            let user = self.host.user(&thread);
            if stays { processor.resume_state(&user) } else { processor.load_state(&user)? }
        }
        drop(thread);
        self.live = Some(number);
        if self.current != Some(number) {
            self.current = Some(number);
            self.host.switched_to(number);
        }
        Ok(())
    }

    /// The next thread is that of `user`. The last user's threads left things in the CPU, which are cleared.
    #[cold]
    pub(crate) fn part_users(&self, user: u64) {
        self.given_back.set(None);
        self.host.processor().part_users();
        self.last_user.set(user);
    }

    /// Leaves the address space that is loaded, if any.
    pub(crate) fn leave_space(&mut self) {
        self.current = None;
        self.host.processor().leave_space();
    }

    /// Puts the user state that is in the processor's registers back into memory. Until then the state of a thread that
    /// left is not saved: alone on its CPU it will find everything as it was.
    fn set_aside(&mut self) {
        if let Some(number) = self.live.take()
            && let Some(thread) = self.host.thread(number)
        {
            self.host.processor().store_state(&self.host.user(&thread));
        }
    }
}
