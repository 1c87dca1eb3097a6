// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames that Linux uses when a program gives them back.

use crate::machine::Machine;
use crate::program::Action;
use crate::world::World;
use tacet_core::{Common, Permits};

const ALL: u32 = Permits::CALLS.0 | Permits::MEMORY.0 | Permits::STAYS.0;

/// All frames that leave are Linux's: nothing comes back to the CPU, and yet another CPU's thread reads one of them.
#[test]
fn a_frame_that_linux_holds_leaves_every_tlb() {
    let takers = [Action::Unmap, Action::Discard, Action::Replace, Action::Bind];
    for take in takers {
        let maps = [Action::Map { pages: 1, populate: true }, Action::Touch { page: 0 }, take];
        let reads = [Action::TouchOther { page: 0 }];
        let programs = [maps.to_vec(), reads.to_vec()].map(|program| (0, ALL, program));
        let world = World::new(Box::new(Common::new()), 2, programs.to_vec());
        let mut machine = Machine::new(&world);
        machine.linux.post(0, 0);
        while machine.linux.ring(0) {}
        while world.thread(0).at.get() < 2 {
            machine.run(0);
        }
        let address = world.thread(0).mapped(0).expect("it is mapped");
        machine.linux.post(1, 1);
        while machine.linux.ring(0) {}
        while world.thread(1).at.get() < 1 {
            machine.run(1);
        }
        let frame = world.cpus[1].tlb.frame(address >> 12).expect("CPU 1 has touched it");
        world.memory.hold(0, address);
        world.memory.misplace_all();
        while world.thread(0).at.get() < 3 || world.thread(0).calls.get() {
            machine.run(0);
        }
        let left = take != Action::Bind; // it may not move what Linux uses
        assert_eq!(world.memory.left_to_linux() == 1, left, "{take:?}");
        assert_eq!(world.cpus[1].tlb.frame(address >> 12), (!left).then_some(frame), "{take:?}");
        machine.end();
    }
}
