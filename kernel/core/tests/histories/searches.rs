// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A search for addresses in a range that a program has crowded: in parts, between which the CPU looks at what waits for it.

use crate::machine::Machine;
use crate::program::Action;
use crate::world::World;
use tacet_core::{Common, Escape, Permits, Reason, Recall};

const ALL: u32 = Permits::CALLS.0 | Permits::MEMORY.0 | Permits::STAYS.0;
/// Entries of a part (`tacet_logic::ranges`), and how many parts the search takes.
const PART: u32 = 4096;
const PARTS: u32 = 20;

/// There is no room for what the thread wants.
fn crowded() -> World {
    let program = vec![Action::Map { pages: 2, populate: false }, Action::GetPid];
    let world = World::new(Box::new(Common::new()), 1, vec![(0, ALL, program)]);
    world.crowd(0, PARTS * PART);
    world
}

/// The thread is in the middle of its call.
fn begin(world: &World) -> Machine<'_> {
    let mut machine = Machine::new(world);
    machine.linux.post(0, 0);
    while machine.linux.ring(0) {}
    while !world.thread(0).calls.get() {
        machine.run(0);
    }
    machine.run(0);
    machine
}

#[test]
fn a_question_is_answered_between_two_parts() {
    let world = crowded();
    let mut machine = begin(&world);
    machine.linux.ask(0);
    while machine.linux.ring(0) {}
    (0..8).for_each(|_| machine.run(0));
    assert!(!world.cpus[0].asked.get() && world.thread(0).calls.get(), "the search has no parts");
    machine.end();
}

#[test]
fn a_kill_ends_a_search() {
    let world = crowded();
    let mut machine = begin(&world);
    machine.linux.kill(0);
    while machine.linux.ring(0) {}
    (0..8).for_each(|_| machine.run(0));
    assert_eq!((world.thread(0).posted.get(), world.thread(0).escape.get()), (None, Some(Escape::Recalled)));
    machine.end();
}

/// However often the CPU is wanted meanwhile.
#[test]
fn a_search_comes_to_its_end() {
    let world = crowded();
    let mut machine = begin(&world);
    for _ in 0..100 * PARTS {
        if world.thread(0).posted.get().is_none() {
            break;
        }
        machine.linux.ask(0);
        while machine.linux.ring(0) {}
        machine.run(0);
    }
    let nowhere = Escape::Call(Reason::NotServed);
    assert_eq!((world.thread(0).posted.get(), world.thread(0).escape.get()), (None, Some(nowhere)));
    machine.linux.recall(0, Recall::Always);
    machine.end();
}
