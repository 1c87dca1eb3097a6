// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ends of waiting under a clock that is steered, and the list against a list.

use super::*;
use proptest::prelude::*;
use std::vec::Vec;
extern crate std;

const KHZ: u64 = 2_400_000;
/// From one reading to the next, as Linux gives them.
const PERIOD_NS: u64 = 100_000_000;

/// Linux's clock: from a moment of the counter on it runs faster or slower by so many parts in a million.
#[derive(Debug, Clone)]
struct Steered {
    start_ns: u64,
    parts: Vec<i64>,
}

impl Steered {
    /// In nanoseconds of the counter.
    fn at(&self, counter_ns: u64) -> u64 {
        let (mut clock, mut left) = (self.start_ns as i128, counter_ns as i128);
        let mut parts = self.parts.iter().cycle();
        while left > 0 {
            let step = left.min(30_000_000);
            clock += step + step * i128::from(*parts.next().expect("a cycle")) / 1_000_000;
            left -= step;
        }
        clock as u64
    }

    /// What Linux last read at or before, its clock `behind` the counter's reading.
    fn reading(&self, counter_ns: u64, behind: u64) -> Clock {
        let read = counter_ns / PERIOD_NS * PERIOD_NS;
        Clock { cycles: ticks(read), monotonic_ns: self.at(read) - behind, cycles_per_ms: KHZ }
    }
}

fn ticks(ns: u64) -> u64 {
    (u128::from(ns) * u128::from(KHZ) / 1_000_000) as u64
}

fn steered() -> impl Strategy<Value = Steered> {
    (1_000_000..u64::MAX / 4, prop::collection::vec(-900..900i64, 1..9))
        .prop_map(|(start_ns, parts)| Steered { start_ns, parts })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]
    #[test]
    fn never_too_early_and_little_too_late(
        clock in steered(),
        begin in 0..2_000_000_000u64,
        length in prop_oneof![0..200_000u64, 0..2_000_000_000u64],
        behind in 0..READING_NS,
        absolute: bool,
    ) {
        let now = clock.reading(begin, behind);
        let deadline = if absolute {
            Deadline::at(clock.at(begin) + length)
        } else {
            Deadline::after(&now, ticks(begin), length)
        };
        let end = clock.at(begin) + length;
        // as an idle core does: it looks, and sleeps for as long as it says
        let mut at = begin;
        let mut looks = 0;
        loop {
            let now = clock.reading(at, behind);
            let left = deadline.ticks_left(&now, ticks(at));
            prop_assert!(deadline.is_over(&now, ticks(at)) == (left == 0));
            if left == 0 {
                break;
            }
            let rest = deadline.ns_left(&now, ticks(at));
            prop_assert!(clock.at(at) + rest + 2 >= end, "handed to Linux it would end early");
            at += left * 1_000_000 / KHZ + 1;
            looks += 1;
            prop_assert!(looks < 100);
        }
        // a nanosecond for each rounding
        prop_assert!(clock.at(at) + 2 >= end, "{} ns too early", end - clock.at(at));
        let late = clock.at(at).saturating_sub(end);
        prop_assert!(late < 2 * PERIOD_NS / 500 + 2 * READING_NS, "{late} ns too late");
        if !absolute {
            prop_assert!(late < length / 400 + 2 * READING_NS, "{late} of {length} ns too late");
        }
    }

    #[test]
    fn a_list_of_threads(steps in prop::collection::vec((0..4u8, 0..6u32, 0..50u64), 0..60)) {
        let clock = Clock { cycles: 0, monotonic_ns: 0, cycles_per_ms: 1_000_000 };
        let (mut waiting, mut model) = (Deadlines::<4>::new(), Vec::new());
        for (step, thread, time) in steps {
            match step {
                0 if model.iter().all(|&(other, _)| other != thread) => {
                    let added = waiting.add(thread, Deadline::at(time));
                    prop_assert_eq!(added.is_ok(), model.len() < 4);
                    if added.is_ok() {
                        model.push((thread, time));
                    }
                }
                1 => {
                    let found = model.iter().position(|&(other, _)| other == thread).map(|at| model.remove(at).1);
                    prop_assert_eq!(waiting.remove(thread), found.map(Deadline::at));
                }
                2 => {
                    // the margin makes what is over at 2 * time over for certain
                    let over = waiting.take_over(&clock, 2 * time);
                    let first = model.iter().map(|&(_, at)| at).min().filter(|&at| Deadline::at(at).is_over(&clock, 2 * time));
                    prop_assert_eq!(over.is_some(), first.is_some());
                    if let Some(thread) = over {
                        let at = model.iter().position(|&(other, _)| other == thread).expect("it waits");
                        prop_assert_eq!(Some(model.remove(at).1), first);
                    }
                }
                _ => {
                    if let Some((thread, deadline)) = waiting.take_any() {
                        let at = model.iter().position(|&(other, _)| other == thread).expect("it waits");
                        prop_assert_eq!(deadline, Deadline::at(model.remove(at).1));
                    } else {
                        prop_assert!(model.is_empty());
                    }
                }
            }
            prop_assert_eq!((waiting.is_empty(), waiting.is_full()), (model.is_empty(), model.len() == 4));
            let soonest = model.iter().map(|&(_, at)| Deadline::at(at).ticks_left(&clock, 0)).min();
            prop_assert_eq!(waiting.ticks_left(&clock, 0), soonest);
        }
    }
}
