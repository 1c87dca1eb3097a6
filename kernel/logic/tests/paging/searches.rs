// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finding addresses: what is found is free, aligned and one's own; what was freed is found again.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use tacet_logic::paging::{AddressSpace, Attributes, PAGES, PIECE_PAGES, Protection, Span};
use tacet_logic::ranges::{Arena, Arenas, Found, Pieces, Request};

use crate::machine::Machine;

const LAZY: Attributes =
    Attributes { protection: Protection::READ_WRITE, policy: 0, eager: false, small: false, undumped: false };

struct Owners(RefCell<Vec<u16>>);

impl Pieces for Owners {
    fn owner(&self, piece: u32) -> u16 {
        self.0.borrow()[piece as usize]
    }

    fn exchange(&self, piece: u32, current: u16, new: u16) -> bool {
        let same = self.owner(piece) == current;
        if same {
            self.0.borrow_mut()[piece as usize] = new;
        }
        same
    }
}

/// The serial of the range.
const RANGE: u64 = 7;

/// Some cores of one process, and beside them the list of what is mapped.
struct Process {
    machine: Machine,
    root: u64,
    owners: Owners,
    limits: Span,
    /// Each core's.
    arenas: Vec<Arenas>,
    /// First page and end.
    mapped: BTreeMap<u32, u32>,
    /// In how many parts the last search was done.
    parts: u32,
}

impl Process {
    fn new(cores: u16, limits: Span) -> Self {
        let mut machine = Machine::new(false);
        let root = machine.root();
        let arenas = (0..cores).map(|_| Arenas::new()).collect();
        Self {
            machine,
            root,
            owners: Owners(RefCell::new(vec![0; 512])),
            limits,
            arenas,
            mapped: BTreeMap::new(),
            parts: 0,
        }
    }

    /// Where a core was last.
    fn arena(&self, core: usize) -> Arena {
        self.arenas[core].of(RANGE, core as u16 + 1, self.limits)
    }

    /// A core is at work for so many other processes that it does not know where it was here.
    fn forget(&mut self, core: usize) {
        let other = Arena::new(core as u16 + 1, self.limits);
        (RANGE + 1..RANGE + 20).for_each(|range| self.arenas[core].keep(range, other));
    }

    /// As the handler of `mmap` does it.
    fn map(&mut self, core: usize, request: Request, pages: u32) -> Option<Span> {
        let mut arena = self.arena(core);
        arena.begin();
        let (mut more, mut found) = (true, None);
        self.parts = 0;
        while more {
            more = false;
            let mut plan = arena.plan(request);
            while let Some(window) = plan.next(&self.owners) {
                let space = AddressSpace::new(self.root, &mut self.machine);
                self.parts += 1;
                match arena.search(&space, window, request) {
                    Found::At(span) => {
                        assert!(window.span.first() <= span.first() && span.end() <= window.span.end());
                        found = Some(span);
                        break;
                    }
                    Found::GaveUp if window.is_last() => more = true,
                    _ => {}
                }
            }
            self.arenas[core].keep(RANGE, arena);
        }
        if let Some(span) = found {
            assert_eq!(span.pages(), pages);
            assert!(self.limits.first() <= span.first() && span.end() <= self.limits.end());
            let mut space = AddressSpace::new(self.root, &mut self.machine);
            space.reserve(span, LAZY).expect("what is found is free");
            self.mapped.insert(span.first(), span.end());
            return found;
        }
        let ends = self.mapped.iter().map(|(&first, &end)| (first, end)).chain([(self.limits.end(), 0)]);
        let mut free_from = self.limits.first();
        for (first, end) in ends {
            assert!(first < free_from + pages, "{pages} pages are free at {free_from}");
            free_from = end;
        }
        None
    }

    fn unmap(&mut self, core: usize, span: Span) {
        let mut arena = self.arena(core);
        let mut space = AddressSpace::new(self.root, &mut self.machine);
        space.unmap(span, |_| panic!("nothing was populated")).unwrap();
        arena.freed(&space, &self.owners, span);
        self.arenas[core].keep(RANGE, arena);
        self.mapped.remove(&span.first());
    }
}

fn span(first: u32, pages: u32) -> Span {
    Span::new(first, pages).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn what_is_found_is_free_and_what_is_not_found_is_not_there(
        steps in prop::collection::vec(
            (0..3usize, prop::sample::select(vec![1u32, 1, 2, 100, 512, 513, 2048, 100_000, PIECE_PAGES, PIECE_PAGES + 1]), any::<bool>(), any::<u32>()),
            1..80,
        ),
        below in 0..PIECE_PAGES,
    ) {
        // Three cores in six pieces, neither end of which is at a border.
        let mut process = Process::new(3, span(77, 6 * PIECE_PAGES - 77 - below));
        for (core, pages, free, random) in steps {
            if random % 8 == 0 {
                process.forget(core);
            }
            match process.mapped.iter().nth(random as usize % process.mapped.len().max(1)) {
                Some((&first, &end)) if free => process.unmap(core, span(first, end - first)),
                _ => drop(process.map(core, Request::new(pages, random), pages)),
            }
        }
        while let Some((&first, &end)) = process.mapped.first_key_value() {
            process.unmap(0, span(first, end - first));
        }
        // at most those of the pieces are left, and none is in the way
        prop_assert!(process.machine.tables() <= 1 + 7);
        let all = 4 * PIECE_PAGES;
        prop_assert!(process.map(0, Request::new(all, 0), all).is_some());
    }
}

/// Every second page of the range is taken: there is no room for two, and to find that out takes as many parts as there are
/// 4,096 entries.
#[test]
fn a_search_that_finds_nothing_is_done_in_parts() {
    let pages = 32 * 4096;
    let mut process = Process::new(1, span(0, pages));
    let mut space = AddressSpace::new(process.root, &mut process.machine);
    for first in (0..pages).step_by(2) {
        space.reserve(span(first, 1), LAZY).unwrap();
    }
    process.mapped.extend((0..pages).step_by(2).map(|first| (first, first + 1)));
    assert_eq!(process.map(0, Request::new(2, 0), 2), None);
    assert!((32..40).contains(&process.parts), "{} parts", process.parts);
    // what becomes free above the place where it stopped is found by the next one
    process.unmap(0, span(pages - 2, 1));
    assert_eq!(process.map(0, Request::new(2, 0), 2), Some(span(pages - 2, 2)));
}

#[test]
fn cores_do_not_meet() {
    let mut process = Process::new(8, Span::ALL);
    let mut pieces = vec![Vec::new(); 8];
    for n in 0..4_000u32 {
        let core = n as usize % 8;
        let pages = 1 + n * 37 % 1_000;
        let found = process.map(core, Request::new(pages, n), pages).unwrap();
        pieces[core].extend(found.pieces());
    }
    for (core, own) in pieces.iter().enumerate() {
        let others = pieces.iter().enumerate().filter(|(other, _)| *other != core).flat_map(|(_, pieces)| pieces);
        assert!(others.into_iter().all(|piece| !own.contains(piece)), "core {core}");
    }
}

#[test]
fn large_requests_are_aligned_for_large_pages() {
    let mut process = Process::new(1, span(3, PAGES - 10));
    for (pages, alignment) in
        [(511, 1), (512, 512), (700, 512), (PIECE_PAGES, PIECE_PAGES), (2 * PIECE_PAGES + 5, PIECE_PAGES)]
    {
        let found = process.map(0, Request::new(pages, 99), pages).unwrap();
        assert_eq!(found.first() % alignment, 0, "{pages} pages at {}", found.first());
    }
}

#[test]
fn mapping_and_unmapping_in_turn_stays_at_one_place() {
    let mut process = Process::new(1, Span::ALL);
    let keep = process.map(0, Request::new(5, 1_000), 5).unwrap();
    let first = process.map(0, Request::new(20, 0), 20).unwrap();
    assert_eq!(first.end(), keep.first());
    for _ in 0..100 {
        process.unmap(0, first);
        assert_eq!(process.map(0, Request::new(20, 0), 20), Some(first));
    }
}

#[test]
fn the_base_is_random_but_what_is_above_is_not_lost() {
    let mut process = Process::new(1, span(0, PIECE_PAGES));
    let first = process.map(0, Request::new(1, 5_000), 1).unwrap();
    assert_eq!(first.end(), PIECE_PAGES - 5_000);
    let second = process.map(0, Request::new(1, 7), 1).unwrap();
    assert_eq!(second.end(), first.first());
    let rest = first.first() - 1;
    assert!(process.map(0, Request::new(rest, 0), rest).is_some());
    // 5,000 pages fit exactly, if not aligned.
    assert_eq!(process.map(0, Request::new(5_000, 0), 5_000), Some(span(PIECE_PAGES - 5_000, 5_000)));
}

#[test]
fn a_crowded_piece_does_not_make_a_search_long() {
    // Every second page of a piece's upper quarter is taken: no two pages are free side by side.
    let mut process = Process::new(2, Span::ALL);
    for page in (PAGES - PIECE_PAGES / 4..PAGES).step_by(2) {
        AddressSpace::new(process.root, &mut process.machine).reserve(span(page, 1), LAZY).unwrap();
    }
    let before = process.machine.loads.get();
    let found = process.map(0, Request::new(2, 0), 2).unwrap();
    let loads = process.machine.loads.get() - before;
    // Twice 4,096 entries of three loads in the crowded piece, then a new one.
    assert!(loads < 3 * (2 * 4_096 + 16), "{loads} loads");
    assert!(found.end() <= PAGES - PIECE_PAGES);
    let before = process.machine.loads.get();
    process.map(0, Request::new(2, 0), 2).unwrap();
    assert!(process.machine.loads.get() - before < 40);
}

#[test]
fn a_full_range_is_said_to_be_full() {
    let mut process = Process::new(2, span(10, 1_000));
    assert_eq!(process.map(0, Request::new(1_001, 0), 1_001), None);
    assert_eq!(process.map(0, Request::new(PAGES, 0), PAGES), None);
    // Aligned at 512 there is room for one: alignment gives way before memory is said to be out.
    assert_eq!(process.map(0, Request::new(1_000, 0), 1_000), Some(span(10, 1_000)));
    assert_eq!(process.map(1, Request::new(1, 0), 1), None);
    process.unmap(1, span(10, 1_000));
    assert_eq!(process.map(1, Request::new(1, 0), 1), Some(span(1_009, 1)));
}
