// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Long calls about memory, exactly: what a CPU looks at between two portions, and what it leaves undone.

use crate::machine::Machine;
use crate::memory::BASE;
use crate::program::Action;
use crate::world::World;
use tacet_core::memory::{PORTION, ZEROED};
use tacet_core::{Common, Permits, Recall};

const ALL: u32 = Permits::CALLS.0 | Permits::MEMORY.0 | Permits::STAYS.0;
const POPULATE: Action = Action::Map { pages: 20 * 512, populate: true };

fn world(programs: &[&[Action]]) -> World {
    let programs: Vec<_> = programs.iter().map(|program| (0, ALL, program.to_vec())).collect();
    World::new(Box::new(Common::new()), programs.len(), programs)
}

/// Each thread on the CPU of its number, in user mode.
fn begin(world: &World) -> Machine<'_> {
    let mut machine = Machine::new(world);
    world.numbers().for_each(|number| machine.linux.post(number, number as usize));
    while machine.linux.ring(0) {}
    (0..world.cpus.len()).for_each(|cpu| {
        while !world.is_in_user(cpu) {
            machine.run(cpu);
        }
    });
    machine
}

/// Runs a CPU until its thread has its call's result, or is away. How often it paused.
fn until_answered(machine: &mut Machine<'_>, number: u32) -> u32 {
    let mut pauses = 0;
    let thread = machine.world.thread(number);
    while thread.calls.get() && thread.posted.get().is_some() {
        machine.run(number as usize);
        pauses += 1;
    }
    pauses
}

/// The thread is in the middle of its call, and the CPU has zeroed a few pages.
fn begin_populate(machine: &mut Machine<'_>) {
    while !machine.world.thread(0).calls.get() {
        machine.run(0);
    }
    (0..6).for_each(|_| machine.run(0));
    assert!(machine.world.thread(0).calls.get());
}

#[test]
fn a_recall_ends_a_populate_with_its_result() {
    let world = world(&[&[POPULATE, Action::Touch { page: 5 }, Action::Touch { page: 10_000 }]]);
    let mut machine = begin(&world);
    begin_populate(&mut machine);
    machine.linux.recall(0, Recall::Always);
    while machine.linux.ring(0) {}
    // the page that it was zeroing, and the way out; not the other pages
    assert!(until_answered(&mut machine, 0) <= 6);
    let (address, bytes) = world.thread(0).mapping.get().expect("the call has its result");
    assert_eq!(bytes, 20 * 512 * 4096);
    assert!(world.memory.is_there(0, address) && !world.memory.is_there(0, address + bytes - 4096));
    machine.end();
}

/// The bell rings while pages are taken away, which must come to its end. Nothing rings again for the zeroing.
#[test]
fn a_recall_before_the_zeroing_ends_that_too() {
    for recall in [Recall::Always, Recall::Turn] {
        let map = Action::Map { pages: 20 * 512, populate: false };
        let world = world(&[&[map, Action::Small, Action::Populate, Action::Replace]]);
        let mut machine = begin(&world);
        while world.thread(0).at.get() < 3 || world.thread(0).calls.get() {
            machine.run(0);
        }
        world.memory.eager.set(true);
        while !world.thread(0).calls.get() {
            machine.run(0);
        }
        let before = world.memory.zeroed.get();
        machine.linux.recall(0, recall);
        while machine.linux.ring(0) {}
        (0..20).for_each(|_| machine.run(0));
        assert!(world.thread(0).mapping.get().is_some() && world.thread(0).posted.get().is_none(), "{recall:?}");
        assert!(world.memory.zeroed.get() - before < 2_000, "zeroed all the same");
        machine.end();
    }
}

#[test]
fn a_kill_leaves_a_call_unfinished() {
    let world = world(&[&[POPULATE]]);
    let mut machine = begin(&world);
    begin_populate(&mut machine);
    machine.linux.kill(0);
    while machine.linux.ring(0) {}
    (0..8).for_each(|_| machine.run(0));
    assert!(world.thread(0).posted.get().is_none());
    machine.end();
}

#[test]
fn a_question_is_answered_between_two_portions() {
    let world = world(&[&[POPULATE]]);
    let mut machine = begin(&world);
    begin_populate(&mut machine);
    machine.linux.ask(0);
    while machine.linux.ring(0) {}
    (0..6).for_each(|_| machine.run(0));
    assert!(!world.cpus[0].asked.get() && world.thread(0).calls.get());
    assert!(until_answered(&mut machine, 0) > 6);
    let (address, bytes) = world.thread(0).mapping.get().unwrap();
    assert!((address..address + bytes).step_by(4096).all(|page| world.memory.is_there(0, page)));
    machine.end();
}

/// Both touch one page; one waits for the other's lock. No TLB has anything that is not so.
#[test]
fn whoever_loses_a_first_touch_rings_nobody() {
    let world = world(&[
        &[Action::Map { pages: 512, populate: false }, Action::Touch { page: 9 }],
        &[Action::Touch { page: 9 }],
    ]);
    let mut machine = begin(&world);
    while world.thread(0).mapping.get().is_none() {
        machine.run(0);
    }
    world.thread(1).mapping.set(world.thread(0).mapping.get());
    // until one zeroes and the other waits
    while !world.cpus[1].waits_for_lock.get() {
        machine.run(0);
        machine.run(1);
    }
    while world.numbers().any(|number| world.thread(number).at.get() < world.thread(number).program.len()) {
        machine.run(0);
        machine.run(1);
    }
    assert_eq!(world.memory.flush_bells.get(), 0);
    machine.end();
}

/// There are frames for two, not for three.
#[test]
fn a_populate_without_enough_frames_leaves_nothing() {
    let world = world(&[&[POPULATE, POPULATE, POPULATE]]);
    let mut machine = begin(&world);
    while world.thread(0).posted.get().is_some() {
        machine.run(0);
    }
    assert_eq!(world.thread(0).at.get(), 3);
    assert_eq!(world.memory.used(0), (2 * 20 * 512, 2 * 20 * 512));
    machine.end();
}

#[test]
fn a_break_that_cannot_move_stays() {
    let world =
        world(&[&[Action::Break { page: 10_000 }, Action::Break { page: 30_000 }, Action::Break { page: 9_000 }]]);
    let mut machine = begin(&world);
    world.memory.eager.set(true);
    for (calls, pages) in [(1, 10_000), (2, 10_000), (3, 9_000)] {
        while world.thread(0).at.get() < calls || world.thread(0).calls.get() {
            machine.run(0);
        }
        assert_eq!(world.memory.used(0), (pages, pages));
        assert_eq!(world.thread(0).result.get(), BASE + (pages << 12));
    }
    machine.end();
}

/// A thread in the middle of an mbind(2) of populated memory, all of which is to move: a few pages are moved.
fn begin_bind(world: &World) -> Machine<'_> {
    let mut machine = begin(world);
    while world.thread(0).at.get() < 1 || world.thread(0).calls.get() {
        machine.run(0);
    }
    world.memory.misplace_all();
    let all = world.memory.misplaced();
    while world.memory.misplaced() > all - 1_024 {
        machine.run(0);
    }
    assert!(world.thread(0).calls.get() && world.memory.misplaced() > 4_000);
    machine
}

#[test]
fn a_question_is_answered_between_two_pages_that_move() {
    let world = world(&[&[POPULATE, Action::Bind, Action::Touch { page: 10_000 }]]);
    let mut machine = begin_bind(&world);
    machine.linux.ask(0);
    machine.linux.recall(0, Recall::Always);
    while machine.linux.ring(0) {}
    (0..6).for_each(|_| machine.run(0));
    assert!(!world.cpus[0].asked.get() && world.thread(0).calls.get());
    // unlike zeroing, it is for nobody to do later
    assert!(until_answered(&mut machine, 0) > 6);
    assert_eq!(world.memory.misplaced(), 0);
    machine.end();
}

#[test]
fn a_kill_leaves_pages_where_they_are() {
    let world = world(&[&[POPULATE, Action::Bind]]);
    let mut machine = begin_bind(&world);
    machine.linux.kill(0);
    while machine.linux.ring(0) {}
    (0..12).for_each(|_| machine.run(0));
    assert!(world.thread(0).posted.get().is_none() && world.memory.misplaced() > 0);
    machine.end();
}

/// On Linux too, a thread that touches pages while they are replaced finds the old ones or the new ones.
#[test]
fn pages_that_are_replaced_can_be_touched_at_any_instant() {
    let touches: Vec<_> = (0..2_000).map(|n| Action::Touch { page: n * 37 % 5_000 }).collect();
    let map = Action::Map { pages: 5_000, populate: false };
    let world = world(&[&[map, Action::Small, Action::Populate, Action::Replace], &touches]);
    let mut machine = begin(&world);
    while world.thread(0).at.get() < 4 {
        machine.run(0);
    }
    world.thread(1).mapping.set(world.thread(0).mapping.get());
    while world.numbers().any(|number| world.thread(number).at.get() < world.thread(number).program.len()) {
        machine.run(0);
        machine.run(1);
        assert!(world.seen.borrow().escapes.is_empty(), "a touch is an error");
    }
    machine.end();
}

#[test]
fn a_portion_is_bounded() {
    // One that is longer would hold locks for longer; one that is shorter than what is left of withdrawn addresses would
    // not end.
    assert_eq!((PORTION, ZEROED), (4096, 512));
    const { assert!(PORTION > 4 * 512 + 510) };
}
