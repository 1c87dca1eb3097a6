// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls with arguments at the edges, one after another, and what becomes of each: as on Linux, or Linux's to answer.

use crate::machine::Machine;
use crate::memory::BASE;
use crate::program::{Action, Call, address};
use crate::world::World;
use tacet_core::{Common, Escape, Permits, Reason, Recall};

const ALL: u32 = Permits::CALLS.0 | Permits::MEMORY.0 | Permits::FUTEXES.0 | Permits::STAYS.0;

/// Errors, as calls give them.
const NO_MEMORY: u64 = -12i64 as u64;
const BAD_ADDRESS: u64 = -14i64 as u64;

const PAGE: u64 = 4096;
/// Where the tests map: in the range, behind the break's part.
const HERE: u64 = BASE + (160 << 30);
const THERE: u64 = HERE + 1000 * PAGE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Result(u64),
    /// Linux performs it, and has the range afterwards if it is so.
    Forwarded(Reason),
}

use End::{Forwarded, Result};

/// What becomes of one call after the other. After one that is forwarded, Linux has given it some result.
fn perform(permits: u32, calls: &[Call]) -> Vec<End> {
    let actions = calls.iter().map(|&call| Action::Exactly(call)).collect();
    let world = World::new(Box::new(Common::new()), 1, vec![(0, permits, actions)]);
    let mut machine = Machine::new(&world);
    let thread = world.thread(0);
    let mut ends = Vec::new();
    while ends.len() < calls.len() {
        machine.linux.post(0, 0);
        while machine.linux.ring(0) {}
        while thread.posted.get().is_some() && ends.len() < calls.len() {
            machine.run(0);
            ends.extend(thread.results.borrow_mut().drain(..).map(Result));
        }
        if let Some(Escape::Call(reason)) = thread.escape.take() {
            ends.push(Forwarded(reason));
            thread.calls.set(false);
        }
    }
    machine.end();
    ends
}

fn map(at: u64, pages: u64, protection: u64) -> Call {
    (9, [at, pages * PAGE, protection, 0x32, u64::MAX, 0])
}

fn unmap(at: u64, pages: u64) -> Call {
    (11, [at, pages * PAGE, 0, 0, 0, 0])
}

fn protect(at: u64, pages: u64, protection: u64) -> Call {
    (10, [at, pages * PAGE, protection, 0, 0, 0])
}

fn advise(at: u64, pages: u64, advice: u64) -> Call {
    (28, [at, pages * PAGE, advice, 0, 0, 0])
}

fn remap(at: u64, pages: u64, wanted: u64, flags: u64, to: u64) -> Call {
    (25, [at, pages * PAGE, wanted * PAGE, flags, to, 0])
}

const READ: u64 = 1;
const READ_WRITE: u64 = 3;
const SEM: u64 = 8;
const FIXED: u64 = 3;
const ELSEWHERE: End = Forwarded(Reason::NotServed);
const BEYOND: End = Forwarded(Reason::Beyond);

#[test]
fn a_mapping_shrinks_whatever_lies_behind_it() {
    let calls = [
        map(HERE, 4, READ_WRITE),
        map(HERE + 6 * PAGE, 2, READ),
        // over a hole and another mapping
        remap(HERE, 8, 1, 0, 0),
        // both are gone
        map(HERE + PAGE, 1, READ_WRITE),
        remap(HERE, 1, 1, 0, 0),
        protect(HERE + 6 * PAGE, 1, READ),
        // nothing is there
        remap(HERE + 4 * PAGE, 2, 1, 0, 0),
    ];
    let ends = perform(ALL, &calls);
    assert_eq!(ends[2..], [HERE, HERE + PAGE, HERE, NO_MEMORY, BAD_ADDRESS].map(Result));
}

#[test]
fn mappings_of_different_rights_move_as_far_as_linux_moves_them() {
    let two = [map(HERE, 4, READ_WRITE), protect(HERE + PAGE, 1, READ)];
    let with = |call| [two[0], two[1], call];
    // to grow it must be one mapping
    for flags in [0, 1] {
        assert_eq!(perform(ALL, &with(remap(HERE, 4, 6, flags, 0)))[2], Result(BAD_ADDRESS));
    }
    // before 6.17 it fails, after what is there has been unmapped
    let moved = with(remap(HERE, 4, 4, FIXED, THERE));
    assert_eq!(perform(ALL, &moved)[2], BEYOND);
    let several = ALL | Permits::MOVES_SEVERAL.0;
    assert_eq!(perform(several, &moved)[2], Result(THERE));
    assert_eq!(perform(several, &with(remap(HERE, 4, 5, FIXED, THERE)))[2], BEYOND);
    // of what shrinks, only the rest counts
    assert_eq!(perform(ALL, &with(remap(HERE, 4, 1, FIXED, THERE)))[2], Result(THERE));
    // with a hole
    let holed = [map(HERE, 4, READ_WRITE), unmap(HERE + PAGE, 1), remap(HERE, 4, 4, FIXED, THERE)];
    assert_eq!(perform(several, &holed)[2], BEYOND);
    let hole_first = [map(HERE, 4, READ_WRITE), unmap(HERE, 1), remap(HERE, 4, 4, FIXED, THERE)];
    assert_eq!(perform(ALL, &hole_first)[2], Result(BAD_ADDRESS));
}

#[test]
fn advice_goes_on_behind_a_hole() {
    const DONTDUMP: u64 = 16;
    let calls = [
        map(HERE, 4, READ_WRITE),
        unmap(HERE + PAGE, 1),
        advise(HERE, 4, DONTDUMP),
        map(HERE + PAGE, 1, READ_WRITE),
        // Is the page before the hole one mapping with that in the hole, or with those behind? Not, and not.
        remap(HERE, 2, 3, 0, 0),
        remap(HERE + PAGE, 3, 4, 0, 0),
        remap(HERE + 2 * PAGE, 2, 3, 0, 0),
    ];
    let ends = perform(ALL, &calls);
    let expected = [NO_MEMORY, HERE + PAGE, BAD_ADDRESS, BAD_ADDRESS, HERE + 2 * PAGE];
    assert_eq!(ends[2..], expected.map(Result));
}

#[test]
fn bits_of_a_protection_that_mean_nothing_are_ignored_and_wrong_ones_are_linuxs_error() {
    let calls = [
        map(HERE, 1, READ_WRITE | SEM | 1 << 40),
        protect(HERE, 1, READ_WRITE | SEM),
        protect(HERE, 1, READ_WRITE | 16),
        protect(HERE, 1, READ_WRITE | 1 << 40),
    ];
    assert_eq!(perform(ALL, &calls), [Result(HERE), Result(0), ELSEWHERE, ELSEWHERE]);
}

#[test]
fn a_wake_up_beyond_user_space_is_linuxs_error() {
    let futex = |at, operation: u64, value, to| (202, [at, operation | 128, value, 1, to, 0]);
    for beyond in [0x7fff_ffff_f000, 1 << 47, 1 << 63, u64::MAX - 3] {
        for operation in [1, 3, 4] {
            let ends = perform(ALL, &[futex(beyond, operation, 1, address(0))]);
            assert_eq!(ends, [ELSEWHERE], "operation {operation} at {beyond:#x}");
        }
    }
    let unread = perform(ALL, &[futex(address(1), 1, 1, 0), futex(address(1), 3, 1, address(0))]);
    assert_eq!(unread, [Result(0), Result(0)]);
}

#[test]
fn the_length_of_a_mask_of_cpus_overflows_in_bits() {
    let affinity = |bytes| (204, [0, bytes, 0x20_0000, 0, 0, 0]);
    let calls = [8, 64, 0x2000_0008, 1 << 32 | 8, 0x2000_0000, 0x4000_0000, 0, 12].map(affinity);
    let ends = perform(ALL, &calls);
    assert_eq!(ends[..4], [8, 64, 64, 8].map(Result));
    assert_eq!(ends[4..], [ELSEWHERE; 4]);
}

/// How often CPU 0 looks at threads when one of its two waiting ones is recalled, and so many wait on CPU 1.
fn looks(others: usize) -> u32 {
    let wait = Action::Wait { word: 0, value: 0, bitset: u32::MAX, ns: None };
    let programs = vec![(0, ALL, vec![wait]); 2 + others];
    let world = World::new(Box::new(Common::new()), 2, programs);
    let mut machine = Machine::new(&world);
    world.numbers().for_each(|number| machine.linux.post(number, usize::from(number > 1)));
    while machine.linux.ring(0) {}
    for cpu in 0..2 {
        while !world.is_asleep(cpu) {
            machine.run(cpu);
        }
    }
    let before = world.cpus[0].looks.get();
    machine.linux.recall(0, Recall::Always);
    while machine.linux.ring(0) {}
    while world.thread(0).posted.get().is_some() || !world.is_asleep(0) {
        machine.run(0);
    }
    let looks = world.cpus[0].looks.get() - before;
    assert_eq!(world.cpus[0].waiting.get(), 1);
    machine.end();
    looks
}

#[test]
fn a_recall_looks_at_the_cpus_own_threads_alone() {
    assert_eq!(looks(20), looks(0));
}
