// SPDX-License-Identifier: Apache-2.0 OR MIT
//! No request is slept through, and what it is about is seen.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use tacet_logic::handshake::doorbell;

use crate::atomics::{After, Before, Bell, NoOrder, Strength, U32};
use crate::explore;

struct Page<S> {
    attention: U32<S>,
    bell: Bell,
    /// What the requests are about, one for each asking thread.
    posted: [AtomicU32; 2],
}

#[derive(Clone, Copy, PartialEq)]
enum Asks {
    /// As `tacet_attention` and a core's call do.
    BeforeItRings,
    AfterItRang,
}

/// The end of a core's loop, `enter_begin` to the program's first instruction or `idle_begin` to the halt: a bell that
/// has rung before is over, one that rings from there on ends it. True: it runs or sleeps until the bell rings.
fn is_away<S: Strength>(page: &Page<S>) -> bool {
    page.bell.take();
    !doorbell::is_wanted(&page.attention)
}

/// Looks at what is asked for. True: at everything that both have asked.
fn look<S: Strength>(page: &Page<S>, seen: &mut u32) {
    let bits = doorbell::take(&page.attention);
    for (n, posted) in (0..).zip(&page.posted) {
        if bits >> n & 1 != 0 {
            assert_eq!(posted.load(Ordering::Relaxed), 1, "what was posted is not seen");
        }
    }
    *seen |= bits;
}

fn ask<S: Strength>(page: &Page<S>, n: usize, asks: Asks) {
    page.posted[n].store(1, Ordering::Relaxed);
    if asks == Asks::BeforeItRings {
        doorbell::request(&page.attention, 1 << n);
        page.bell.ring();
    } else {
        page.bell.ring();
        doorbell::request(&page.attention, 1 << n);
    }
}

fn no_request_is_slept_through<S: Strength>(asks: Asks) {
    explore(Some(3), move || {
        let page = Arc::new(Page::<S> {
            attention: U32::new(0),
            bell: Bell::new(),
            posted: [AtomicU32::new(0), AtomicU32::new(0)],
        });
        let others = [0, 1].map(|n| {
            let page = page.clone();
            thread::spawn(move || ask(&page, n, asks))
        });
        let mut seen = 0;
        look(&page, &mut seen);
        while !is_away(&page) {
            look(&page, &mut seen);
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        if page.bell.take() {
            look(&page, &mut seen);
        }
        assert_eq!(seen, 3, "a request is slept through");
    });
}

#[test]
fn a_request_is_seen_before_the_core_is_away() {
    no_request_is_slept_through::<Before>(Asks::BeforeItRings);
    no_request_is_slept_through::<After>(Asks::BeforeItRings);
}

#[test]
#[should_panic(expected = "a request is slept through")]
fn control_the_bell_rings_first() {
    no_request_is_slept_through::<Before>(Asks::AfterItRang);
}

#[test]
#[should_panic(expected = "what was posted is not seen")]
fn control_a_request_orders_nothing() {
    no_request_is_slept_through::<NoOrder>(Asks::BeforeItRings);
}
