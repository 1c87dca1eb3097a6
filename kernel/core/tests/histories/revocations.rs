// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Grants that Linux revokes while a device executes a call: the device gets nothing more, and a program learns that it has
//! written when Linux has forgotten what it knew of the blocks.

use crate::lends::{BUFFER, READ, WRITE, begin, end_turn, on_one_cpu, run, together, world};
use crate::program::Action;
use tacet_core::Place;
use tacet_pico::{Forward, Look, Standing};

const LONG: Action = Action::Map { pages: 16, populate: true };
const PORTION: u64 = 8 * 4096;
const IO_ERROR: u64 = -5_i64 as u64;

/// Linux executes the whole call: its descriptor means the same.
#[test]
fn the_rest_of_a_revoked_call_is_linuxs() {
    for call in [READ, WRITE] {
        let world = world(&[&[LONG, call]]);
        let mut machine = begin(&world);
        world.cpus[0].device.revoke(Standing::Revoked);
        world.cpus[0].device.finish(Look::Done);
        run(&mut machine, 0);
        assert_eq!((world.cpus[0].device.portions.get(), world.thread(0).posted.get()), (1, None));
        assert!(!world.cpus[0].device.is_used());
        machine.end();
    }
}

/// The descriptor may mean another file by now, so the call must not begin again.
#[test]
fn a_call_on_an_ended_descriptor_is_short() {
    for call in [READ, WRITE] {
        let world = world(&[&[LONG, call, Action::GetPid]]);
        let mut machine = begin(&world);
        world.cpus[0].device.revoke(Standing::Ended);
        world.cpus[0].device.finish(Look::Done);
        run(&mut machine, 0);
        world.cpus[0].device.settle();
        run(&mut machine, 0);
        assert_eq!((world.cpus[0].device.portions.get(), world.thread(0).posted.get()), (1, Some(0)));
        assert_eq!(world.thread(0).transferred.get(), PORTION);
        machine.end();
    }
}

#[test]
fn a_call_on_an_ended_descriptor_fails_alone() {
    for reason in [Forward::Status, Forward::Loss] {
        let world = world(&[&[BUFFER, WRITE, Action::GetPid]]);
        let mut machine = begin(&world);
        world.cpus[0].device.revoke(Standing::Ended);
        world.cpus[0].device.finish(Look::Forward(reason));
        run(&mut machine, 0);
        world.cpus[0].device.settle();
        run(&mut machine, 0);
        assert_eq!((world.thread(0).posted.get(), world.thread(0).transferred.get()), (Some(0), IO_ERROR));
        machine.end();
    }
}

/// A page of Linux's cache may have been read before the device was done.
#[test]
fn a_write_ends_when_linux_has_forgotten_the_blocks() {
    for standing in [Standing::Revoked, Standing::Ended] {
        let world = world(&[&[BUFFER, WRITE, Action::GetPid]]);
        let mut machine = begin(&world);
        world.cpus[0].device.revoke(standing);
        world.cpus[0].device.finish(Look::Done);
        run(&mut machine, 0);
        assert!(!world.cpus[0].device.is_used(), "Linux waits until nobody uses the grant");
        assert!(world.thread(0).calls.get(), "the program knows too early that it has written");
        world.cpus[0].device.settle();
        run(&mut machine, 0);
        assert_eq!((world.thread(0).transferred.get(), world.thread(0).posted.get()), (PORTION, Some(0)));
        machine.end();
    }
}

#[test]
fn a_read_does_not_wait_for_linux() {
    let world = world(&[&[BUFFER, READ, Action::GetPid]]);
    let mut machine = begin(&world);
    world.cpus[0].device.revoke(Standing::Revoked);
    world.cpus[0].device.finish(Look::Done);
    run(&mut machine, 0);
    assert_eq!(world.thread(0).transferred.get(), PORTION);
    machine.end();
}

/// It has the device's data already, and nobody waits for its result.
#[test]
fn a_killed_thread_does_not_wait_for_linux() {
    let world = world(&[&[BUFFER, WRITE]]);
    let mut machine = begin(&world);
    world.cpus[0].device.revoke(Standing::Revoked);
    world.cpus[0].device.finish(Look::Done);
    run(&mut machine, 0);
    machine.linux.kill(0);
    while machine.linux.ring(0) {}
    run(&mut machine, 0);
    assert_eq!(world.thread(0).posted.get(), None);
    machine.end();
}

/// The same of threads that share a CPU: the CPU looks aside.
#[test]
fn a_waiting_thread_waits_for_linux_too() {
    let world = on_one_cpu(&[&[BUFFER, WRITE, Action::GetPid], &[]]);
    let mut machine = together(&world);
    assert_eq!(world.place(0), Place::WaitsForDevice);
    world.cpus[0].device.revoke(Standing::Revoked);
    world.cpus[0].device.finish(Look::Done);
    end_turn(&mut machine);
    assert!(world.place(0) == Place::WaitsForDevice && !world.cpus[0].device.is_used());
    world.cpus[0].device.settle();
    end_turn(&mut machine);
    assert_eq!(world.thread(0).transferred.get(), PORTION);
    machine.end();
}
