// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A host that answers calls itself: one CPU, threads that execute a list of calls, memory of a few words.

use crate::turns::{ALARM, COMPUTE, Turns};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt::Arguments;
use std::ops::ControlFlow;
use tacet_arch::{Access, Exit, Mode, Processor, Turn, UserState};
use tacet_core::memory::{NoMemory, Question};
use tacet_core::{
    Affinity, Answer, Common, Escape, FutexCounters, Host, Left, Permits, Place, Recall, Thread, WakeRequest, request,
};
use tacet_logic::deadlines::{Clock, Deadline};
use tacet_logic::frames::Policy;
use tacet_pico::NoDevices;

pub const WORDS: u64 = 0x1000;
const COUNT: usize = 64;
pub const ROOT: u64 = 0x5000;
/// CLOCK_REALTIME is so much ahead.
pub const AHEAD_NS: u64 = 1_000_000_000;
/// A call that the host answers with its first argument.
pub const ECHO: u64 = 1000;
/// A call for which the thread waits with the host until this time.
pub const SLEEP: u64 = 1001;
/// The result of `SLEEP`, less the thread's number.
pub const SLEPT: u64 = 50;
/// A CPU with nothing to run halts for that many ticks at most.
pub const LONGEST_REST: u64 = 4_000;
/// A call for which others go first.
pub const YIELD: u64 = 1002;

pub type Call = (u64, [u64; 6]);

#[derive(Default)]
pub struct ThreadState {
    pub calls: RefCell<VecDeque<Call>>,
    pub call: Cell<Call>,
    pub results: RefCell<Vec<i64>>,
    pub recall: Cell<bool>,
    pub escapes: RefCell<Vec<Escape>>,
    here: Cell<bool>,
}

pub struct World {
    pub common: Box<Common>,
    pub threads: Vec<ThreadState>,
    pub words: RefCell<Vec<u32>>,
    pub now: Cell<u64>,
    pub attention: Cell<u32>,
    pub inbox: RefCell<VecDeque<u32>>,
    waits: Cell<u32>,
    /// How often the CPU had nothing to run.
    pub rests: Cell<u64>,
    pub turns: Turns,
}

impl World {
    pub fn new(programs: &[&[Call]]) -> Self {
        let thread = |calls: &&[Call]| ThreadState {
            calls: RefCell::new(calls.iter().copied().collect()),
            ..ThreadState::default()
        };
        Self {
            common: Box::default(),
            threads: programs.iter().map(thread).collect(),
            words: RefCell::new(vec![0; COUNT]),
            now: Cell::new(0),
            attention: Cell::new(request::POSTED),
            inbox: RefCell::new((0..programs.len() as u32).collect()),
            waits: Cell::new(0),
            rests: Cell::new(0),
            turns: Turns::default(),
        }
    }

    pub fn recall(&self, number: u32) {
        self.threads[number as usize].recall.set(true);
        self.attention.set(self.attention.get() | request::RECALL);
    }

    pub fn results(&self, number: u32) -> Vec<i64> {
        self.threads[number as usize].results.borrow().clone()
    }

    fn word(&self, address: u64) -> Option<usize> {
        let index = address.checked_sub(WORDS)? / 4;
        (index < COUNT as u64).then_some(index as usize)
    }
}

pub struct FakeHost<'w>(pub &'w World);

impl<'w> Host for FakeHost<'w> {
    type Processor = Self;
    type Thread<'a>
        = FakeThread<'a>
    where
        Self: 'a;
    type Space = Waits<'w>;
    type Memory = NoMemory;
    type Devices = NoDevices;

    const ANSWERS: bool = true;

    fn processor(&self) -> &Self {
        self
    }

    fn common(&self) -> &Common {
        &self.0.common
    }

    fn cpu_number(&self) -> u32 {
        0
    }

    fn node(&self) -> u32 {
        0
    }

    fn open_memory(&self) -> Option<NoMemory> {
        None
    }

    fn receive(&self) -> Option<u32> {
        let number = self.0.inbox.borrow_mut().pop_front()?;
        self.0.threads[number as usize].here.set(true);
        Some(number)
    }

    fn thread(&self, number: u32) -> Option<FakeThread<'_>> {
        let state = &self.0.threads[number as usize];
        state.here.get().then_some(FakeThread { number, state })
    }

    fn user<'a>(&'a self, thread: &FakeThread<'a>) -> FakeUser<'a> {
        FakeUser(thread.state)
    }

    fn give_back(&self, number: u32, escape: Escape) {
        let state = &self.0.threads[number as usize];
        state.here.set(false);
        state.escapes.borrow_mut().push(escape);
    }

    fn moved(&self, _: &FakeThread<'_>, _: Place, _: Place) {}

    fn space(&self, _: &FakeThread<'_>) -> Option<Waits<'w>> {
        Some(Waits(&self.0.waits))
    }

    fn switched_to(&self, _: u32) {}

    fn count_entry(&self) {}

    fn count_progress(&self) {}

    fn clock(&self) -> Option<Clock> {
        Some(Clock { cycles: self.0.now.get(), monotonic_ns: self.0.now.get(), cycles_per_ms: 1_000_000 })
    }

    fn answer_wake(&self, _: impl FnMut(WakeRequest) -> u32) {}

    fn answer_question(&self, _: impl FnOnce(Question) -> i32) {}

    fn answer<'a>(&'a self, _: u32, _: &FakeThread<'a>, user: &FakeUser<'a>) -> Answer {
        let [first, ..] = user.arguments();
        match user.call_number() {
            ECHO => Answer::Done(first),
            SLEEP => Answer::Sleep(Deadline::at(first)),
            YIELD => Answer::Yield(first),
            _ => Answer::Escape,
        }
    }

    fn result_of_sleep(&self, number: u32) -> u64 {
        SLEPT + u64::from(number)
    }

    fn rests(&self) -> Option<u64> {
        self.0.rests.set(self.0.rests.get() + 1);
        Some(LONGEST_REST)
    }

    fn waits_for_something(&self) -> bool {
        self.0.turns.host_waits.get()
    }

    fn looks_between_turns(&self) {
        self.0.turns.looks.set(self.0.turns.looks.get() + 1);
    }

    fn realtime_ahead_ns(&self) -> u64 {
        AHEAD_NS
    }

    fn test(&self) {}

    fn log(&self, _: &[u8]) {}

    fn die(&self, reason: Arguments<'_>) -> ! {
        panic!("{reason}")
    }
}

impl Processor for FakeHost<'_> {
    type User<'a> = FakeUser<'a>;

    fn index(&self) -> u32 {
        0
    }

    fn cycles(&self) -> u64 {
        self.0.now.get()
    }

    fn ticks(&self, ns: u64) -> u64 {
        ns
    }

    fn cycles_per_ms(&self) -> u64 {
        1_000_000
    }

    fn spin(&self, _: u64, _: impl Fn() -> bool) {}

    /// A thread without a call left ends with one that nobody answers.
    fn run<'a, T>(&self, user: &FakeUser<'a>, mut ended: impl FnMut(&FakeUser<'a>) -> ControlFlow<T>) -> Option<T> {
        loop {
            if self.0.attention.get() != 0 {
                return None;
            }
            user.0.call.set(user.0.calls.borrow_mut().pop_front().unwrap_or_default());
            if user.0.call.get().0 == COMPUTE && !self.0.compute(user.0) {
                continue;
            }
            if let ControlFlow::Break(end) = ended(user) {
                return Some(end);
            }
        }
    }

    fn load_state(&self, _: &FakeUser<'_>) -> Result<(), u8> {
        Ok(())
    }

    fn resume_state(&self, _: &FakeUser<'_>) {}

    fn store_state(&self, _: &FakeUser<'_>) {}

    fn user_load(&self, address: u64) -> Option<u32> {
        let word = self.0.word(address)?;
        Some(self.0.words.borrow()[word])
    }

    fn user_store(&self, address: u64, value: u32) -> Option<()> {
        let word = self.0.word(address)?;
        self.0.words.borrow_mut()[word] = value;
        Some(())
    }

    fn user_exchange(&self, address: u64, from: u32, to: u32) -> Option<u32> {
        let found = self.user_load(address)?;
        if found == from {
            self.user_store(address, to);
        }
        Some(found)
    }

    fn load_space(&self, _: u64) {}

    fn leave_space(&self) {}

    fn part_users(&self) {}

    fn flush(&self, _: u64) {}

    fn take_attention(&self) -> u32 {
        self.0.attention.take()
    }

    fn is_wanted(&self) -> bool {
        self.0.attention.get() != 0
    }

    fn call(&self, _: u32, requests: u32) {
        self.0.attention.set(self.0.attention.get() | requests);
    }

    fn call_for_woken(&self, index: u32, requests: u32) {
        self.call(index, requests);
    }

    fn set_mode(&self, _: Mode) {}

    /// It halts as long as it may.
    fn halt(&self, ticks: Option<u64>) {
        if self.0.attention.get() == 0 {
            self.0.now.set(self.0.now.get() + ticks.unwrap_or(0));
        }
    }

    fn begin_turn(&self, ticks: u64) {
        self.0.turns.ends.set(self.0.now.get().saturating_add(ticks));
    }

    fn end_turn(&self) {
        self.0.turns.ends.set(0);
    }

    fn turn(&self) -> Turn {
        self.0.turns.at(self.0.now.get())
    }

    fn foreign_interrupt(&self, vector: u8) {
        self.0.turns.interrupt(vector);
    }
}

pub struct FakeUser<'a>(&'a ThreadState);

impl UserState for FakeUser<'_> {
    fn is_call(&self) -> bool {
        self.0.call.get().0 != COMPUTE
    }

    fn call_number(&self) -> u64 {
        self.0.call.get().0
    }

    fn arguments(&self) -> [u64; 6] {
        self.0.call.get().1
    }

    fn set_result(&self, result: u64) {
        self.0.results.borrow_mut().push(result as i64);
    }

    fn exit(&self) -> Exit {
        if self.is_call() { Exit::Call } else { Exit::Interrupt(ALARM) }
    }

    fn access(&self) -> Option<Access> {
        None
    }
}

pub struct FakeThread<'a> {
    number: u32,
    state: &'a ThreadState,
}

impl Thread for FakeThread<'_> {
    fn recall(&self) -> Recall {
        if self.state.recall.get() { Recall::Always } else { Recall::Not }
    }

    fn is_killed(&self) -> bool {
        false
    }

    fn permits(&self) -> Permits {
        Permits(Permits::CALLS.0 | Permits::FUTEXES.0 | Permits::STAYS.0 | Permits::OWN_FUTEXES.0)
    }

    fn home(&self) -> u32 {
        0
    }

    fn root(&self) -> u64 {
        ROOT
    }

    fn user(&self) -> u64 {
        1
    }

    fn range(&self) -> Option<tacet_core::memory::RangeName> {
        None
    }

    fn process_id(&self) -> i32 {
        1
    }

    fn thread_id(&self) -> i32 {
        1 + self.number as i32
    }

    fn affinity(&self) -> Affinity {
        Affinity { cpus: [0; _], bytes: 8, least_bytes: 8 }
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

pub struct Waits<'w>(&'w Cell<u32>);

impl FutexCounters for Waits<'_> {
    fn waited_for_with_host(&self, _: u64) -> bool {
        false
    }

    fn waited_for_on_cpus(&self) -> bool {
        self.0.get() != 0
    }

    fn begin_wait(&self) {
        self.0.set(self.0.get() + 1);
    }

    fn end_wait(&self) {
        self.0.set(self.0.get() - 1);
    }
}
