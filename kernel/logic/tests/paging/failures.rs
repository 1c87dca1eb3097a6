// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every failure point of chosen operations, none left out, and every short history over a few pages.

use tacet_logic::paging::{Attributes, PIECE_PAGES, PageSize, Protection, Span};

use crate::histories::{Failures, World};
use crate::machine::{Failing, Machine};
use crate::operation::Operation;

const EAGER: Attributes =
    Attributes { protection: Protection::READ_WRITE, policy: 0, eager: true, small: false, undumped: false };
const LAZY: Attributes = Attributes { eager: false, ..EAGER };

fn span(first: u32, pages: u32) -> Span {
    Span::new(first, pages).unwrap()
}

fn all_must_succeed(gigabyte: bool, history: &[Operation]) {
    let mut world = World::new(gigabyte);
    for operation in history {
        assert!(world.step(operation, Failures::All), "{operation:?}");
    }
    assert!(world.step(&Operation::Unmap(Span::ALL), Failures::All));
}

#[test]
fn edges_within_a_gigabyte_page() {
    let pages = PIECE_PAGES;
    let history = [
        Operation::Map(span(pages, pages), EAGER),
        Operation::Write(pages + 5, 1),
        Operation::Mirror(pages),
        // Both edges in one 2 MiB part, then in two, then at the borders of one.
        Operation::Protect(span(pages + 3, 7), Protection::READ),
        Operation::Unmap(span(pages + 513, 2048)),
        Operation::Discard(span(pages + 8192, 1024)),
        Operation::Shift(span(pages + 2 * 8192, 700), 77),
        Operation::Protect(span(pages + 8000, 300), Protection::NONE),
    ];
    all_must_succeed(true, &history);
}

#[test]
fn a_gigabyte_page_moves_whole_or_in_parts() {
    let pages = PIECE_PAGES;
    let history = [
        Operation::Map(span(0, pages), EAGER),
        Operation::Write(5, 1),
        Operation::Mirror(5),
        Operation::Shift(span(0, pages), 4 * pages),
        Operation::Write(4 * pages + 513, 2),
        Operation::Shift(span(4 * pages, pages), 8 * pages + 512),
        Operation::Shift(span(8 * pages + 512, 1536), 1),
    ];
    all_must_succeed(true, &history);
}

#[test]
fn a_mapping_moves_next_to_itself() {
    // Its first and its last part, old and new, are below one table, which is empty for a moment.
    for attributes in [EAGER, LAZY] {
        for (from, to) in [(514, 0), (1, 515), (512 + 700, 512 + 186)] {
            let history = [
                Operation::Map(span(from, 514), attributes),
                Operation::Write(from + 1, 1),
                Operation::Write(from + 513, 2),
                Operation::Shift(span(from, 514), to),
                Operation::Map(span(from, 3), EAGER),
                Operation::Unmap(span(from, 3)),
                Operation::Shift(span(to, 514), from),
            ];
            all_must_succeed(false, &history);
        }
    }
}

#[test]
fn what_is_to_be_executed_is_divided_first() {
    let history = [
        Operation::Map(span(512, 512), EAGER),
        Operation::Reserve(span(1024, 512), LAZY),
        Operation::Protect(span(515, 511), Protection::READ_EXECUTE),
        Operation::Protect(span(1024, 512), Protection::ALL),
    ];
    all_must_succeed(false, &history);
}

#[test]
fn populating_falls_back_to_smaller_pages() {
    let history = [
        Operation::Reserve(span(500, 600), LAZY),
        Operation::Fault(700, Protection::READ, PageSize::Gib1),
        Operation::Populate(span(500, 600)),
        Operation::Reserve(span(PIECE_PAGES - 3, 6), LAZY),
        Operation::Populate(span(PIECE_PAGES - 2, 4)),
        Operation::Grow(span(PIECE_PAGES, 3), 20),
        Operation::Map(span(2048, 100), Attributes { protection: Protection::NONE, ..EAGER }),
        Operation::Protect(span(2050, 60), Protection::READ_WRITE),
    ];
    all_must_succeed(false, &history);
}

#[test]
fn a_reservation_of_any_size_moves_and_is_cut() {
    let history = [
        Operation::Reserve(span(PIECE_PAGES - 1000, PIECE_PAGES + 2000), LAZY),
        Operation::Protect(span(PIECE_PAGES + 77, 9_000), Protection::READ),
        Operation::Protect(span(PIECE_PAGES + 77, 9_000), Protection::READ_WRITE),
        Operation::Shift(span(PIECE_PAGES + 3, 1600), 20 * PIECE_PAGES + 1),
        Operation::Unmap(span(PIECE_PAGES - 1, 2)),
        Operation::Discard(span(0, 5 * PIECE_PAGES)),
        Operation::Unmap(span(2 * PIECE_PAGES - 512, 600)),
        Operation::Reserve(span(4 * PIECE_PAGES, PIECE_PAGES), Attributes { small: true, ..LAZY }),
        // Two tables for one small page.
        Operation::Fault(4 * PIECE_PAGES + 700, Protection::READ, PageSize::Gib1),
    ];
    all_must_succeed(false, &history);
}

/// A first touch that runs out of memory, at whatever allocation, interrupts no CPU: no table leaves the tree.
#[test]
fn a_first_touch_that_fails_takes_no_table_away() {
    let small = Attributes { small: true, ..LAZY };
    for failing in 0..3 {
        let mut machine = Machine::new(false);
        let root = machine.root();
        machine.space(root).reserve(span(4 * PIECE_PAGES, PIECE_PAGES), small).unwrap();
        let tables = machine.tables();
        (machine.failing, machine.allocations) = (Failing::From(failing), 0);
        let touched = machine.space(root).fault(4 * PIECE_PAGES + 700, Protection::READ, PageSize::Mib2);
        assert!(touched.is_err(), "allocation {failing}: {touched:?}");
        assert_eq!((machine.tables_taken, machine.tables()), (0, tables), "allocation {failing}");
        machine.check(&[root]);
    }
}

#[test]
fn linux_keeps_what_it_has_unless_a_right_is_lost() {
    let history = [
        Operation::Map(span(0, 1024), Attributes { protection: Protection::READ, ..EAGER }),
        Operation::Mirror(5),
        Operation::Mirror(600),
        // More rights, on a part of a large page: still mirrored, so still reported when it goes.
        Operation::Protect(span(3, 7), Protection::READ_WRITE),
        Operation::Protect(span(3, 7), Protection::READ),
        Operation::Protect(span(512, 512), Protection::NONE),
        Operation::Advise(span(0, 100), 1, true),
        Operation::Unmap(span(0, 600)),
    ];
    all_must_succeed(false, &history);
}

#[test]
fn every_short_history_agrees_with_the_model() {
    // Four pages around the border of two tables; every sequence of three of these operations.
    let spans = [span(511, 1), span(510, 4), span(512, 2)];
    let mut choices = Vec::new();
    for at in spans {
        choices.push(Operation::Map(at, EAGER));
        choices.push(Operation::Reserve(at, LAZY));
        choices.push(Operation::Populate(at));
        choices.push(Operation::Unmap(at));
        choices.push(Operation::Discard(at));
        choices.push(Operation::Protect(at, Protection::NONE));
        choices.push(Operation::Protect(at, Protection::READ_WRITE));
        choices.push(Operation::Shift(at, 1022));
    }
    choices.push(Operation::Write(512, 9));
    choices.push(Operation::Mirror(512));
    let length = 3;
    for history in 0..choices.len().pow(length) {
        let mut world = World::new(false);
        let mut rest = history;
        for _ in 0..length {
            world.step(&choices[rest % choices.len()], Failures::None);
            rest /= choices.len();
        }
    }
}
