// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A request is served once, or withdrawn; never both, and its result is its own.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::sync::atomic::Ordering;
use tacet_logic::atomic::Atomic;
use tacet_logic::handshake::slot::{ANSWERED, FREE, OPEN, TAKEN, answer, take};

use crate::atomics::{After, Before, NoOrder, Strength, U32};
use crate::explore;

struct Page<S> {
    state: U32<S>,
    /// `loom` checks that only one side at a time is at either.
    request: UnsafeCell<u32>,
    result: UnsafeCell<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum Withdraws {
    /// As `linux/border/slot.c` does.
    ByExchange,
    /// It looks, then stores.
    ByStore,
}

fn withdraw<S: Strength>(page: &Page<S>, how: Withdraws) -> bool {
    match how {
        Withdraws::ByExchange => {
            page.state.compare_exchange_weak(OPEN, FREE, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        }
        Withdraws::ByStore => {
            let open = page.state.load(Ordering::SeqCst) == OPEN;
            if open {
                page.state.store(FREE, Ordering::SeqCst);
            }
            open
        }
    }
}

/// Linux asks, does not wait, and withdraws. `None`: the core has it.
fn ask<S: Strength>(page: &Page<S>, request: u32, how: Withdraws) -> Option<()> {
    // SAFETY: the slot is free: Linux's.
    page.request.with_mut(|at| unsafe { *at = request });
    page.state.store(OPEN, Ordering::Release);
    withdraw(page, how).then_some(())
}

/// The core looks twice, as for a doorbell each.
fn core<S: Strength>(page: &Page<S>) -> u32 {
    let mut served = 0;
    for _ in 0..2 {
        if take(&page.state) {
            // SAFETY: it is taken: the core's.
            let request = page.request.with(|at| unsafe { *at });
            page.result.with_mut(|at| unsafe { *at = request * 10 });
            answer(&page.state);
            served |= request;
        }
    }
    served
}

fn each_is_served_or_withdrawn<S: Strength>(how: Withdraws) {
    explore(None, move || {
        let page =
            Arc::new(Page::<S> { state: U32::new(FREE), request: UnsafeCell::new(0), result: UnsafeCell::new(0) });
        let other = {
            let page = page.clone();
            thread::spawn(move || core(&page))
        };
        let mut withdrawn = 0;
        for request in [1, 2] {
            match ask(&page, request, how) {
                Some(()) => withdrawn |= request,
                None => break,
            }
        }
        // Where Linux would wait, it looks whether the answer is there already.
        if withdrawn != 3 && page.state.load(Ordering::Acquire) == ANSWERED {
            // SAFETY: it is answered: Linux's.
            let (request, result) = page.request.with(|at| page.result.with(|result| unsafe { (*at, *result) }));
            assert_eq!(result, request * 10, "the result is another request's");
        }
        let served = other.join().unwrap();
        assert_eq!(served & withdrawn, 0, "withdrawn, and served");
        match page.state.load(Ordering::Acquire) {
            FREE => assert_eq!((served, withdrawn), (0, 3)),
            ANSWERED => assert_eq!(served | withdrawn, if withdrawn == 0 { 1 } else { 3 }),
            state => assert_eq!(state, TAKEN, "neither withdrawn nor served"),
        }
        assert_ne!(page.state.load(Ordering::Relaxed), TAKEN, "taken, and never answered");
    });
}

#[test]
fn a_request_is_served_once_or_withdrawn() {
    each_is_served_or_withdrawn::<Before>(Withdraws::ByExchange);
    each_is_served_or_withdrawn::<After>(Withdraws::ByExchange);
}

#[test]
#[should_panic(expected = "withdrawn, and served")]
fn control_it_is_withdrawn_without_an_exchange() {
    each_is_served_or_withdrawn::<Before>(Withdraws::ByStore);
}

#[test]
#[should_panic]
fn control_a_request_orders_nothing() {
    each_is_served_or_withdrawn::<NoOrder>(Withdraws::ByExchange);
}
