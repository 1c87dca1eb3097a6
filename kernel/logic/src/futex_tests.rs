// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The futex table against a list, and between real threads.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU32 as Word;
use std::vec::Vec;
extern crate std;

const THREADS: usize = 6;

fn key(number: u64) -> Key {
    Key { root: 0x1000 * (number / 4), address: 0x7000 + 4 * (number % 4) }
}

#[derive(Debug, Clone)]
enum Step {
    Wait { key: u64, bitset: u32, thread: u32, unchanged: bool },
    Wake { key: u64, bitset: u32, count: u32 },
    Requeue { from: u64, to: u64, wake: u32, count: u32, unchanged: bool },
    Cancel { thread: u32 },
}

fn step() -> impl Strategy<Value = Step> {
    let (keys, bits, threads, counts) = (0..6u64, 1..4u32, 0..THREADS as u32, 0..4u32);
    prop_oneof![
        3 => (keys.clone(), bits.clone(), threads.clone(), prop::bool::weighted(0.9))
            .prop_map(|(key, bitset, thread, unchanged)| Step::Wait { key, bitset, thread, unchanged }),
        2 => (keys.clone(), bits, counts.clone()).prop_map(|(key, bitset, count)| Step::Wake { key, bitset, count }),
        1 => (keys.clone(), keys, counts.clone(), counts, prop::bool::weighted(0.9))
            .prop_map(|(from, to, wake, count, unchanged)| Step::Requeue { from, to, wake, count, unchanged }),
        1 => threads.prop_map(|thread| Step::Cancel { thread }),
    ]
}

/// Who waits, for what, with which bits: longest waiting first.
#[derive(Default)]
struct Model {
    waiting: VecDeque<(Key, u32, u32)>,
}

impl Model {
    fn take(&mut self, key: Key, bitset: u32, count: u32) -> Vec<u32> {
        let mut taken = Vec::new();
        self.waiting.retain(|(of, bits, thread)| {
            let wanted = *of == key && bits & bitset != 0 && (taken.len() as u32) < count;
            if wanted {
                taken.push(*thread);
            }
            !wanted
        });
        taken
    }

    fn waits(&self, thread: u32) -> bool {
        self.waiting.iter().any(|(_, _, other)| *other == thread)
    }

    fn bits(&self, thread: u32) -> u32 {
        self.waiting.iter().find(|(_, _, other)| *other == thread).map_or(0, |(_, bits, _)| *bits)
    }
}

/// One bucket makes every pair of futexes meet; more make requeues cross.
fn agrees<const BUCKETS: usize>(steps: &[Step]) {
    let (table, mut model) = (Table::<BUCKETS, THREADS>::new(), Model::default());
    for step in steps {
        match *step {
            Step::Wait { thread, .. } if model.waits(thread) => {}
            Step::Wait { key: number, bitset, thread, unchanged } => {
                let answer = table.wait::<()>(key(number), bitset, thread, || Ok(unchanged));
                assert_eq!(answer, if unchanged { Ok(()) } else { Err(Refusal::Changed) });
                if unchanged {
                    model.waiting.push_back((key(number), bitset, thread));
                }
            }
            Step::Wake { key: number, bitset, count } => {
                let mut woken = Vec::new();
                assert_eq!(table.wake(key(number), bitset, count, |thread| woken.push(thread)), woken.len() as u32);
                assert_eq!(woken, model.take(key(number), bitset, count));
            }
            Step::Requeue { from, to, wake, count, unchanged } => {
                let mut woken = Vec::new();
                let answer = table.requeue::<()>(
                    (key(from), key(to)),
                    (wake, count),
                    || Ok(unchanged),
                    |thread| woken.push(thread),
                );
                if !unchanged {
                    assert_eq!(answer, Err(Refusal::Changed));
                    continue;
                }
                assert_eq!(woken, model.take(key(from), u32::MAX, wake));
                let before = Model { waiting: model.waiting.clone() };
                let moved = model.take(key(from), u32::MAX, count);
                assert_eq!(answer, Ok((woken.len() as u32, moved.len() as u32)));
                model.waiting.extend(moved.iter().map(|thread| (key(to), before.bits(*thread), *thread)));
            }
            Step::Cancel { thread } => {
                assert_eq!(table.cancel(thread), model.waits(thread));
                model.waiting.retain(|(_, _, other)| *other != thread);
            }
        }
    }
    for number in 0..6 {
        let mut woken = Vec::new();
        table.wake(key(number), u32::MAX, u32::MAX, |thread| woken.push(thread));
        assert_eq!(woken, model.take(key(number), u32::MAX, u32::MAX));
    }
    assert!(model.waiting.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]
    #[test]
    fn agrees_with_a_list(steps in prop::collection::vec(step(), 0..if cfg!(miri) { 20 } else { 60 })) {
        agrees::<1>(&steps);
        agrees::<2>(&steps);
        agrees::<64>(&steps);
    }
}

#[test]
fn a_failed_comparison_is_told_and_nobody_waits() {
    let table = Table::<4, THREADS>::new();
    assert_eq!(table.wait(key(0), 1, 0, || Err("no such page")), Err(Refusal::Failed("no such page")));
    assert_eq!(table.wake(key(0), u32::MAX, 9, |_| panic!("nobody waits")), 0);
    assert!(!table.cancel(0) && !table.cancel(99));
}

/// Every wait ends by one waker or by the thread's own core, never by both, and
/// never by neither: a mutex built as glibc builds it, with threads that give up.
#[test]
fn no_wake_is_lost_between_cores() {
    const ROUNDS: u32 = if cfg!(miri) { 10 } else { 3_000 };
    let (table, word, woken) = (Table::<4, THREADS>::new(), Word::new(0), [const { Word::new(0) }; THREADS]);
    let inside = Word::new(0);
    let deliver = |thread: u32| assert_eq!(woken[thread as usize].swap(1, Ordering::SeqCst), 0, "woken twice");
    let lock = |me: u32| {
        let mut value = word.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).unwrap_or_else(|other| other);
        let mut tries = me;
        while value != 0 {
            if value == 2 || word.compare_exchange(1, 2, Ordering::SeqCst, Ordering::SeqCst) != Err(0) {
                let waits = table.wait::<()>(key(0), 1, me, || Ok(word.load(Ordering::SeqCst) == 2));
                while waits.is_ok() && woken[me as usize].swap(0, Ordering::SeqCst) == 0 {
                    tries += 1;
                    if tries.is_multiple_of(7) && table.cancel(me) {
                        break;
                    }
                    std::thread::yield_now();
                }
            }
            value = word.swap(2, Ordering::SeqCst);
        }
    };
    std::thread::scope(|scope| {
        for me in 0..THREADS as u32 {
            let (lock, table, word, inside) = (&lock, &table, &word, &inside);
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    lock(me);
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two inside");
                    inside.fetch_sub(1, Ordering::SeqCst);
                    if word.swap(0, Ordering::SeqCst) == 2 {
                        table.wake(key(0), u32::MAX, 1, deliver);
                    }
                }
            });
        }
    });
    assert_eq!(table.wake(key(0), u32::MAX, u32::MAX, |_| ()), 0, "somebody still waits");
}
