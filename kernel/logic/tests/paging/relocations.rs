// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages that go where a policy wants them, with all that is in them.

use proptest::prelude::*;
use tacet_logic::paging::{Attributes, Entry, Memory, PIECE_PAGES, Placement, Protection, Span};

use crate::histories::{Failures, World, operations};
use crate::machine::{Failing, Machine};
use crate::operation::{Operation, frame_of};

const EAGER: Attributes =
    Attributes { protection: Protection::READ_WRITE, policy: 0, eager: true, small: false, undumped: false };

fn span(first: u32, pages: u32) -> Span {
    Span::new(first, pages).unwrap()
}

/// Pages of `at` that are not where they should be.
fn misplaced(machine: &Machine, root: u64, at: Span) -> u32 {
    let views = machine.walk(root).0.into_iter().filter(|view| view.first >= at.first() && view.end() <= at.end());
    let wrong = views.filter(|view| match view.entry {
        Entry::Leaf(leaf) => {
            let placement = Placement { page: view.first, policy: leaf.attributes.policy };
            !machine.suits(leaf.frame, view.size.order(), placement)
        }
        _ => false,
    });
    wrong.map(|view| view.size.pages()).sum()
}

/// Moves, with allocations that fail as said; everything must be there afterwards. How many pages stayed.
fn relocate(world: &mut World, at: Span, failing: Failing) -> u32 {
    let before = misplaced(&world.machine, world.root, at);
    (world.machine.failing, world.machine.allocations, world.machine.refused) = (failing, 0, 0);
    let (mut retired, mut flushes) = (Vec::new(), 0);
    let stayed = world.machine.space(world.root).relocate(at, || flushes += 1, |old| retired.push(old));
    world.machine.failing = Failing::None;
    assert!(flushes == u32::from(before != 0) || stayed == before && flushes == 0);
    assert!(retired.iter().all(|old| !old.mirrored));
    assert!(retired.iter().all(|old| !world.machine.is_held(old.frame, old.order)), "a device may write there");
    assert_eq!(retired.iter().map(|old| 1 << old.order).sum::<u32>(), before - stayed);
    world.machine.release(&retired);
    world.machine.check(&[world.root]);
    world.model.check(&world.machine, world.root);
    assert_eq!(misplaced(&world.machine, world.root, at), stayed);
    stayed
}

#[test]
fn a_large_page_goes_in_parts_where_there_is_no_large_one() {
    for n in 0..40 {
        for failing in [Failing::One(n), Failing::From(n), Failing::None] {
            let mut world = World::new(false);
            assert!(world.step(&Operation::Map(span(0, 1024), EAGER), Failures::None));
            assert!(world.step(&Operation::Write(5, 1), Failures::None));
            assert!(world.step(&Operation::Write(700, 2), Failures::None));
            // Node 1 has three runs of 2 MiB; one is left, and single pages.
            let other = Attributes { policy: 1, ..EAGER };
            assert!(world.step(&Operation::Map(span(4096, 1024), other), Failures::None));
            assert!(world.step(&Operation::Advise(span(0, 1024), 1, false), Failures::None));
            let stayed = relocate(&mut world, span(0, 1024), failing);
            if failing == Failing::None {
                let room = world.machine.allowed_frames(1);
                assert!(stayed == 0 || room == 0, "{stayed} stayed, {room} are free");
                assert_eq!(relocate(&mut world, span(0, 1024), failing), stayed);
            }
        }
    }
}

/// A page of 1 GiB goes where at most 2 MiB, or only 4 KiB, are free in a run: two tables for one page that moves, and
/// either may be missing.
#[test]
fn a_gigabyte_page_goes_in_parts_whatever_fails() {
    let whole = span(PIECE_PAGES, PIECE_PAGES);
    for taken in [0, 1900] {
        let mut world = World::new(true);
        assert!(world.step(&Operation::Map(whole, EAGER), Failures::None));
        for (page, value) in [(0, 1), (511, 2), (512, 3), (1025, 4), (PIECE_PAGES - 1, 5)] {
            assert!(world.step(&Operation::Write(PIECE_PAGES + page, value), Failures::None));
        }
        // The frames of node 1 that somebody else has.
        if let Some(others) = Span::new(0, taken) {
            assert!(world.step(&Operation::Map(others, Attributes { policy: 1, ..EAGER }), Failures::None));
        }
        assert!(world.step(&Operation::Advise(whole, 1, false), Failures::None));
        let mut dry = world.picture();
        relocate(&mut dry, whole, Failing::None);
        let count = dry.machine.allocations;
        for n in (0..count).filter(|&n| n < 8 || n % 499 == 0 || n + 2 >= count) {
            for failing in [Failing::One(n), Failing::From(n)] {
                relocate(&mut world.picture(), whole, failing);
            }
        }
        assert_eq!(dry.machine.allowed_frames(1), 0);
    }
}

#[test]
fn what_the_host_still_uses_stays() {
    for (held, stays) in [(vec![700], 512), (vec![700, 1030], 513), (vec![0, 700, 1030], 1025), (vec![1031], 1)] {
        let mut world = World::new(false);
        assert!(world.step(&Operation::Map(span(0, 1200), EAGER), Failures::None));
        for (value, &page) in (1..).zip(&held) {
            assert!(world.step(&Operation::Write(page, value), Failures::None));
            let frame = frame_of(&mut world.machine, world.root, page).unwrap();
            world.machine.held.insert(frame);
        }
        assert!(world.step(&Operation::Advise(span(0, 1200), 1, false), Failures::None));
        assert_eq!(relocate(&mut world, span(0, 1200), Failing::None), stays);
        // When the host has let go of them they may move.
        world.machine.held.clear();
        assert_eq!(relocate(&mut world, span(0, 1200), Failing::None), 0);
    }
}

#[test]
fn the_edges_of_what_moves_are_cut_first() {
    let mut world = World::new(false);
    assert!(world.step(&Operation::Map(span(0, 1024), EAGER), Failures::None));
    assert!(world.step(&Operation::Write(99, 1), Failures::None));
    assert!(world.step(&Operation::Write(100, 2), Failures::None));
    assert!(world.step(&Operation::Advise(span(100, 500), 1, false), Failures::None));
    assert_eq!(relocate(&mut world, span(100, 500), Failing::None), 0);
    assert_eq!(misplaced(&world.machine, world.root, span(0, 1024)), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn whatever_moves_keeps_its_content(
        history in prop::collection::vec(operations(vec![1, 2, 100, 512, 513, 1024]), 1..15),
        policy in 0..3u8, first in 0..1200u32, pages in 1..1500u32, failing in 0..40usize, all in any::<bool>(),
    ) {
        let mut world = World::new(false);
        assert!(world.step(&Operation::Map(span(0, 1200), EAGER), Failures::None));
        for operation in history.iter().filter(|operation| !matches!(operation, Operation::Mirror(_))) {
            world.step(operation, Failures::None);
        }
        let at = span(first, pages);
        if world.step(&Operation::Advise(at, policy, false), Failures::None) {
            relocate(&mut world, at, if all { Failing::None } else { Failing::From(failing) });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn whatever_is_left_of_a_gigabyte_page_moves(
        history in prop::collection::vec(operations(vec![1, 100, 513, PIECE_PAGES - 512]), 0..8),
        policy in 1..3u8, first in 0..2000u32, less in 0..3000u32, failing in 0..1500usize, all in any::<bool>(),
    ) {
        let mut world = World::new(true);
        assert!(world.step(&Operation::Map(span(PIECE_PAGES, PIECE_PAGES), EAGER), Failures::None));
        for operation in history.iter().filter(|operation| !matches!(operation, Operation::Mirror(_))) {
            world.step(operation, Failures::None);
        }
        let at = span(PIECE_PAGES + first, PIECE_PAGES - first - less);
        if world.step(&Operation::Advise(at, policy, false), Failures::None) {
            relocate(&mut world, at, if all { Failing::None } else { Failing::From(failing) });
        }
    }
}
