// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operations in portions: how long one is, what is there between two, and that all together do what one would.

use tacet_logic::paging::{Attributes, Entry, Fault, Leaf, PIECE_PAGES, PageSize, Protection, Span};

use crate::machine::{Failing, Machine};

const EAGER: Attributes =
    Attributes { protection: Protection::READ_WRITE, policy: 0, eager: true, small: false, undumped: false };
const SMALL: Attributes = Attributes { small: true, ..EAGER };
const NOTHING: Attributes = Attributes { protection: Protection::NONE, eager: false, ..EAGER };

fn span(first: u32, pages: u32) -> Span {
    Span::new(first, pages).unwrap()
}

fn pending(machine: &Machine, root: u64) -> usize {
    let pending = |entry| matches!(entry, Entry::Leaf(Leaf { pending: true, .. }));
    machine.walk(root).0.iter().filter(|view| pending(view.entry)).count()
}

/// What an operation reads at most in a portion of 64 entries, whatever is mapped.
const READS: usize = 12 * 64 + 12 * 512;

#[test]
fn a_portion_has_as_many_entries_as_it_may_have() {
    let mut machine = Machine::new(true);
    let root = machine.root();
    machine.space(root).map(span(0, PIECE_PAGES), EAGER).unwrap();
    machine.space(root).map(span(PIECE_PAGES + 3, 700), SMALL).unwrap();
    machine.space(root).reserve(span(3 * PIECE_PAGES, 4 * PIECE_PAGES), EAGER).unwrap();
    let space = machine.space(root);
    assert_eq!(space.portion(span(PIECE_PAGES + 3, 700), 64, |_| 1), span(PIECE_PAGES + 3, 64));
    assert_eq!(space.portion(span(PIECE_PAGES + 3, 20), 64, |_| 1), span(PIECE_PAGES + 3, 20));
    // the page of a gigabyte is one entry, but many frames to look at
    assert_eq!(space.portion(span(0, PIECE_PAGES + 9), 64, |_| 1), span(0, PIECE_PAGES + 9));
    assert_eq!(space.portion(span(0, PIECE_PAGES + 9), 64, |size| size.pages() / 8), span(0, PIECE_PAGES));
    assert_eq!(space.portion(span(3 * PIECE_PAGES, 4 * PIECE_PAGES), 3, |_| 1), span(3 * PIECE_PAGES, 3 * PIECE_PAGES));
    for (first, pages, entries, slow) in [
        (PIECE_PAGES + 3, 700, 64, false),
        (PIECE_PAGES + 3, 700, 1_024, false),
        (0, PIECE_PAGES, 1, true),
        (0, PIECE_PAGES + 9, 64, false),
        (0, PIECE_PAGES + 9, 64, true),
        (3 * PIECE_PAGES, 4 * PIECE_PAGES, 3, false),
        (3 * PIECE_PAGES, 4 * PIECE_PAGES, 4, true),
        (9, 8 * PIECE_PAGES, 4_000, false),
    ] {
        let (all, steps) = (span(first, pages), |size: PageSize| if slow { size.pages() / 8 } else { 1 });
        assert_eq!(space.is_portion(all, entries, steps), space.portion(all, entries, steps) == all, "{all:?}");
    }
    // inside of an entry it ends with the entry
    assert_eq!(space.portion(span(9, 2 * PIECE_PAGES), 1, |_| 1), span(9, PIECE_PAGES - 9));
}

#[test]
fn a_populate_in_portions_is_one() {
    let mut machine = Machine::new(false);
    let root = machine.root();
    let all = span(5, 1_300);
    machine.space(root).reserve(all, SMALL).unwrap();
    let mut page = all.first();
    while page < all.end() {
        let next = machine.space(root).stage_part(span(page, all.end() - page), 64).unwrap();
        assert!(next == all.end() || next == page + 64);
        page = next;
    }
    assert_eq!((machine.zeroed, pending(&machine, root)), (0, 1_300));
    assert_eq!(machine.space(root).commit_part(all, 5_000, |inside| !inside), all.first() + 512);
    page = all.first();
    while page < all.end() {
        let before = machine.zeroed;
        page = machine.space(root).commit_part(span(page, all.end() - page), 64, |_| false);
        assert!(machine.zeroed - before <= 64);
    }
    machine.check(&[root]);
    assert_eq!(machine.zeroed, 1_300);
}

#[test]
fn a_page_that_is_left_pending_is_zeroed_at_its_first_touch() {
    let mut machine = Machine::new(true);
    let root = machine.root();
    machine.space(root).reserve(span(0, PIECE_PAGES), EAGER).unwrap();
    machine.space(root).reserve(span(PIECE_PAGES, 2), SMALL).unwrap();
    assert_eq!(machine.space(root).stage_part(span(0, PIECE_PAGES + 2), 64), Ok(PIECE_PAGES + 2));
    assert_eq!(pending(&machine, root), 3);
    let write = Protection::READ_WRITE;
    assert_eq!(machine.space(root).fault(PIECE_PAGES, write, PageSize::Mib2), Ok(Fault::Populated(PageSize::Kib4)));
    // a part of the gigabyte, and no more
    assert_eq!(machine.space(root).fault(777, write, PageSize::Mib2), Ok(Fault::Populated(PageSize::Mib2)));
    assert_eq!((machine.zeroed, pending(&machine, root)), (2, 511 + 1));
    assert_eq!(machine.space(root).fault(777, write, PageSize::Mib2), Ok(Fault::Already));
    // a protection that does not allow the touch does not zero, nor lose the frame
    machine.space(root).protect(span(0, 1024), Protection::NONE).unwrap();
    assert!(machine.space(root).fault(3, write, PageSize::Mib2).is_err());
    machine.space(root).protect(span(0, 1024), write).unwrap();
    assert_eq!(machine.space(root).fault(3, write, PageSize::Mib2), Ok(Fault::Populated(PageSize::Mib2)));
    machine.space(root).populate(span(0, PIECE_PAGES + 2)).unwrap();
    machine.check(&[root]);
}

/// A fork and an mbind between two portions of a call: what has no content yet is no content.
#[test]
fn pending_pages_are_reserved_for_a_child_and_zeroed_before_they_move() {
    let mut machine = Machine::new(false);
    let (root, child) = (machine.root(), machine.root());
    machine.space(root).reserve(span(0, 1_030), EAGER).unwrap();
    assert_eq!(machine.space(root).stage_part(span(0, 1_030), 64), Ok(1_030));
    assert_eq!(machine.space(root).commit_part(span(0, 512), 512, |_| false), 512);
    assert_eq!(machine.space(root).copy_to(child, 0, |_| false), Ok(None));
    let leaves = machine.walk(child).0.into_iter().filter(|view| matches!(view.entry, Entry::Leaf(_)));
    assert_eq!(leaves.map(|view| view.size.pages()).sum::<u32>(), 512);
    assert_eq!(machine.space(child).hole(span(0, 1_030)), None);
    machine.space(root).relocate(span(0, 1_030), || (), |_| ());
    assert_eq!(pending(&machine, root), 0);
    machine.check(&[root, child]);
    // the end of a program in the middle of a call
    let (mut looks, mut retired) = (0, Vec::new());
    machine.space(root).reserve(span(2_048, 600), EAGER).unwrap();
    machine.space(root).stage_part(span(2_048, 600), 4).unwrap();
    let looked = |pages| {
        looks += pages;
        false
    };
    assert_eq!(machine.space(root).clear(0, |old| retired.push(old), looked), None);
    assert_eq!(looks, retired.iter().map(|old| 1 << old.order).sum());
    machine.release(&retired);
    machine.check(&[root, child]);
}

#[test]
fn a_gigabyte_whose_parts_have_no_table_is_zeroed_as_a_whole() {
    let mut machine = Machine::new(true);
    let root = machine.root();
    machine.space(root).reserve(span(0, PIECE_PAGES), EAGER).unwrap();
    machine.space(root).stage_part(span(0, PIECE_PAGES), 64).unwrap();
    machine.failing = Failing::From(0);
    let fault = machine.space(root).fault(777, Protection::READ_WRITE, PageSize::Mib2);
    assert_eq!(fault, Ok(Fault::Populated(PageSize::Gib1)));
    machine.check(&[root]);
}

#[test]
fn the_zeroing_of_a_gigabyte_can_be_left() {
    let mut machine = Machine::new(true);
    let root = machine.root();
    machine.space(root).reserve(span(0, PIECE_PAGES), EAGER).unwrap();
    machine.space(root).stage_part(span(0, PIECE_PAGES), 64).unwrap();
    let mut looks = 0;
    let stops = |inside: bool| {
        assert!(inside);
        looks += 1;
        looks == 7
    };
    assert_eq!(machine.space(root).commit_part(span(0, PIECE_PAGES), 512, stops), 0);
    assert_eq!((machine.zeroed, pending(&machine, root)), (7, 1));
    assert_eq!(machine.space(root).commit_part(span(0, PIECE_PAGES), 512, |_| false), PIECE_PAGES);
    machine.check(&[root]);
}

#[test]
fn renewed_addresses_stay_taken_and_are_few_entries() {
    let mut machine = Machine::new(false);
    let root = machine.root();
    let all = span(100, 2 * PIECE_PAGES);
    machine.space(root).map(span(100, 900), SMALL).unwrap();
    machine.space(root).map(span(PIECE_PAGES - 300, 600), SMALL).unwrap();
    let (mut page, mut retired) = (all.first(), Vec::new());
    while page < all.end() {
        machine.loads.set(0);
        let mut space = machine.space(root);
        let part = space.portion(span(page, all.end() - page), 64, |_| 1);
        let removed = space.renew(part, NOTHING, |old| retired.push(old)).unwrap();
        assert!(removed.pages <= 64);
        assert!(machine.loads.get() <= READS, "{}", machine.loads.get());
        machine.release(&std::mem::take(&mut retired));
        assert_eq!(machine.space(root).hole(span(all.first(), part.end() - all.first())), None);
        page = part.end();
    }
    let space = machine.space(root);
    assert_eq!(space.portion(all, 511 * 4 + 510, |_| 1), all);
    assert!(space.is_portion(all, 512 * 4 + 510, |_| 1));
    assert_eq!(space.forbidden(all, Protection::READ), Some(all.first()));
    assert_eq!(machine.space(root).unmap(all, |_| panic!("no frame is left")).unwrap().pages, 0);
    assert_eq!(machine.walk(root).0.len(), 0);
    machine.check(&[root]);
}
