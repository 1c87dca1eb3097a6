// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread opens a signal on its core while the host sends it one.

use loom::sync::Arc;
use loom::sync::atomic::Ordering;
use loom::thread;
use tacet_logic::atomic::Atomic;
use tacet_logic::handshake::mask::change;

use crate::atomics::{After, Before, NoTotalOrder, Strength, U32, U64};
use crate::explore;

/// The host's mask of the thread; the thread opens the one signal that this blocks.
const BLOCKED: u64 = 1;

struct Context<S> {
    mask: U64<S>,
    waits: U32<S>,
}

/// As `note_signal`: whether it recalls the thread. `compares_first`: a control.
fn host_sends<S: Strength>(context: &Context<S>, compares_first: bool) -> bool {
    let early = context.mask.load(Ordering::SeqCst) != BLOCKED;
    context.waits.store(1, Ordering::SeqCst);
    U64::<S>::fence(Ordering::SeqCst);
    if compares_first { early } else { context.mask.load(Ordering::SeqCst) != BLOCKED }
}

fn the_signal_arrives<S: Strength>(compares_first: bool) {
    explore(None, move || {
        let context = Arc::new(Context::<S> { mask: U64::new(BLOCKED), waits: U32::new(0) });
        let other = {
            let context = context.clone();
            thread::spawn(move || host_sends(&context, compares_first))
        };
        let opened_here = change(&context.mask, BLOCKED, 0, &context.waits);
        let recalled = other.join().unwrap();
        assert!(!opened_here || recalled || context.waits.load(Ordering::SeqCst) == 0, "the signal is held back");
        assert_eq!(context.mask.load(Ordering::SeqCst), if opened_here { 0 } else { BLOCKED });
    });
}

#[test]
fn an_opened_signal_arrives() {
    the_signal_arrives::<Before>(false);
    the_signal_arrives::<After>(false);
}

#[test]
#[should_panic(expected = "held back")]
fn control_the_host_compares_before_it_says_that_a_signal_waits() {
    the_signal_arrives::<Before>(true);
}

#[test]
#[should_panic(expected = "held back")]
fn control_mask_and_mark_are_in_no_order() {
    the_signal_arrives::<NoTotalOrder>(false);
}
