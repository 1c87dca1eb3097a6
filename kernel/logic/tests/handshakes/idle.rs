// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core that rests is rung by a waker of one of its threads, or finds the thread itself.

use std::cell::Cell;

use loom::sync::Arc;
use loom::thread;
use tacet_logic::handshake::{doorbell, idle};
use tacet_logic::woken::{NextWoken, Woken};

use crate::atomics::{After, Before, Bell, NoTotalOrder, Strength, U32};
use crate::explore;

/// The modes' values.
const LOOKS: u32 = 7;
const SLEEPS: u32 = 8;
const BUSY: u32 = 9;
const WOKEN: u32 = 1;

struct Core<S> {
    mode: U32<S>,
    attention: U32<S>,
    bell: Bell,
    next: NextWoken<2, U32<S>>,
    woken: Woken<U32<S>>,
}

impl<S: Strength> Core<S> {
    fn new() -> Self {
        let (mode, attention) = (U32::new(BUSY), U32::new(0));
        let next = NextWoken::of_zeroes([U32::new(0), U32::new(0)]);
        Self { mode, attention, bell: Bell::new(), next, woken: Woken::of_zero(U32::new(0)) }
    }

    /// Another core's.
    fn wake(&self, thread: u32, rings: bool) {
        self.woken.push(&self.next, thread);
        if rings && !idle::looks_anyway(&self.mode, LOOKS) {
            doorbell::request(&self.attention, WOKEN);
            self.bell.ring();
        }
    }

    /// The core's: whether it sleeps. As `idle_begin` to the halt, see `doorbell.rs`.
    fn rest(&self) -> bool {
        let sleeps = Cell::new(false);
        let look = || {
            // Once stands for any number of times.
            self.woken.is_empty();
        };
        let sleep = || {
            self.bell.take();
            sleeps.set(!doorbell::is_wanted(&self.attention));
        };
        let say = |rest| {
            let value = match rest {
                idle::Rest::Looks => LOOKS,
                idle::Rest::Sleeps => SLEEPS,
                idle::Rest::Ends => BUSY,
            };
            idle::announce(&self.mode, rest, value);
        };
        idle::rest(say, Some(look), || !self.woken.is_empty(), sleep);
        sleeps.get()
    }

    fn serve(&self, served: &mut u32) {
        doorbell::take(&self.attention);
        let mut taken = self.woken.take(&self.next);
        while taken.pop(&self.next).is_some() {
            *served += 1;
        }
    }
}

/// A core that looks, sleeps, and looks again, and so many that wake its threads. `rings`: as they should.
fn nobody_is_slept_through<S: Strength>(wakers: u32, rings: bool) {
    explore((wakers > 1).then_some(2), move || {
        let core = Arc::new(Core::<S>::new());
        let others: Vec<_> = (0..wakers)
            .map(|n| {
                let core = core.clone();
                thread::spawn(move || core.wake(n, rings))
            })
            .collect();
        let mut served = 0;
        let mut sleeps = false;
        while served < wakers && !sleeps {
            sleeps = core.rest();
            if !sleeps {
                core.serve(&mut served);
            }
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        if sleeps && core.bell.take() {
            core.serve(&mut served);
        }
        assert_eq!(served, wakers, "a woken thread is slept through");
    });
}

#[test]
fn a_woken_thread_is_found_or_the_core_is_rung() {
    nobody_is_slept_through::<Before>(1, true);
    nobody_is_slept_through::<After>(1, true);
}

#[test]
fn so_are_two() {
    nobody_is_slept_through::<Before>(2, true);
    nobody_is_slept_through::<After>(2, true);
}

#[test]
#[should_panic(expected = "a woken thread is slept through")]
fn control_the_waker_does_not_ring() {
    nobody_is_slept_through::<Before>(1, false);
}

#[test]
#[should_panic(expected = "a woken thread is slept through")]
fn control_mode_and_list_are_in_no_order() {
    nobody_is_slept_through::<NoTotalOrder>(1, true);
}
