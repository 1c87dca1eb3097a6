// SPDX-License-Identifier: Apache-2.0 OR MIT
//! No thread waits for a futex that was woken when it had begun to, whichever side it is on and whichever side wakes.
//!
//! Each side's table is one flag under its bucket's lock. Linux's side is modelled: its own futex code compares and
//! wakes under its bucket's lock, `linux/delegate/futex.c` counts before and looks after it.

use loom::sync::atomic::{Ordering, fence};
use loom::sync::{Arc, Mutex};
use loom::thread;
use tacet_logic::atomic::Atomic;
use tacet_logic::handshake::counters;

use crate::atomics::{After, Before, NoTotalOrder, Strength, U32};
use crate::explore;

struct Space<S> {
    /// The futex: 0, and 1 when it is woken.
    word: U32<S>,
    on_linux: U32<S>,
    on_cores: U32<S>,
    waits_on_linux: Mutex<bool>,
    waits_on_core: Mutex<bool>,
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Linux,
    Core,
    /// A core that compares before it counts.
    HastyCore,
}

impl<S: Strength> Space<S> {
    fn new() -> Self {
        let (word, on_linux, on_cores) = (U32::new(0), U32::new(0), U32::new(0));
        Self { word, on_linux, on_cores, waits_on_linux: Mutex::new(false), waits_on_core: Mutex::new(false) }
    }

    /// Compares and waits, under the bucket's lock. Whether it waits.
    fn compare(&self, bucket: &Mutex<bool>) -> bool {
        let mut waits = bucket.lock().unwrap();
        *waits = self.word.load(Ordering::SeqCst) == 0;
        *waits
    }

    fn wait(&self, side: Side) {
        match side {
            // `tacet_futex_before_call`, futex_wait() of Linux.
            Side::Linux => {
                self.on_linux.fetch_add(1, Ordering::SeqCst);
                U32::<S>::fence(Ordering::SeqCst);
                self.compare(&self.waits_on_linux);
            }
            // `syscall/futex.rs`
            Side::Core => {
                counters::begin_wait(&self.on_cores);
                if !self.compare(&self.waits_on_core) {
                    counters::end_wait(&self.on_cores);
                }
            }
            Side::HastyCore => {
                let unchanged = self.word.load(Ordering::SeqCst) == 0;
                counters::begin_wait(&self.on_cores);
                *self.waits_on_core.lock().unwrap() = unchanged;
            }
        }
    }

    /// The program has changed the word, then asks this side to wake.
    fn wake(&self, side: Side) {
        self.word.store(1, Ordering::Relaxed);
        match side {
            Side::Linux => self.wake_on_linux(),
            _ if counters::anybody_on_linux(&self.on_linux) => self.wake_on_linux(),
            _ if counters::anybody_on_cores(&self.on_cores) => self.wake_on_core(),
            _ => {}
        }
    }

    /// futex_wake() of Linux, `tacet_futex_after_call`.
    fn wake_on_linux(&self) {
        // Linux's own: a full barrier before it looks whether its bucket has anybody.
        fence(Ordering::SeqCst);
        *self.waits_on_linux.lock().unwrap() = false;
        U32::<S>::fence(Ordering::SeqCst);
        if self.on_cores.load(Ordering::Relaxed) != 0 {
            self.wake_on_core();
        }
    }

    fn wake_on_core(&self) {
        *self.waits_on_core.lock().unwrap() = false;
    }
}

fn nobody_waits_for_ever<S: Strength>(waiters: &'static [Side], waker: Side) {
    explore((waiters.len() > 1).then_some(3), move || {
        let space = Arc::new(Space::<S>::new());
        let waiting = waiters.iter().map(|&side| {
            let space = space.clone();
            thread::spawn(move || space.wait(side))
        });
        let waiting: Vec<_> = waiting.collect();
        space.wake(waker);
        waiting.into_iter().for_each(|waiter| waiter.join().unwrap());
        let asleep = |bucket: &Mutex<bool>| *bucket.lock().unwrap();
        assert!(!asleep(&space.waits_on_linux) && !asleep(&space.waits_on_core), "waits for ever");
    });
}

#[test]
fn a_core_wakes_a_thread_on_linux() {
    nobody_waits_for_ever::<Before>(&[Side::Linux], Side::Core);
    nobody_waits_for_ever::<After>(&[Side::Linux], Side::Core);
}

#[test]
fn linux_wakes_a_thread_on_a_core() {
    nobody_waits_for_ever::<Before>(&[Side::Core], Side::Linux);
    nobody_waits_for_ever::<After>(&[Side::Core], Side::Linux);
}

#[test]
fn a_core_wakes_a_thread_on_a_core() {
    nobody_waits_for_ever::<Before>(&[Side::Core], Side::Core);
    nobody_waits_for_ever::<After>(&[Side::Core], Side::Core);
}

#[test]
fn either_wakes_on_both_sides() {
    for waker in [Side::Linux, Side::Core] {
        nobody_waits_for_ever::<Before>(&[Side::Linux, Side::Core], waker);
        nobody_waits_for_ever::<After>(&[Side::Linux, Side::Core], waker);
    }
}

#[test]
#[should_panic(expected = "waits for ever")]
fn control_a_core_that_wakes_has_no_barrier() {
    nobody_waits_for_ever::<NoTotalOrder>(&[Side::Linux], Side::Core);
}

#[test]
#[should_panic(expected = "waits for ever")]
fn control_linux_has_no_barrier() {
    nobody_waits_for_ever::<NoTotalOrder>(&[Side::Core], Side::Linux);
}

#[test]
#[should_panic(expected = "waits for ever")]
fn control_a_core_counts_after_it_has_compared() {
    nobody_waits_for_ever::<Before>(&[Side::HastyCore], Side::Linux);
}
