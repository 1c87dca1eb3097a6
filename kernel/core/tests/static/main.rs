// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A CPU whose host answers calls itself (`Host::ANSWERS`): every result of futex(2), and how the host's answers end.

mod host;
mod turns;

use host::{AHEAD_NS, Call, ECHO, FakeHost, LONGEST_REST, SLEEP, SLEPT, WORDS, World, YIELD};
use tacet_core::{Cpu, Escape, Reason};

const AGAIN: i64 = -11;
const BAD_ADDRESS: i64 = -14;
const INVALID: i64 = -22;
const NO_CALL: i64 = -38;
const TIMED_OUT: i64 = -110;

const PRIVATE: u64 = 128;
const REALTIME: u64 = 256;

/// A word of memory, and where a struct timespec is.
const WORD: u64 = WORDS;
const OTHER: u64 = WORDS + 4;
const TIME: u64 = WORDS + 32;
const NOWHERE: u64 = 0x10_0000;

fn futex(address: u64, operation: u64, value: u64, timeout: u64, second: u64, third: u64) -> Call {
    (202, [address, operation, value, timeout, second, third])
}

/// Lets the CPU go on until all threads are with their host.
fn run(world: &World) {
    let mut cpu = Cpu::new(FakeHost(world));
    for _ in 0..1_000_000 {
        cpu.step();
        if world.threads.iter().all(|thread| !thread.escapes.borrow().is_empty()) {
            return;
        }
    }
    panic!("a thread does not end");
}

/// The results of one thread's calls.
fn results_of(calls: &[Call], words: &[(u64, u32)]) -> Vec<i64> {
    let world = World::new(&[calls]);
    set(&world, words);
    run(&world);
    world.results(0)
}

fn set(world: &World, words: &[(u64, u32)]) {
    for &(address, value) in words {
        world.words.borrow_mut()[((address - WORDS) / 4) as usize] = value;
    }
}

#[test]
fn errors_are_those_of_linux() {
    let cases = [
        (futex(WORD + 2, PRIVATE, 0, 0, 0, 0), INVALID),
        (futex(WORD, PRIVATE, 1, 0, 0, 0), AGAIN),
        (futex(WORD, 0, 1, 0, 0, 0), AGAIN),
        (futex(NOWHERE, PRIVATE, 0, 0, 0, 0), BAD_ADDRESS),
        (futex(1 << 47, PRIVATE, 0, 0, 0, 0), BAD_ADDRESS),
        (futex(1 << 47, 1, 1, 0, 0, 0), BAD_ADDRESS),
        (futex(WORD, PRIVATE, 0, NOWHERE, 0, 0), BAD_ADDRESS),
        (futex(WORD, 9 | PRIVATE, 0, 0, 0, 0), INVALID),
        (futex(WORD, 10 | PRIVATE, 1, 0, 0, 0), INVALID),
        (futex(WORD, REALTIME, 0, 0, 0, 1), NO_CALL),
        (futex(WORD, 2, 0, 0, 0, 0), NO_CALL),
        (futex(WORD, 6 | PRIVATE, 0, 0, 0, 0), NO_CALL),
        (futex(WORD, 77, 0, 0, 0, 0), NO_CALL),
        (futex(WORD, 3 | PRIVATE, u64::from(u32::MAX), 1, OTHER, 0), INVALID),
        (futex(WORD, 4 | PRIVATE, 1, 1, OTHER, 5), AGAIN),
        (futex(NOWHERE, 4 | PRIVATE, 1, 1, OTHER, 5), BAD_ADDRESS),
        (futex(WORD, 1, 0, 0, 0, 0), 0),
        (futex(WORD, 1 | PRIVATE, u64::from(u32::MAX), 0, 0, 0), 0),
        (futex(WORD, 5 | PRIVATE, 1, 1, NOWHERE, 0), BAD_ADDRESS),
        (futex(WORD, 5 | PRIVATE, 1, 1, OTHER, 7 << 28), NO_CALL),
    ];
    for (call, result) in cases {
        assert_eq!(results_of(&[call], &[]), [result], "{call:?}");
    }
}

#[test]
fn times_that_are_none_are_refused() {
    let wait = [futex(WORD, PRIVATE, 0, TIME, 0, 0)];
    assert_eq!(results_of(&wait, &[(TIME + 8, 1_000_000_000)]), [INVALID]);
    assert_eq!(results_of(&wait, &[(TIME + 4, 1 << 31)]), [INVALID]);
}

#[test]
fn waits_end_at_their_times() {
    let ends_at = |operation: u64, bitset: u64, seconds: u32, ns: u32| {
        let world = World::new(&[&[futex(WORD, operation, 0, TIME, 0, bitset)]]);
        set(&world, &[(TIME, seconds), (TIME + 8, ns)]);
        world.now.set(5_000);
        run(&world);
        assert_eq!(world.results(0), [TIMED_OUT]);
        world.now.get()
    };
    let second = AHEAD_NS;
    let relative = ends_at(PRIVATE, 0, 1, 0);
    assert!((second + 5_000..second + second / 500).contains(&relative), "{relative}");
    let absolute = ends_at(9 | PRIVATE, 1, 0, 40_000);
    assert!((40_000..41_000).contains(&absolute), "{absolute}");
    let realtime = ends_at(9 | PRIVATE | REALTIME, 1, 1, 40_000);
    assert!((40_000..41_000).contains(&realtime), "{realtime}");
}

#[test]
fn a_wait_with_a_time_goes_on_while_others_run() {
    let waits = [futex(WORD, PRIVATE, 0, TIME, 0, 0)];
    let wakes = [(ECHO, [1; 6]), (24, [0; 6]), futex(WORD, 1 | PRIVATE, 0, 0, 0, 0), (24, [0; 6])];
    let world = World::new(&[&waits, &wakes]);
    set(&world, &[(TIME, 100)]);
    run(&world);
    assert_eq!(world.results(0), [0]);
    assert_eq!(world.results(1), [1, 0, 1, 0], "a count of 0 wakes one");
}

#[test]
fn shared_and_private_waits_of_one_process_meet() {
    let world = World::new(&[&[futex(WORD, 0, 0, 0, 0, 0)], &[futex(WORD, 1 | PRIVATE, 1, 0, 0, 0)]]);
    run(&world);
    assert_eq!((world.results(0), world.results(1)), (vec![0], vec![1]));
}

#[test]
fn wake_op_changes_the_word_and_wakes_by_what_it_was() {
    // adds 3 to the other word, and wakes there if it was greater than 4
    let add = 1 << 28 | 4 << 24 | 3 << 12 | 4;
    let waits = |address| [futex(address, PRIVATE, if address == OTHER { 5 } else { 0 }, 0, 0, 0)];
    let world = World::new(&[&waits(WORD), &waits(OTHER), &[futex(WORD, 5 | PRIVATE, 1, 1, OTHER, add)]]);
    set(&world, &[(OTHER, 5)]);
    run(&world);
    assert_eq!(world.results(2), [2]);
    assert_eq!(world.words.borrow()[1], 8);
    let world = World::new(&[&[futex(WORD, 5 | PRIVATE, 1, 1, OTHER, add)]]);
    run(&world);
    assert_eq!((world.results(0), world.words.borrow()[1]), (vec![0], 3));
}

#[test]
fn the_host_answers_what_nobody_serves() {
    let world = World::new(&[&[(ECHO, [7; 6]), (SLEEP, [9_000; 6]), (YIELD, [3; 6]), (ECHO, [8; 6])]]);
    run(&world);
    assert_eq!(world.results(0), [7, SLEPT as i64, 3, 8]);
    assert!(world.now.get() >= 9_000);
    let rests = 9_000u64.div_ceil(LONGEST_REST);
    assert!(world.rests.get() >= rests, "the host was not asked after each rest");
    assert_eq!(*world.threads[0].escapes.borrow(), [Escape::Call(Reason::NotServed)]);
}

#[test]
fn a_recalled_thread_does_not_begin_to_wait() {
    let world = World::new(&[&[(YIELD, [1; 6]), futex(WORD, PRIVATE, 0, 0, 0, 0)]]);
    world.threads[0].recall.set(true);
    let mut cpu = Cpu::new(FakeHost(&world));
    cpu.step();
    assert_eq!(*world.threads[0].escapes.borrow(), [Escape::Recalled]);
}

#[test]
fn a_thread_that_waits_comes_back_when_it_is_recalled() {
    let world = World::new(&[&[(SLEEP, [u64::MAX; 6])], &[futex(WORD, PRIVATE, 0, 0, 0, 0)]]);
    let mut cpu = Cpu::new(FakeHost(&world));
    (0..3).for_each(|_| {
        cpu.step();
    });
    assert_eq!(cpu.waiting(), 2);
    world.recall(0);
    world.recall(1);
    cpu.step();
    assert!(matches!(world.threads[0].escapes.borrow()[..], [Escape::Waiting { left_ns: Some(_) }]));
    assert!(matches!(world.threads[1].escapes.borrow()[..], [Escape::Waiting { left_ns: None }]));
}
