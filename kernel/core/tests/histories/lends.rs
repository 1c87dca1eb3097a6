// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls that a device executes, exactly: nobody gets a frame that the device has, and no thread leaves before.

use crate::machine::Machine;
use crate::program::Action;
use crate::world::World;
use tacet_core::{Common, Permits, Place, Recall};
use tacet_pico::{Forward, Look};

const ALL: u32 = Permits::CALLS.0 | Permits::MEMORY.0 | Permits::STAYS.0;
pub const BUFFER: Action = Action::Map { pages: 8, populate: true };
pub const READ: Action = Action::Transfer { writes: false };
pub const WRITE: Action = Action::Transfer { writes: true };

pub fn world(programs: &[&[Action]]) -> World {
    let programs: Vec<_> = programs.iter().map(|program| (0, ALL, program.to_vec())).collect();
    World::new(Box::new(Common::new()), programs.len(), programs)
}

/// Each thread on the CPU of its number; the first one's call is with the device.
pub fn begin(world: &World) -> Machine<'_> {
    let mut machine = Machine::new(world);
    world.numbers().for_each(|number| machine.linux.post(number, number as usize));
    while machine.linux.ring(0) {}
    for _ in 0..2000 {
        if world.cpus[0].device.is_at_work() {
            return machine;
        }
        machine.run(0);
    }
    panic!("the device gets nothing");
}

pub fn run(machine: &mut Machine<'_>, cpu: usize) {
    (0..300).for_each(|_| machine.run(cpu));
}

#[test]
fn a_transfer_has_its_result() {
    for call in [READ, WRITE] {
        let world = world(&[&[BUFFER, call, Action::GetPid]]);
        let mut machine = begin(&world);
        run(&mut machine, 0);
        assert!(world.thread(0).calls.get(), "the device is not done");
        world.cpus[0].device.finish(Look::Done);
        run(&mut machine, 0);
        assert_eq!(world.thread(0).posted.get(), Some(0), "it stays on the CPU");
        assert_eq!(world.thread(0).transferred.get(), 8 * 4096);
        machine.end();
    }
}

/// A device that takes only a part at a time gets the next one when it is done; after each the call may fail.
#[test]
fn a_long_transfer_comes_in_portions() {
    let outcomes = [(Look::Done, 16 * 4096), (Look::Forward(Forward::Status), 0)];
    for (outcome, transferred) in outcomes {
        let world = world(&[&[Action::Map { pages: 16, populate: true }, READ]]);
        let mut machine = begin(&world);
        world.cpus[0].device.finish(Look::Done);
        run(&mut machine, 0);
        assert!(world.thread(0).calls.get() && world.cpus[0].device.is_at_work());
        world.cpus[0].device.finish(outcome);
        run(&mut machine, 0);
        assert_eq!((world.thread(0).transferred.get(), world.cpus[0].device.portions.get()), (transferred, 2));
        machine.end();
    }
}

/// A call without an offset moves the file's position when it has ended, and not if the device fails or Linux has it.
#[test]
fn a_read_moves_the_position() {
    let outcomes = [(Some(4096), Look::Done, Some(9 * 4096)), (Some(4096), Look::Forward(Forward::Status), Some(4096))];
    for (position, outcome, moved) in outcomes {
        let world = world(&[&[BUFFER, Action::Read]]);
        world.cpus[0].device.position.set(position);
        let mut machine = begin(&world);
        world.cpus[0].device.finish(outcome);
        run(&mut machine, 0);
        assert_eq!(world.cpus[0].device.position.get(), moved);
        machine.end();
    }
    let world = world(&[&[BUFFER, Action::Read]]);
    let mut machine = Machine::new(&world);
    machine.linux.post(0, 0);
    while machine.linux.ring(0) {}
    run(&mut machine, 0);
    assert_eq!((world.thread(0).posted.get(), world.cpus[0].device.portions.get()), (None, 0));
    machine.end();
}

#[test]
fn a_killed_thread_gets_no_more_portions() {
    let world = world(&[&[Action::Map { pages: 16, populate: true }, READ]]);
    let mut machine = begin(&world);
    machine.linux.kill(0);
    while machine.linux.ring(0) {}
    world.cpus[0].device.finish(Look::Done);
    run(&mut machine, 0);
    assert_eq!((world.thread(0).posted.get(), world.cpus[0].device.portions.get()), (None, 1));
    machine.end();
}

#[test]
fn a_device_that_fails_leaves_the_call_to_linux() {
    for reason in [Forward::Status, Forward::Loss] {
        let world = world(&[&[BUFFER, READ]]);
        let mut machine = begin(&world);
        world.cpus[0].device.finish(Look::Forward(reason));
        run(&mut machine, 0);
        assert_eq!((world.thread(0).posted.get(), world.thread(0).calls.get()), (None, true));
        machine.end();
    }
}

#[test]
fn a_page_without_a_frame_leaves_the_call_to_linux() {
    let world = world(&[&[Action::Map { pages: 8, populate: false }, READ]]);
    let mut machine = Machine::new(&world);
    machine.linux.post(0, 0);
    while machine.linux.ring(0) {}
    run(&mut machine, 0);
    assert_eq!((world.thread(0).posted.get(), world.thread(0).calls.get()), (None, true));
    machine.end();
}

/// Even if it is killed: the frames would be used again.
#[test]
fn a_thread_stays_while_the_device_has_its_memory() {
    for killed in [false, true] {
        let world = world(&[&[BUFFER, READ]]);
        let mut machine = begin(&world);
        if killed {
            machine.linux.kill(0)
        } else {
            machine.linux.recall(0, Recall::Always)
        }
        machine.linux.ask(0);
        while machine.linux.ring(0) {}
        run(&mut machine, 0);
        assert!(world.thread(0).posted.get().is_some(), "killed: {killed}");
        assert!(!world.cpus[0].asked.get(), "the CPU does not answer meanwhile");
        world.cpus[0].device.finish(Look::Done);
        run(&mut machine, 0);
        assert_eq!(world.thread(0).posted.get(), None);
        machine.end();
    }
}

/// Whatever takes its frame away from a page waits for the device; and for nothing else.
#[test]
fn whoever_takes_lent_memory_away_waits() {
    let takes = [11, 28, 10, 25, 9, 237].map(|number| Action::AboutOther { number });
    for take in takes {
        let world = world(&[&[BUFFER, READ], &[Action::Compute, take]]);
        let mut machine = begin(&world);
        run(&mut machine, 1);
        assert!(world.thread(1).calls.get() && world.thread(1).posted.get().is_some(), "{take:?} does not wait");
        world.cpus[0].device.finish(Look::Done);
        run(&mut machine, 0);
        run(&mut machine, 1);
        assert!(!world.thread(1).calls.get(), "{take:?} waits for ever");
        assert_eq!(world.thread(0).transferred.get(), 8 * 4096);
        machine.end();
    }
}

#[test]
fn a_killed_thread_does_not_wait_for_lent_memory() {
    let world = world(&[&[BUFFER, READ], &[Action::AboutOther { number: 11 }]]);
    let mut machine = begin(&world);
    run(&mut machine, 1);
    machine.linux.kill(1);
    while machine.linux.ring(0) {}
    run(&mut machine, 1);
    assert_eq!(world.thread(1).posted.get(), None);
    world.cpus[0].device.finish(Look::Done);
    machine.end();
}

#[test]
fn memory_beside_what_is_lent_is_free() {
    let other = [BUFFER, Action::Unmap, BUFFER, Action::Discard];
    let world = world(&[&[BUFFER, READ], &other]);
    let mut machine = begin(&world);
    (0..10).for_each(|_| run(&mut machine, 1));
    assert!(world.thread(1).at.get() > other.len() && !world.thread(1).calls.get());
    world.cpus[0].device.finish(Look::Done);
    machine.end();
}

#[test]
fn a_device_that_takes_too_long_is_complained_of_once() {
    let world = world(&[&[BUFFER, READ]]);
    let mut machine = begin(&world);
    run(&mut machine, 0);
    assert_eq!(world.cpus[0].device.complaints.get(), 0);
    world.now.set(world.now.get() + 31_000_000_000);
    (0..3).for_each(|_| run(&mut machine, 0));
    assert_eq!((world.cpus[0].device.complaints.get(), world.thread(0).calls.get()), (1, true));
    world.cpus[0].device.finish(Look::Forward(Forward::Loss));
    machine.end();
}

/// All threads on one CPU.
pub fn together(world: &World) -> Machine<'_> {
    let mut machine = Machine::new(world);
    world.numbers().for_each(|number| machine.linux.post(number, 0));
    while machine.linux.ring(0) {}
    run(&mut machine, 0);
    machine
}

/// Of whoever has the CPU.
pub fn end_turn(machine: &mut Machine<'_>) {
    let world = machine.world;
    let running = world.numbers().find(|&number| world.place(number) == Place::Running);
    running.into_iter().for_each(|number| machine.linux.recall(number, Recall::Turn));
    while machine.linux.ring(0) {}
    run(machine, 0);
}

pub fn on_one_cpu(programs: &[&[Action]]) -> World {
    World::new(Box::new(Common::new()), 1, programs.iter().map(|program| (0, ALL, program.to_vec())).collect())
}

/// With others in the queue the CPU is theirs while the device is at work; afterwards it is the thread's again when they
/// leave, or when their turn ends.
#[test]
fn others_run_while_a_device_is_at_work() {
    let world = on_one_cpu(&[&[BUFFER, READ, Action::GetPid], &[]]);
    let mut machine = together(&world);
    assert_eq!((world.place(0), world.place(1)), (Place::WaitsForDevice, Place::Running));
    world.cpus[0].device.finish(Look::Done);
    run(&mut machine, 0);
    assert_eq!(world.place(0), Place::WaitsForDevice, "nothing interrupts a thread that computes");
    end_turn(&mut machine);
    assert_eq!((world.thread(0).transferred.get(), world.place(0)), (8 * 4096, Place::Running));
    machine.end();
}

#[test]
fn calls_of_several_threads_are_in_flight_in_any_order() {
    let world = on_one_cpu(&[&[BUFFER, READ], &[BUFFER, WRITE], &[BUFFER, READ]]);
    let mut machine = together(&world);
    let device = &world.cpus[0].device;
    assert_eq!(device.most.get(), 3);
    for (nth, thread) in [(1, 1), (1, 2), (0, 0)] {
        device.finish_nth(nth, Look::Done);
        end_turn(&mut machine);
        assert_eq!(world.thread(thread).transferred.get(), 8 * 4096, "thread {thread}");
    }
    machine.end();
}

/// It has as many calls as it takes: one more waits until one of them is over.
#[test]
fn a_call_waits_for_a_device_that_is_busy() {
    let world = on_one_cpu(&[&[BUFFER, READ], &[BUFFER, READ], &[BUFFER, READ], &[BUFFER, READ], &[BUFFER, READ]]);
    let mut machine = together(&world);
    let device = &world.cpus[0].device;
    assert_eq!(device.portions.get(), 3);
    (0..5).for_each(|_| {
        device.finish(Look::Done);
        end_turn(&mut machine);
    });
    assert!(world.threads.iter().all(|thread| thread.transferred.get() == 8 * 4096));
    machine.end();
}

#[test]
fn a_waiting_thread_gets_its_next_portions_and_its_failure() {
    let long = [Action::Map { pages: 16, populate: true }, READ];
    for (outcome, transferred) in [(Look::Done, 16 * 4096), (Look::Forward(Forward::Loss), 0)] {
        let world = on_one_cpu(&[&long, &[BUFFER, READ]]);
        let mut machine = together(&world);
        let device = &world.cpus[0].device;
        device.finish(Look::Done);
        run(&mut machine, 0);
        assert_eq!((device.portions.get(), world.place(0)), (3, Place::WaitsForDevice));
        device.finish_nth(1, outcome);
        run(&mut machine, 0);
        assert_eq!(world.thread(0).transferred.get(), transferred);
        assert_eq!(world.thread(0).posted.get().is_some(), outcome == Look::Done, "Linux executes what has failed");
        machine.end();
    }
}

/// Also if it waits, and another thread of the same CPU takes its memory away.
#[test]
fn a_waiting_thread_stays_while_the_device_has_its_memory() {
    let world = on_one_cpu(&[&[BUFFER, READ], &[Action::AboutOther { number: 11 }]]);
    let mut machine = together(&world);
    machine.linux.kill(0);
    while machine.linux.ring(0) {}
    run(&mut machine, 0);
    assert_eq!(world.place(0), Place::WaitsForDevice);
    assert!(world.thread(1).calls.get() && world.thread(1).posted.get().is_some(), "it does not wait");
    world.cpus[0].device.finish(Look::Done);
    run(&mut machine, 0);
    assert_eq!((world.thread(0).posted.get(), world.thread(1).calls.get()), (None, false));
    machine.end();
}

#[test]
fn a_device_that_a_waiting_thread_waits_for_too_long_is_complained_of_once() {
    let world = on_one_cpu(&[&[BUFFER, READ], &[BUFFER, READ]]);
    let mut machine = together(&world);
    world.now.set(world.now.get() + 31_000_000_000);
    (0..3).for_each(|_| run(&mut machine, 0));
    assert_eq!(world.cpus[0].device.complaints.get(), 2, "by each call");
    machine.end();
}
