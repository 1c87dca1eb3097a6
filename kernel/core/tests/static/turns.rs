// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Turns of threads that compute on one CPU, by a timer that ends at its time.

use crate::host::{Call, SLEEP, SLEPT, ThreadState, World};
use crate::run;
use std::cell::Cell;
use tacet_arch::Turn;
use tacet_core::request;

/// Not a call: the thread computes for so long.
pub const COMPUTE: u64 = 1003;
/// The interrupt that ends a turn.
pub const ALARM: u8 = 240;

#[derive(Default)]
pub struct Turns {
    /// When the turn is over; 0: none has begun.
    pub ends: Cell<u64>,
    /// How often a turn ended a thread's computing, and how often the host was told.
    pub alarms: Cell<u64>,
    pub looks: Cell<u64>,
    /// The host waits for something.
    pub host_waits: Cell<bool>,
    /// At this time, while a thread computes, this one comes.
    pub comes: Cell<Option<(u64, u32)>>,
}

impl Turns {
    pub fn at(&self, now: u64) -> Turn {
        match self.ends.get() {
            0 => Turn::Endless,
            ends if now < ends => Turn::Begun,
            _ => Turn::Over,
        }
    }

    pub fn interrupt(&self, vector: u8) {
        assert_eq!(vector, ALARM);
        self.alarms.set(self.alarms.get() + 1);
    }
}

impl World {
    /// A thread computes, until it is done, until another comes, or until its turn is over: true.
    pub fn compute(&self, thread: &ThreadState) -> bool {
        let ([ns, ..], now, ends) = (thread.call.get().1, self.now.get(), self.turns.ends.get());
        let turn = if ends == 0 { u64::MAX } else { ends.saturating_sub(now) };
        let comes = self.turns.comes.get().map_or(u64::MAX, |(at, _)| at.saturating_sub(now));
        let done = ns.min(turn).min(comes);
        self.now.set(now + done);
        if done == ns {
            thread.results.borrow_mut().push(self.now.get() as i64);
            return false;
        }
        thread.calls.borrow_mut().push_front((COMPUTE, [ns - done; 6]));
        if done < turn
            && let Some((_, number)) = self.turns.comes.take()
        {
            self.inbox.borrow_mut().push_back(number);
            self.attention.set(request::POSTED);
            return false;
        }
        true
    }
}

fn compute(ms: u64) -> Call {
    (COMPUTE, [ms * 1_000_000; 6])
}

/// When each thread was done with computing, in milliseconds, and how often a turn ended.
fn turns_of(programs: &[&[Call]]) -> (Vec<i64>, u64) {
    let world = World::new(programs);
    run(&world);
    let last = |number| world.results(number).last().copied().unwrap_or_default() / 1_000_000;
    ((0..programs.len() as u32).map(last).collect(), world.turns.alarms.get())
}

#[test]
fn a_thread_that_is_alone_takes_no_interrupt() {
    assert_eq!(turns_of(&[&[compute(1000)]]), (vec![1000], 0));
}

#[test]
fn threads_that_compute_take_turns() {
    let (ends, alarms) = turns_of(&[&[compute(25)], &[compute(25)], &[compute(5)]]);
    assert_eq!((ends, alarms), (vec![50, 55, 25], 4));
}

#[test]
fn a_sleep_beside_a_thread_that_computes_ends_at_its_time() {
    let world = World::new(&[&[(SLEEP, [7_000_000; 6]), compute(0)], &[compute(100)]]);
    run(&world);
    let results = world.results(0);
    assert_eq!(results[0], SLEPT as i64);
    assert!((7_000_000..7_200_000).contains(&results[1]), "{results:?}");
    assert_eq!(world.results(1), [100_000_000]);
    assert!(world.turns.alarms.get() <= 2, "nobody waits for the CPU when the sleep has ended");
}

#[test]
fn the_host_looks_between_turns_for_what_it_waits_for() {
    let world = World::new(&[&[compute(4)]]);
    world.turns.host_waits.set(true);
    run(&world);
    assert_eq!((world.turns.alarms.get(), world.turns.looks.get()), (3, 3));
}

#[test]
fn a_thread_that_comes_beside_a_sleep_without_end_gets_its_turn() {
    let world = World::new(&[&[(SLEEP, [1_000_000_000; 6])], &[compute(100)], &[compute(5)]]);
    world.inbox.borrow_mut().truncate(2);
    world.turns.comes.set(Some((20_000_000, 2)));
    run(&world);
    assert_eq!(world.results(2), [35_000_000], "a turn after it came");
    assert_eq!(world.results(1), [105_000_000]);
}
