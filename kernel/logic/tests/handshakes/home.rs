// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A proxy that looks, halts and sleeps is told of its thread, or finds it.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use tacet_logic::atomic::Atomic;
use tacet_logic::handshake::home::give_back;

use crate::atomics::{After, Before, Bell, NoTotalOrder, Strength, U32, U64};
use crate::explore;

/// The context's states.
const POSTED: u32 = 1;
const RETURNED: u32 = 2;
/// How the proxy waits; any other value is a place.
const ASLEEP: u64 = 0;
const LOOKS: u64 = 1;
const PLACE: u64 = 0xfd;

struct Waiting<S> {
    state: U32<S>,
    home: U64<S>,
    /// What the thread leaves in the context.
    registers: AtomicU32,
    /// The interrupt of the CPU that halts.
    interrupt: Bell,
    /// The message, which wakes whoever sleeps.
    message: Bell,
}

/// What the core does about a proxy.
#[derive(Clone, Copy, PartialEq)]
enum Tells {
    AsItWaits,
    /// As it waited before the context was given back.
    AsItWaited,
}

/// As `Linux::hand_back`.
fn core<S: Strength>(waiting: &Waiting<S>, tells: Tells) {
    let before = waiting.home.load(Ordering::SeqCst);
    waiting.registers.store(7, Ordering::Relaxed);
    let now = give_back(&waiting.state, RETURNED, &waiting.home);
    match if tells == Tells::AsItWaits { now } else { before } {
        LOOKS => {}
        ASLEEP => waiting.message.ring(),
        _ => waiting.interrupt.ring(),
    }
}

/// The last look before a halt or a sleep, after the proxy has said what it does.
fn is_back<S: Strength>(waiting: &Waiting<S>) -> bool {
    let back = waiting.state.load(Ordering::Acquire) == RETURNED;
    assert!(!back || waiting.registers.load(Ordering::Relaxed) == 7, "the thread's registers are not seen");
    back
}

/// Linux's `xchg()`: a full barrier before it and after it.
fn say<S: Strength>(waiting: &Waiting<S>, home: u64) {
    waiting.home.swap(home, Ordering::SeqCst);
    U64::<S>::fence(Ordering::SeqCst);
}

/// As `tacet_halt_in_place` and `tacet_sleep_parked`: what it waits for at last, or none. `patient`: no tick ends
/// the halt.
fn proxy<S: Strength>(waiting: &Waiting<S>, patient: bool) -> Option<&Bell> {
    if is_back(waiting) {
        return None;
    }
    say(waiting, PLACE);
    if is_back(waiting) {
        return None;
    }
    if patient {
        return Some(&waiting.interrupt);
    }
    say(waiting, ASLEEP);
    (!is_back(waiting)).then_some(&waiting.message)
}

fn nobody_waits_for_ever<S: Strength>(patient: bool, tells: Tells) {
    explore(None, move || {
        let waiting = Arc::new(Waiting::<S> {
            state: U32::new(POSTED),
            home: U64::new(LOOKS),
            registers: AtomicU32::new(0),
            interrupt: Bell::new(),
            message: Bell::new(),
        });
        let other = {
            let waiting = waiting.clone();
            thread::spawn(move || core(&waiting, tells))
        };
        let waits_for = proxy(&waiting, patient);
        other.join().unwrap();
        if let Some(bell) = waits_for {
            assert!(bell.take(), "the thread is back, and its proxy waits");
        }
        assert!(is_back(&waiting));
    });
}

#[test]
fn a_proxy_finds_its_thread_or_is_told() {
    for patient in [true, false] {
        nobody_waits_for_ever::<Before>(patient, Tells::AsItWaits);
        nobody_waits_for_ever::<After>(patient, Tells::AsItWaits);
    }
}

#[test]
#[should_panic(expected = "its proxy waits")]
fn control_the_core_reads_first_how_a_halting_proxy_waits() {
    nobody_waits_for_ever::<Before>(true, Tells::AsItWaited);
}

#[test]
#[should_panic(expected = "its proxy waits")]
fn control_the_core_reads_first_how_a_sleeping_proxy_waits() {
    nobody_waits_for_ever::<Before>(false, Tells::AsItWaited);
}

#[test]
#[should_panic(expected = "its proxy waits")]
fn control_state_and_home_are_in_no_order() {
    nobody_waits_for_ever::<NoTotalOrder>(true, Tells::AsItWaits);
}
