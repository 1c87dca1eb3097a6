// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The order in which a core looks for free addresses.

use super::arena::Pieces;
use crate::paging::{PIECE_PAGES, Span};

/// Older pieces of the core that one request tries, and pieces that no core has.
const TRIES: u32 = 2;

/// Where to look next: first take the right to the pieces of `span`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub span: Span,
    /// The core's own piece that it is, if it is one.
    pub(super) piece: Option<u32>,
    /// The last chance: alignment gives way, and the search has as many parts as it needs.
    pub(super) last: bool,
}

impl Window {
    /// Whether a search that gave up here may find something when it goes on.
    pub fn is_last(&self) -> bool {
        self.last
    }
}

/// What is left to try. Every step is bounded by the number of pieces, 512.
pub struct Plan {
    pub(super) owner: u16,
    pub(super) limits: Span,
    pub(super) current: Option<u32>,
    /// Pieces that the request needs.
    pub(super) needed: u32,
    pub(super) stage: Stage,
}

pub(super) enum Stage {
    /// The piece in which the core has found something last.
    Current,
    /// Its other pieces, downwards from there and around: how many to look at, and how many to try.
    Own {
        piece: u32,
        look: u32,
        tries: u32,
    },
    /// Pieces below this one that no core has, and how many to try.
    Unowned {
        below: u32,
        tries: u32,
    },
    /// All of the range.
    Whole,
    Done,
}

impl Plan {
    /// The next place to look; `None` when there is no room in the whole range.
    pub fn next<P: Pieces>(&mut self, pieces: &P) -> Option<Window> {
        loop {
            let window = match self.stage {
                Stage::Current => self.current_piece(pieces),
                Stage::Own { piece, look, tries } => self.own_piece(pieces, piece, look, tries),
                Stage::Unowned { below, tries } => self.unowned(pieces, below, tries),
                Stage::Whole => {
                    self.stage = Stage::Done;
                    Some(Window { span: self.limits, piece: None, last: true })
                }
                Stage::Done => return None,
            };
            if window.is_some() {
                return window;
            }
        }
    }

    fn current_piece<P: Pieces>(&mut self, pieces: &P) -> Option<Window> {
        let all = self.limits.pieces();
        let current = self.current.filter(|&piece| self.needed == 1 && pieces.owner(piece) == self.owner);
        let piece = self.current.unwrap_or(all.end);
        self.stage = match self.needed {
            1 => Stage::Own { piece, look: all.end - all.start, tries: TRIES },
            _ => Stage::Unowned { below: all.end, tries: TRIES },
        };
        current.and_then(|piece| self.window(piece, 1))
    }

    fn own_piece<P: Pieces>(&mut self, pieces: &P, piece: u32, look: u32, tries: u32) -> Option<Window> {
        let all = self.limits.pieces();
        if look == 0 || tries == 0 {
            self.stage = Stage::Unowned { below: all.end, tries: TRIES };
            return None;
        }
        let next = if piece <= all.start || piece > all.end { all.end - 1 } else { piece - 1 };
        let own = Some(next) != self.current && pieces.owner(next) == self.owner;
        self.stage = Stage::Own { piece: next, look: look - 1, tries: tries - u32::from(own) };
        if own { self.window(next, 1) } else { None }
    }

    /// Takes as many neighbouring pieces as are needed, the highest that no core has.
    fn unowned<P: Pieces>(&mut self, pieces: &P, below: u32, tries: u32) -> Option<Window> {
        let (mut free, mut piece) = (0, below);
        while tries > 0 && piece > self.limits.pieces().start {
            piece -= 1;
            free = if pieces.owner(piece) == 0 { free + 1 } else { 0 };
            if free == self.needed && self.claim(pieces, piece) {
                self.stage = Stage::Unowned { below: piece, tries: tries - 1 };
                return self.window(piece, self.needed);
            }
            // Another core was faster: what is left of this run is looked at again from here.
            free = if free == self.needed { 0 } else { free };
        }
        self.stage = Stage::Whole;
        None
    }

    /// Takes `needed` pieces from `first` on, or none.
    fn claim<P: Pieces>(&self, pieces: &P, first: u32) -> bool {
        let run = first..first + self.needed;
        match run.clone().find(|&piece| !pieces.exchange(piece, 0, self.owner)) {
            None => true,
            Some(lost) => {
                (first..lost).for_each(|piece| {
                    pieces.exchange(piece, self.owner, 0);
                });
                false
            }
        }
    }

    /// The pages of some pieces, as far as they are within the limits.
    fn window(&self, piece: u32, count: u32) -> Option<Window> {
        let first = (piece * PIECE_PAGES).max(self.limits.first());
        let end = ((piece + count) * PIECE_PAGES).min(self.limits.end());
        let span = Span::new(first, end.checked_sub(first)?)?;
        Some(Window { span, piece: (count == 1).then_some(piece), last: false })
    }
}
