// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One core's place in a process's range.
//!
//! Within its current piece a core looks downwards from where it has found
//! something last, and from the top only if it has passed over a run that may be
//! large enough, or if there is nothing left below (as Linux did before it had an
//! index of its mappings). What is freed in the piece moves that place up again,
//! so a program that maps and unmaps in turn gets the same addresses, and the same tables.

use super::plan::{Plan, Stage, Window};
use super::search::{Found, Search};
use crate::paging::{AddressSpace, Entry, Memory, PIECE_PAGES, PageSize, Span, View};

/// Entries that a search looks at before it gives up: eight full tables. More than the entries of one free run, so that a
/// search which goes on where another gave up gets further: at most 511 of each smaller size at both ends, and 512 pieces.
const ENTRIES: u32 = 8 * 512;

/// Which core has which piece of a process's range: 512 numbers, all 0 at first, shared by its cores.
pub trait Pieces {
    /// The core that has the piece, by a number that is not 0; 0: none has it. Relaxed ordering is enough.
    fn owner(&self, piece: u32) -> u16;
    /// Writes `new` if `current` has it; says whether it had. Relaxed ordering is enough: rights protect what matters.
    fn exchange(&self, piece: u32, current: u16, new: u16) -> bool;
}

/// What addresses are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub(super) pages: u32,
    pub(super) alignment: u32,
    pub(super) random: u32,
}

impl Request {
    /// `pages` pages, aligned for the largest pages that fit. In a piece that the core takes anew, the search begins
    /// up to a quarter of the piece below its top, as `random` decides.
    pub const fn new(pages: u32, random: u32) -> Self {
        Self { pages, alignment: PageSize::Gib1.fitting(0, pages).pages(), random: random % (PIECE_PAGES / 4) }
    }
}

/// One core's place in one process's range. Owned by the core.
#[derive(Clone, Copy)]
pub struct Arena {
    owner: u16,
    limits: Span,
    current: Option<u32>,
    /// Where to continue in the current piece, downwards.
    cursor: u32,
    /// The largest free run that was passed over above the cursor.
    skipped: u32,
    far: Option<Far>,
}

/// A search in the whole range that is not over.
#[derive(Clone, Copy)]
struct Far {
    pages: u32,
    alignment: u32,
    /// Nothing is free above.
    top: u32,
}

impl Arena {
    /// For the core that is `owner`, not 0. Only addresses within `limits` are used: the end is the process's random
    /// base.
    pub const fn new(owner: u16, limits: Span) -> Self {
        Self { owner, limits, current: None, cursor: 0, skipped: 0, far: None }
    }

    /// Whether these are its limits.
    pub fn is_within(&self, limits: Span) -> bool {
        self.limits == limits
    }

    /// What to try for a request: the current piece, two others of the core, pieces that no core has, the whole range.
    pub fn plan(&self, request: Request) -> Plan {
        let needed = request.pages.div_ceil(PIECE_PAGES).max(1);
        let stage = if self.far.is_some() { Stage::Whole } else { Stage::Current };
        Plan { owner: self.owner, limits: self.limits, current: self.current, needed, stage }
    }

    /// A new request comes: what is left of the search for another one is not wanted any more.
    pub fn begin(&mut self) {
        self.far = None;
    }

    /// Looks for free pages in a window of the plan. The caller has the right to its pieces and keeps it until
    /// the pages are reserved. At most 2 · 4,096 entries. [`Found::GaveUp`] in the last window: the search goes on where
    /// it stopped when the same request comes again, with another plan.
    pub fn search<M: Memory>(&mut self, space: &AddressSpace<M>, window: Window, request: Request) -> Found {
        let (bottom, top) = (window.span.first(), window.span.end());
        let Request { pages, alignment, random } = request;
        let search = Search { bottom, top, pages, alignment, entries: ENTRIES, skipped: 0 };
        match window.piece {
            Some(piece) => {
                if self.current != Some(piece) {
                    self.current = Some(piece);
                    self.cursor = top.saturating_sub(random).max(bottom);
                    self.skipped = 0;
                }
                self.search_piece(space, search)
            }
            None if !window.last => Search { ..search }.run(space),
            None => self.search_all(space, search),
        }
    }

    /// A part of the whole range: aligned at first, then anywhere.
    fn search_all<M: Memory>(&mut self, space: &AddressSpace<M>, search: Search) -> Found {
        let Search { pages, alignment, top, .. } = search;
        let all = Far { pages, alignment, top };
        let far = self.far.filter(|far| far.pages == pages).unwrap_or(all);
        let mut part = Search { top: far.top.min(top), alignment: far.alignment, ..search };
        let found = part.run(space);
        self.far = match found {
            Found::GaveUp => Some(Far { top: part.top, ..far }),
            Found::Nowhere if far.alignment > 1 => Some(Far { alignment: 1, ..all }),
            _ => None,
        };
        if self.far.is_some() { Found::GaveUp } else { found }
    }

    /// Says that `span` was unmapped, while the right to it is still held: it is found again, and pieces that have
    /// become empty are anybody's. What is free above it was passed over before, and is known by its size. One load
    /// for each piece.
    pub fn freed<M: Memory, P: Pieces>(&mut self, space: &AddressSpace<M>, pieces: &P, span: Span) {
        for piece in span.pieces() {
            let first = piece * PIECE_PAGES;
            let empty = |view: &View| view.size == PageSize::Gib1 && view.entry == Entry::Absent;
            if self.current == Some(piece) {
                self.cursor = self.cursor.max(span.end().min(first + PIECE_PAGES).min(self.limits.end()));
            } else if space.view(first).as_ref().is_some_and(empty) {
                let owner = pieces.owner(piece);
                pieces.exchange(piece, owner, 0);
            }
        }
    }

    /// From the cursor down, then from the top if that may help.
    fn search_piece<M: Memory>(&mut self, space: &AddressSpace<M>, search: Search) -> Found {
        let top = search.top;
        let mut first = Search { top: self.cursor.min(top), skipped: self.skipped, ..search };
        let below = if search.pages > self.skipped { first.run(space) } else { Found::Nowhere };
        let (used, found) = match below {
            Found::At(_) => (first, below),
            _ if search.pages > self.skipped && first.top == top => (first, below),
            _ => {
                let mut again = search;
                let found = again.run(space);
                (again, found)
            }
        };
        if let Found::At(span) = found {
            self.cursor = span.first();
            self.skipped = used.skipped;
        }
        found
    }
}
