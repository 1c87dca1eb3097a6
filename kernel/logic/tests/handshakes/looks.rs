// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core that rests finds what Linux wants of it, or Linux rings.

use std::cell::Cell;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use tacet_logic::handshake::{doorbell, idle};

use crate::atomics::{After, Before, Bell, NoTotalOrder, Strength, U32};
use crate::explore;

/// The modes' values.
const LOOKS: u32 = 7;
const SLEEPS: u32 = 8;
const BUSY: u32 = 9;

struct Page<S> {
    mode: U32<S>,
    attention: U32<S>,
    bell: Bell,
    /// What the request is about.
    posted: AtomicU32,
}

/// When Linux reads the core's mode.
#[derive(Clone, Copy, PartialEq)]
enum Reads {
    /// As `tacet_attention`.
    WhenItHasAsked,
    BeforeItAsks,
}

/// As `tacet_post` and `tacet_attention`.
fn post<S: Strength>(page: &Page<S>, reads: Reads) {
    page.posted.store(1, Ordering::Relaxed);
    let before = idle::looks_anyway(&page.mode, LOOKS);
    doorbell::request(&page.attention, 1);
    let looks = if reads == Reads::BeforeItAsks { before } else { idle::looks_anyway(&page.mode, LOOKS) };
    if !looks {
        page.bell.ring();
    }
}

/// The core's: whether it sleeps. The halt is `idle_begin`, see `doorbell.rs`.
fn rest<S: Strength>(page: &Page<S>) -> bool {
    let sleeps = Cell::new(false);
    let look = || {
        // Once stands for any number of times.
        doorbell::is_wanted(&page.attention);
    };
    let sleep = || {
        page.bell.take();
        sleeps.set(!doorbell::is_wanted(&page.attention));
    };
    let say = |rest| {
        let value = match rest {
            idle::Rest::Looks => LOOKS,
            idle::Rest::Sleeps => SLEEPS,
            idle::Rest::Ends => BUSY,
        };
        idle::announce(&page.mode, rest, value);
    };
    idle::rest(say, Some(look), || doorbell::is_wanted(&page.attention), sleep);
    sleeps.get()
}

/// What the core finds, if anything.
fn serve<S: Strength>(page: &Page<S>) -> bool {
    let found = doorbell::take(&page.attention) != 0;
    assert!(!found || page.posted.load(Ordering::Relaxed) == 1, "what was posted is not seen");
    found
}

fn no_answer_is_slept_through<S: Strength>(reads: Reads) {
    explore(None, move || {
        let page = Arc::new(Page::<S> {
            mode: U32::new(BUSY),
            attention: U32::new(0),
            bell: Bell::new(),
            posted: AtomicU32::new(0),
        });
        let linux = {
            let page = page.clone();
            thread::spawn(move || post(&page, reads))
        };
        let mut found = false;
        let mut sleeps = false;
        while !found && !sleeps {
            sleeps = rest(&page);
            if !sleeps {
                found = serve(&page);
            }
        }
        linux.join().unwrap();
        if sleeps && page.bell.take() {
            found = serve(&page);
        }
        assert!(found, "an answer is slept through");
    });
}

#[test]
fn an_answer_is_found_or_the_core_is_rung() {
    no_answer_is_slept_through::<Before>(Reads::WhenItHasAsked);
    no_answer_is_slept_through::<After>(Reads::WhenItHasAsked);
}

#[test]
#[should_panic(expected = "an answer is slept through")]
fn control_linux_reads_the_mode_before_it_asks() {
    no_answer_is_slept_through::<Before>(Reads::BeforeItAsks);
}

#[test]
#[should_panic(expected = "an answer is slept through")]
fn control_mode_and_attention_are_in_no_order() {
    no_answer_is_slept_through::<NoTotalOrder>(Reads::WhenItHasAsked);
}
