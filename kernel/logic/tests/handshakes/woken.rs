// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every thread that was woken is delivered once, with what its waker has written.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use tacet_logic::woken::{NextWoken, Woken};

use crate::atomics::{After, Before, NoOrder, Strength, U32};
use crate::explore;

struct List<S> {
    next: NextWoken<2, U32<S>>,
    woken: Woken<U32<S>>,
    /// What a waker writes of its thread, and its core reads.
    results: [UnsafeCell<u32>; 2],
    /// Thread 0 waits again.
    again: AtomicBool,
}

impl<S: Strength> List<S> {
    fn wake(&self, thread: usize) {
        self.results[thread].with_mut(|result| {
            // SAFETY: `loom` checks that nobody else is at it.
            unsafe { *result += 1 }
        });
        self.woken.push(&self.next, thread as u32);
    }

    fn take(&self, delivered: &mut [u32; 2]) {
        let mut taken = self.woken.take(&self.next);
        while let Some(thread) = taken.pop(&self.next) {
            let thread = thread as usize;
            delivered[thread] += 1;
            // SAFETY: as above.
            let result = self.results[thread].with(|result| unsafe { *result });
            assert_eq!(result, delivered[thread], "woken, and the waker has yet to write why");
            if thread == 0 {
                self.again.store(true, Ordering::Release);
            }
        }
    }
}

fn each_is_delivered_once<S: Strength>() {
    explore(Some(3), || {
        let list = Arc::new(List::<S> {
            next: NextWoken::of_zeroes([U32::new(0), U32::new(0)]),
            woken: Woken::of_zero(U32::new(0)),
            results: [UnsafeCell::new(0), UnsafeCell::new(0)],
            again: AtomicBool::new(false),
        });
        let (one, other) = (list.clone(), list.clone());
        let one = thread::spawn(move || {
            one.wake(0);
            // Its wait may have ended and begun anew by now.
            let again = one.again.load(Ordering::Acquire);
            if again {
                one.wake(0);
            }
            again
        });
        let other = thread::spawn(move || other.wake(1));
        let mut delivered = [0, 0];
        list.take(&mut delivered);
        let again = one.join().unwrap();
        other.join().unwrap();
        list.take(&mut delivered);
        assert_eq!(delivered, [1 + u32::from(again), 1], "lost, or delivered twice");
        assert!(list.woken.is_empty());
    });
}

#[test]
fn woken_threads_are_delivered_once() {
    each_is_delivered_once::<Before>();
    each_is_delivered_once::<After>();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn control_the_list_orders_nothing() {
    each_is_delivered_once::<NoOrder>();
}
