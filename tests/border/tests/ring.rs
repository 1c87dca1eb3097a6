// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One ring, one end in C, the other in Rust.

use std::collections::VecDeque;
use std::thread;

use tacet_abi::TACET_RING_ENTRIES;
use tacet_abi::ring::{Corrupt, Push};
use tacet_border::Shared;

const ITEMS: u32 = 300_000;

#[test]
fn c_to_rust_across_threads_keeps_every_item_in_order() {
    let shared = Shared::new(u32::MAX - 1000);
    thread::scope(|scope| {
        scope.spawn(|| {
            for item in 0..ITEMS {
                while shared.push_in_c(item) == -1 {
                    thread::yield_now();
                }
            }
        });
        let end = shared.rust();
        for expected in 0..ITEMS {
            let item = loop {
                match end.pop().unwrap() {
                    Some(item) => break item,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(item, expected);
        }
    });
}

#[test]
fn rust_to_c_across_threads_keeps_every_item_in_order() {
    let shared = Shared::new(u32::MAX - 1000);
    thread::scope(|scope| {
        scope.spawn(|| {
            let end = shared.rust();
            for item in 0..ITEMS {
                while end.push(item).unwrap() == Push::Full {
                    thread::yield_now();
                }
            }
        });
        for expected in 0..ITEMS {
            let item = loop {
                match shared.pop_in_c() {
                    (1, item) => break item,
                    (0, _) => thread::yield_now(),
                    (error, _) => panic!("pop: {error}"),
                }
            };
            assert_eq!(item, expected);
        }
    });
}

#[test]
fn both_ends_agree_with_a_queue_over_random_histories() {
    let mut seed = 0x7ace_7ace_u64;
    let shared = Shared::new(u32::MAX - 77);
    let (rust, mut model) = (shared.rust(), VecDeque::new());
    for step in 0..200_000u32 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let full = model.len() == TACET_RING_ENTRIES as usize;
        // bursts, so that the ring is sometimes full and sometimes empty
        match (seed >> 33) % 4 + u64::from(step / 500 % 2) {
            0 | 1 if full => assert_eq!(shared.push_in_c(step), -1),
            0 => assert_eq!((shared.push_in_c(step), model.push_back(step)), (0, ())),
            1 => assert_eq!((rust.push(step), model.push_back(step)), (Ok(Push::Done), ())),
            2 => assert_eq!(rust.pop(), Ok(model.pop_front())),
            _ => assert_eq!(shared.pop_in_c().0, i32::from(model.pop_front().is_some())),
        }
    }
}

#[test]
fn a_corrupt_index_is_refused_by_both_ends() {
    for distance in [TACET_RING_ENTRIES + 1, 0x1000, u32::MAX] {
        let shared = Shared::new(5);
        shared.rust().corrupt_tail(distance);
        assert_eq!(shared.rust().pop(), Err(Corrupt));
        assert_eq!(shared.rust().push(1), Err(Corrupt));
        assert_eq!(shared.pop_in_c().0, -2);
        assert_eq!(shared.push_in_c(1), -2);
    }
}
