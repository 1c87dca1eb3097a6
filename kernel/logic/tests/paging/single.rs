// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What operations promise beyond being right: sizes of pages, numbers of steps, precise errors.

use tacet_logic::paging::{
    Attributes, Entry, Error, Fault, PAGES, PIECE_PAGES, PageSize, Protection, Span, Survey, View,
};

use crate::machine::{Failing, Machine};
use crate::operation::mirror;

const EAGER: Attributes =
    Attributes { protection: Protection::READ_WRITE, policy: 0, eager: true, small: false, undumped: false };
const LAZY: Attributes = Attributes { eager: false, ..EAGER };

fn span(first: u32, pages: u32) -> Span {
    Span::new(first, pages).unwrap()
}

fn sizes(machine: &Machine, root: u64) -> Vec<(u32, PageSize)> {
    machine.walk(root).0.iter().map(|view: &View| (view.first, view.size)).collect()
}

#[test]
fn the_largest_page_that_fits_is_taken() {
    let mut machine = Machine::new(true);
    let root = machine.root();
    machine.space(root).map(span(0, PIECE_PAGES), EAGER).unwrap();
    machine.space(root).map(span(PIECE_PAGES + 512, 514), EAGER).unwrap();
    let second = PIECE_PAGES + 512;
    let expected =
        [(0, PageSize::Gib1), (second, PageSize::Mib2), (second + 512, PageSize::Kib4), (second + 513, PageSize::Kib4)];
    assert_eq!(sizes(&machine, root), expected);
    // No second gigabyte, and not enough 2 MiB runs.
    let error = machine.space(root).map(span(4 * PIECE_PAGES, PIECE_PAGES), EAGER);
    assert_eq!(error, Err(Error::NoFrame));
    assert_eq!(sizes(&machine, root), expected);
}

#[test]
fn taking_address_space_costs_the_same_whatever_its_size() {
    let mut machine = Machine::new(false);
    let root = machine.root();
    machine.allocations = 0;
    machine.space(root).reserve(span(3, PAGES - 7), LAZY).unwrap();
    // Two tables at each edge, one entry for each whole gigabyte.
    assert_eq!((machine.allocations, machine.tables()), (4, 5));
    assert_eq!(machine.walk(root).0.len(), 510 + 2 * (511 + 512) - 7);
    machine.space(root).clear(0, |_| panic!("nothing was populated"), |_| false);
    assert_eq!(machine.tables(), 1);
}

#[test]
fn no_table_is_had_in_vain() {
    let mut machine = Machine::new(false);
    let root = machine.root();
    let tables_for = |machine: &mut Machine, operation: &dyn Fn(&mut Machine)| {
        machine.allocations = 0;
        operation(machine);
        machine.allocations
    };
    let reserve = |at: Span| move |machine: &mut Machine| machine.space(root).reserve(at, LAZY).unwrap();
    let unmap = |at: Span| move |machine: &mut Machine| assert!(machine.space(root).unmap(at, |_| {}).is_ok());
    assert_eq!(tables_for(&mut machine, &reserve(span(3, 5))), 2);
    assert_eq!(tables_for(&mut machine, &reserve(span(8, 504))), 0);
    assert_eq!(tables_for(&mut machine, &reserve(span(PIECE_PAGES + 512, 1024))), 1);
    assert_eq!(tables_for(&mut machine, &unmap(span(PIECE_PAGES + 600, 7))), 1);
    assert_eq!(tables_for(&mut machine, &unmap(span(PIECE_PAGES + 1024, 512))), 0);
    assert_eq!(tables_for(&mut machine, &reserve(span(2 * PIECE_PAGES, PIECE_PAGES))), 0);
    // Both edges in one 2 MiB part of a gigabyte, in two, and at borders of one.
    assert_eq!(tables_for(&mut machine, &unmap(span(2 * PIECE_PAGES + 5, 7))), 2);
    assert_eq!(tables_for(&mut machine, &reserve(span(3 * PIECE_PAGES, PIECE_PAGES))), 0);
    assert_eq!(tables_for(&mut machine, &unmap(span(3 * PIECE_PAGES + 5, 700))), 3);
    assert_eq!(tables_for(&mut machine, &reserve(span(4 * PIECE_PAGES, PIECE_PAGES))), 0);
    assert_eq!(tables_for(&mut machine, &unmap(span(4 * PIECE_PAGES + 512, 512))), 1);
}

#[test]
fn refusal_costs_no_zeroing() {
    let mut machine = Machine::new(false);
    let root = machine.root();
    assert_eq!(machine.space(root).map(span(0, 4_000), EAGER), Err(Error::NoFrame));
    assert_eq!((machine.zeroed, machine.tables()), (0, 1));
}

#[test]
fn a_discarded_large_page_is_a_large_page_again() {
    let mut machine = Machine::new(false);
    let root = machine.root();
    let mut retired = Vec::new();
    machine.space(root).map(span(512, 512), EAGER).unwrap();
    let removed = machine.space(root).discard(span(600, 10), |old| retired.push(old)).unwrap();
    assert_eq!((removed.pages, removed.mirrored, retired.len()), (10, 0, 10));
    machine.space(root).discard(span(512, 512), |old| retired.push(old)).unwrap();
    assert_eq!(sizes(&machine, root), [(512, PageSize::Mib2)]);
    machine.release(&retired);
    let fault = machine.space(root).fault(777, Protection::READ, PageSize::Gib1);
    assert_eq!(fault, Ok(Fault::Populated(PageSize::Mib2)));
    assert_eq!(machine.space(root).fault(778, Protection::READ_WRITE, PageSize::Gib1), Ok(Fault::Already));
}

#[test]
fn a_move_that_also_grows_can_be_undone_without_memory() {
    // As the header of `paging` tells the handler of mremap: first what is new, then the move in front of it.
    let mut machine = Machine::new(false);
    let root = machine.root();
    machine.space(root).map(span(10, 700), EAGER).unwrap();
    let (before, tables) = (machine.walk(root).0, machine.tables());
    machine.space(root).map(span(PIECE_PAGES + 700, 30), EAGER).unwrap();
    machine.failing = Failing::From(0);
    assert_eq!(machine.space(root).shift(span(10, 700), PIECE_PAGES), Err(Error::NoTable));
    let mut retired = Vec::new();
    machine.space(root).unmap(span(PIECE_PAGES + 700, 30), |old| retired.push(old)).unwrap();
    machine.release(&retired);
    // the table of the new piece stays
    assert_eq!((machine.walk(root).0, machine.tables()), (before, tables + 1));
    machine.failing = Failing::None;
    machine.space(root).reserve(span(PIECE_PAGES, PIECE_PAGES), LAZY).unwrap();
    assert_eq!(machine.tables(), tables, "it is not in the way of a page of its size");
}

#[test]
fn errors_name_the_page() {
    let mut machine = Machine::new(false);
    let root = machine.root();
    let mut space = machine.space(root);
    space.map(span(10, 5), LAZY).unwrap();
    space.map(span(20, 5), Attributes { protection: Protection::READ, ..LAZY }).unwrap();
    assert_eq!(space.reserve(span(0, 11), LAZY), Err(Error::Occupied(10)));
    assert_eq!(space.populate(span(12, 10)), Err(Error::Unmapped(15)));
    assert_eq!(space.protect(span(12, 10), Protection::READ), Err(Error::Unmapped(15)));
    assert_eq!(space.grow(span(10, 5), 6), Err(Error::Occupied(20)));
    assert_eq!(space.grow(span(10, 6), 6), Err(Error::Unmapped(15)));
    assert_eq!(space.shift(span(10, 5), 12), Err(Error::Overlap));
    assert_eq!(space.shift(span(10, 5), 18), Err(Error::Occupied(20)));
    assert_eq!(space.shift(span(10, 5), PAGES - 4), Err(Error::Outside));
    assert_eq!(space.fault(9, Protection::READ, PageSize::Gib1), Err(Error::Unmapped(9)));
    assert_eq!(space.fault(21, Protection::READ_WRITE, PageSize::Gib1), Err(Error::NotAllowed(21)));
    assert_eq!(space.fault(PAGES, Protection::READ, PageSize::Gib1), Err(Error::Outside));
    assert_eq!((space.hole(span(10, 5)), space.hole(span(10, 6))), (None, Some(15)));
}

#[test]
fn a_survey_finds_frames_mirrors_and_the_first_hole() {
    let mut machine = Machine::new(false);
    let root = machine.root();
    machine.space(root).map(span(10, 600), LAZY).unwrap();
    let unmapped = Survey { hole: Some(610), ..Survey::default() };
    assert_eq!(machine.space(root).survey(span(10, 600)), Survey::default());
    assert_eq!(machine.space(root).survey(span(10, 700)), unmapped);
    machine.space(root).fault(300, Protection::READ, PageSize::Kib4).unwrap();
    assert_eq!(machine.space(root).survey(span(10, 290)), Survey::default());
    assert_eq!(machine.space(root).survey(span(10, 291)), Survey { frames: true, ..Survey::default() });
    mirror(&machine, root, 300);
    assert_eq!(machine.space(root).survey(span(300, 400)), Survey { frames: true, mirrored: true, ..unmapped });
}

#[test]
fn mappings_are_read_in_order_as_maps_shows_them() {
    let mut machine = Machine::new(false);
    let root = machine.root();
    let mut space = machine.space(root);
    space.map(span(5, 600), LAZY).unwrap();
    space.map(span(605, 3), LAZY).unwrap();
    space.map(span(608, 3), Attributes { protection: Protection::READ, ..EAGER }).unwrap();
    space.fault(7, Protection::READ, PageSize::Gib1).unwrap();
    let first = space.mapping(0).unwrap();
    assert_eq!((first.span, first.attributes, first.populated), (span(5, 603), LAZY, 1));
    let second = space.mapping(first.span.end()).unwrap();
    assert_eq!((second.span, second.populated), (span(608, 3), 3));
    assert_eq!(space.mapping(second.span.end()), None);
    assert_eq!(space.mapping(606).unwrap().span, span(606, 2));
    assert_eq!(space.view(3).unwrap().entry, Entry::Absent);
    assert_eq!((space.view(PAGES), space.mapping(PAGES)), (None, None));
}

#[test]
fn addresses_become_pages_only_if_they_are_whole() {
    let base = 0x7000_0000_0000;
    assert_eq!(Span::of_bytes(base, base + 0x3000, 0x2000), Ok(span(3, 2)));
    assert_eq!(Span::of_bytes(base, base, 1 << 39), Ok(Span::ALL));
    assert_eq!(Span::of_bytes(base, base + 0x3001, 0x2000), Err(Error::Misaligned));
    assert_eq!(Span::of_bytes(base, base + 0x3000, 0x2001), Err(Error::Misaligned));
    assert_eq!(Span::of_bytes(base, base - 0x1000, 0x2000), Err(Error::Outside));
    assert_eq!(Span::of_bytes(base, base + (1 << 39), 0x1000), Err(Error::Outside));
    assert_eq!(Span::of_bytes(base, base + 0x1000, 1 << 39), Err(Error::Outside));
    assert_eq!(Span::of_bytes(base, base, 0), Err(Error::Outside));
    assert_eq!(Span::of_bytes(base, base, 0u64.wrapping_sub(4096)), Err(Error::Outside));
    assert_eq!(span(PIECE_PAGES - 1, 2).pieces(), 0..2);
    assert_eq!(span(PIECE_PAGES, PIECE_PAGES).pieces(), 1..2);
}
