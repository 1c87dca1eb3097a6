// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Linux as a CPU sees it. What Linux does is in [`crate::linux`].

use crate::device::FakeDevices;
use crate::futexes::Operation;
use crate::memory::FakeMemory;
use crate::processor::{FakeProcessor, FakeUser, Seat};
use crate::program::word_at;
use crate::world::{Sabotage, SpaceState, ThreadState};
use std::fmt::Arguments;
use tacet_core::memory::{Question, RangeName};
use tacet_core::{Affinity, Common, Escape, FutexCounters, Host, Left, Permits, Place, Recall, Thread, WakeRequest};
use tacet_logic::deadlines::Clock;
use tacet_logic::frames::Policy;
use tacet_pico::Descriptors;

pub struct FakeHost<'s> {
    seat: Seat<'s>,
    processor: FakeProcessor<'s>,
    devices: FakeDevices<'s>,
}

impl<'s> FakeHost<'s> {
    pub fn new(seat: Seat<'s>) -> Self {
        Self { seat, processor: FakeProcessor(seat), devices: FakeDevices(seat) }
    }
}

impl<'s> Host for FakeHost<'s> {
    type Processor = FakeProcessor<'s>;
    type Thread<'a>
        = FakeThread<'a>
    where
        Self: 'a;
    type Space = Counters<'s>;
    type Memory = FakeMemory<'s>;
    type Devices = FakeDevices<'s>;

    fn processor(&self) -> &FakeProcessor<'s> {
        &self.processor
    }

    fn common(&self) -> &Common {
        &self.seat.world.common
    }

    fn cpu_number(&self) -> u32 {
        self.seat.cpu as u32
    }

    fn node(&self) -> u32 {
        0
    }

    fn open_memory(&self) -> Option<FakeMemory<'s>> {
        Some(FakeMemory::new(self.seat))
    }

    fn granted(&self, thread: &FakeThread<'_>) -> Option<Descriptors> {
        Some(Descriptors { space: thread.state().space as u32, table: 1 })
    }

    fn devices(&self) -> Option<&FakeDevices<'s>> {
        Some(&self.devices)
    }

    fn receive(&self) -> Option<u32> {
        let number = self.seat.state().inbox.borrow_mut().pop_front();
        self.seat.pause();
        number
    }

    fn thread(&self, number: u32) -> Option<FakeThread<'_>> {
        self.seat.state().looks.set(self.seat.state().looks.get() + 1);
        self.seat.world.thread(number).posted.get()?;
        Some(FakeThread { seat: self.seat, number })
    }

    fn user<'a>(&'a self, thread: &FakeThread<'a>) -> FakeUser<'a> {
        FakeUser { world: self.seat.world, number: thread.number }
    }

    fn give_back(&self, number: u32, escape: Escape) {
        self.seat.pause();
        self.seat.world.gives_back(self.seat.cpu, number, escape);
        let thread = self.seat.world.thread(number);
        thread.escape.set(Some(escape));
        thread.given_by.set(Some(self.seat.cpu));
        thread.posted.set(None);
        self.seat.pause();
    }

    fn moved(&self, thread: &FakeThread<'_>, from: Place, to: Place) {
        self.seat.world.moved(self.seat.cpu, thread.number, from, to);
    }

    fn space(&self, thread: &FakeThread<'_>) -> Option<Counters<'s>> {
        Some(Counters { seat: self.seat, space: thread.state().space })
    }

    fn switched_to(&self, _: u32) {}

    fn count_entry(&self) {}

    fn count_progress(&self) {}

    fn clock(&self) -> Option<Clock> {
        self.seat.world.clock.get()
    }

    fn answers_within_ns(&self) -> u64 {
        1
    }

    fn answer_wake(&self, mut wake: impl FnMut(WakeRequest) -> u32) {
        let (world, cpu) = (self.seat.world, self.seat.cpu);
        let Some(request) = self.seat.state().wake.get() else { return };
        world.books.borrow_mut().futexes.begin(cpu, Operation::of_host(&request));
        let woken = wake(request);
        world.books.borrow_mut().futexes.finish(cpu, woken.into());
        self.seat.state().wake.set(None);
        self.seat.state().woken.set(Some(woken));
        self.seat.pause();
    }

    fn answer_question(&self, work: impl FnOnce(Question) -> i32) {
        if self.seat.state().asked.get() {
            assert_eq!(work(Question::Free { frame: 0 }), -22, "no such frame is held");
            self.seat.world.memory.check_unlocked(self.seat.cpu);
            self.seat.state().asked.set(false);
        }
    }

    fn test(&self) {}

    fn log(&self, _: &[u8]) {}

    fn die(&self, reason: Arguments<'_>) -> ! {
        panic!("CPU {}: {reason}", self.seat.cpu)
    }
}

/// A thread, as a CPU that has it sees it.
pub struct FakeThread<'a> {
    seat: Seat<'a>,
    number: u32,
}

impl FakeThread<'_> {
    fn state(&self) -> &ThreadState {
        self.seat.world.thread(self.number)
    }
}

impl Thread for FakeThread<'_> {
    /// Linux may change it as soon as it is read.
    fn recall(&self) -> Recall {
        let recall = self.state().recall.get();
        self.seat.pause_locked();
        let stale = recall == Recall::Always && self.seat.world.goes_wrong(Sabotage::StaleRecall);
        let forgets = self.seat.world.sabotage.get() == Sabotage::ForgetsRecalls;
        if stale || forgets && !self.seat.state().looks_at_recalls.get() { Recall::Not } else { recall }
    }

    fn is_killed(&self) -> bool {
        self.state().killed.get()
    }

    fn permits(&self) -> Permits {
        Permits(self.state().permits)
    }

    fn home(&self) -> u32 {
        self.state().home.get() as u32
    }

    fn root(&self) -> u64 {
        self.state().root.get()
    }

    fn state_stays(&self) -> bool {
        self.state().state_stays.get()
    }

    fn user(&self) -> u64 {
        self.state().user()
    }

    fn range(&self) -> Option<RangeName> {
        Some(RangeName { number: self.state().space as u32, serial: self.state().range_serial.get() })
    }

    fn process_id(&self) -> i32 {
        1
    }

    fn thread_id(&self) -> i32 {
        self.number as i32
    }

    fn affinity(&self) -> Affinity {
        let mut cpus = [0; _];
        cpus[0] = 3;
        Affinity { cpus, bytes: 64, least_bytes: 1 }
    }

    fn policy(&self) -> (Policy, u32) {
        (Policy::default(), 0)
    }

    fn entered(&self) {}

    fn left(&self, _: Left) {}

    fn count_local_call(&self) {}

    fn is_profiled(&self) -> bool {
        false
    }

    fn spent_on_local_call(&self, _: u64, _: u64, _: bool) {}
}

/// The counters of a space. Each access is one that others may come before or after.
pub struct Counters<'s> {
    seat: Seat<'s>,
    space: usize,
}

impl Counters<'_> {
    fn state(&self) -> &SpaceState {
        &self.seat.world.spaces[self.space]
    }
}

impl FutexCounters for Counters<'_> {
    fn waited_for_with_host(&self, address: u64) -> bool {
        let counter = self.state().on_linux[word_at(address).unwrap()].get();
        self.seat.pause();
        counter != 0
    }

    fn waited_for_on_cpus(&self) -> bool {
        let counter = self.state().on_cpus.get();
        if counter == 0 {
            self.seat.world.wake_up_ends(self.seat.cpu);
            self.seat.world.books.borrow().futexes.nobody_waits(self.state().root.get());
        }
        self.seat.pause();
        counter != 0
    }

    fn begin_wait(&self) {
        self.state().on_cpus.set(self.state().on_cpus.get() + 1);
        self.seat.pause();
    }

    fn end_wait(&self) {
        self.seat.world.books.borrow_mut().futexes.does_not_wait(self.seat.cpu);
        self.state().on_cpus.set(self.state().on_cpus.get().checked_sub(1).expect("nobody waits"));
        self.seat.pause();
    }
}
