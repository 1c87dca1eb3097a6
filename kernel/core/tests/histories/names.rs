// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A range's number becomes another's while a thread is here that names it: a host never does that
//! (`linux/memory/names.c`), and yet nothing of the other one is told or changed.

use crate::machine::Machine;
use crate::program::Action;
use crate::world::World;
use tacet_core::{Common, Escape, Permits, Reason};

const ALL: u32 = Permits::CALLS.0 | Permits::MEMORY.0 | Permits::STAYS.0;

/// The thread maps something, its range's number is given away, and it does this: how it comes back.
fn after_the_number_is_anothers(action: Action) -> Escape {
    let program = vec![Action::Map { pages: 8, populate: true }, action];
    let world = World::new(Box::new(Common::new()), 1, vec![(0, ALL, program)]);
    let mut machine = Machine::new(&world);
    machine.linux.post(0, 0);
    while machine.linux.ring(0) {}
    while world.thread(0).mapping.get().is_none() {
        machine.run(0);
    }
    let before = world.memory.used(0);
    let serial = &world.memory.ranges[0].serial;
    serial.set(serial.get() + 1);
    for _ in 0..200 {
        machine.run(0);
    }
    let escape = world.thread(0).escape.get().expect("it was served");
    assert_eq!(world.memory.used(0), before, "{action:?} changes another's memory");
    machine.end();
    escape
}

#[test]
fn a_name_that_was_withdrawn_opens_nothing() {
    let calls = [
        Action::Break { page: 5 },
        // asks where it is, which is another's secret
        Action::WhereIsBreak,
        Action::Unmap,
        Action::Replace,
        Action::Protect,
        Action::Discard,
        Action::Populate,
        Action::Small,
        Action::Bind,
    ];
    for call in calls {
        assert_eq!(after_the_number_is_anothers(call), Escape::Call(Reason::Closed), "{call:?}");
    }
    // Linux has addresses for it too
    let map = Action::Map { pages: 1, populate: true };
    assert_eq!(after_the_number_is_anothers(map), Escape::Call(Reason::NotServed));
}
