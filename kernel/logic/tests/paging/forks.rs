// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of a child: equal to its parent's, and its own.

use proptest::prelude::*;
use tacet_logic::paging::{Attributes, Error, PIECE_PAGES, Protection, Span, Tables};

use crate::histories::{Failures, World, operations};
use crate::machine::{Failing, Machine};
use crate::model::Model;
use crate::operation::Operation;

/// Every so many entries a long operation is interrupted, and continued later.
const PORTION: u32 = 3;

fn every_third() -> impl FnMut() -> bool {
    let mut entries = 0;
    move || {
        entries += 1;
        entries % PORTION == 0
    }
}

/// Unmaps all of the child's, and gives it back.
fn empty(machine: &mut Machine, child: u64) {
    let (mut at, mut pause, mut retired) = (Some(0), every_third(), Vec::new());
    while let Some(from) = at {
        at = machine.space(child).clear(from, |old| retired.push(old), |_| pause());
        assert!(at.is_none_or(|at| at > from));
    }
    assert!(machine.walk(child).0.is_empty());
    assert!(retired.iter().all(|old| !old.mirrored));
    machine.release(&retired);
}

/// What the child must see: the same, but nothing that Linux maps yet.
fn inherited(model: &Model) -> Model {
    let mut child = model.clone();
    child.each(Span::ALL, |page| page.mirrored = false);
    child
}

fn fork(machine: &mut Machine, parent: u64, failing: Failing) -> (u64, Result<(), Error>) {
    let child = machine.root();
    (machine.failing, machine.allocations, machine.refused) = (failing, 0, 0);
    let (mut at, mut pause) = (Some(0), every_third());
    let mut result = Ok(());
    while let Some(from) = at {
        at = match machine.space(parent).copy_to(child, from, |_| pause()) {
            Ok(next) => next,
            Err(error) => {
                result = Err(error);
                None
            }
        };
    }
    machine.failing = Failing::None;
    (child, result)
}

/// Forks with every failure, then without one, and looks at both.
fn check_fork(world: &mut World) {
    let mut dry = world.machine.picture();
    let _ = fork(&mut dry, world.root, Failing::None);
    for n in (0..dry.allocations).filter(|&n| n < 12 || n + 3 >= dry.allocations) {
        for failing in [Failing::One(n), Failing::From(n)] {
            let mut machine = world.machine.picture();
            let (child, result) = fork(&mut machine, world.root, failing);
            machine.check(&[world.root, child]);
            world.model.check(&machine, world.root);
            match result {
                Ok(()) => inherited(&world.model).check(&machine, child),
                Err(_) => {
                    empty(&mut machine, child);
                    assert_eq!(machine.free_frames(), world.machine.free_frames());
                    assert_eq!(machine.tables(), world.machine.tables() + 1);
                }
            }
        }
    }
    let before = world.machine.free_frames();
    let (child, result) = fork(&mut world.machine, world.root, Failing::None);
    world.machine.check(&[world.root, child]);
    world.model.check(&world.machine, world.root);
    if result == Ok(()) {
        inherited(&world.model).check(&world.machine, child);
    }
    empty(&mut world.machine, child);
    world.machine.free_table(child);
    assert_eq!(world.machine.free_frames(), before);
}

#[test]
fn a_gigabyte_page_is_copied_into_smaller_ones() {
    // One aligned gigabyte is all there is: what is left of it after 2 MiB pages is not enough for a second.
    let mut world = World::new(true);
    let at = |first, pages| Span::new(first, pages).unwrap();
    let attributes =
        Attributes { protection: Protection::READ_WRITE, policy: 2, eager: true, small: false, undumped: false };
    assert!(world.step(&Operation::Map(at(PIECE_PAGES + 512, 512), attributes), Failures::All));
    assert!(world.step(&Operation::Write(PIECE_PAGES + 1000, 42), Failures::All));
    assert!(world.step(&Operation::Mirror(PIECE_PAGES + 1000), Failures::All));
    assert!(world.step(&Operation::Map(at(0, PIECE_PAGES), Attributes { eager: false, ..attributes }), Failures::All));
    check_fork(&mut world);
    assert!(world.step(&Operation::Populate(at(0, PIECE_PAGES)), Failures::None));
    // Two gigabytes there are not.
    let (child, result) = fork(&mut world.machine, world.root, Failing::None);
    assert_eq!(result, Err(Error::NoFrame));
    empty(&mut world.machine, child);
    world.machine.check(&[world.root, child]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn a_child_is_equal_and_apart(history in prop::collection::vec(operations(vec![1, 2, 100, 512, 513, 1024]), 1..15)) {
        let mut world = World::new(false);
        for operation in &history {
            world.step(operation, Failures::None);
        }
        check_fork(&mut world);
    }
}
