// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mapping: at an address that is asked for, or at one that is free.
//!
//! Addresses are given downwards from a random page, each search going on where the
//! last one ended; what is unmapped moves that place up again, so that a program
//! which maps and unmaps in turn gets the same addresses.

use super::{Outcome, Range, Refusal, Work};
use tacet_abi::TACET_OWN_BREAK_PAGES;
use tacet_logic::paging::{Attributes, Error, PageSize, Span};
use tacet_logic::ranges::{Outcome as Found, Search};

/// Errors as a call gives them.
const NO_MEMORY: u64 = -12i64 as u64;
const EXISTS: u64 = -17i64 as u64;

impl Range<'_> {
    /// Maps `pages` pages where there is room, at `hint` if that is free. What the
    /// partition has no room for is Linux's.
    pub fn map(&mut self, pages: u32, hint: Option<Span>, attributes: Attributes) -> Outcome {
        let first = self.change(|work| {
            let hint = hint.filter(|&span| work.is_free(span));
            let span = hint.or_else(|| work.find(pages)).ok_or(Refusal::Elsewhere)?;
            work.space.map(span, attributes).map_err(|_| Refusal::Elsewhere)?;
            work.held.set_cursor(span.first());
            Ok(span.first())
        })?;
        Ok(self.address(first))
    }

    /// Maps `span`. What is there makes place if that is allowed.
    pub fn map_at(&mut self, span: Span, replace: bool, attributes: Attributes) -> Outcome {
        let mapped = self.change(|work| {
            if !work.is_free(span) {
                if !replace {
                    return Ok(false);
                }
                work.remove(span)?;
            }
            work.space.map(span, attributes).map_err(|_| Refusal::Beyond)?;
            Ok(true)
        })?;
        Ok(if mapped { self.address(span.first()) } else { EXISTS })
    }

    /// brk(2): the break afterwards, which is where it was if it cannot be moved so.
    pub fn set_break(&mut self, wanted: u64, attributes: Attributes) -> Outcome {
        let base = self.own.base();
        let limit = base + (u64::from(TACET_OWN_BREAK_PAGES) << 12);
        let page = |address: u64| ((address - base).div_ceil(4096)) as u32;
        self.change(|work| {
            let (start, end) = work.held.program_break();
            if wanted < start || wanted > limit {
                return Ok(end);
            }
            let (old, new) = (page(end), page(wanted));
            if let Some(more) = Span::new(old, new.saturating_sub(old)) {
                if !work.is_free(more) {
                    return Ok(end);
                }
                work.space.map(more, attributes).map_err(|_| Refusal::Beyond)?;
            }
            if let Some(rest) = Span::new(new, old.saturating_sub(new)) {
                work.remove(rest)?;
            }
            work.held.set_program_break(wanted);
            Ok(wanted)
        })
    }

    /// Resizes a mapping (mremap(2)), where it is if it can.
    pub fn resize(&mut self, old: Span, pages: u32, may_move: bool) -> Outcome {
        let first = self.change(|work| {
            if let Err(error) = work.mapped(old) {
                return Ok(Err(error));
            }
            if pages <= old.pages() {
                if let Some(rest) = Span::new(old.first() + pages, old.pages() - pages) {
                    work.remove(rest)?;
                }
                return Ok(Ok(old.first()));
            }
            match work.space.grow(old, pages - old.pages()) {
                Ok(()) => return Ok(Ok(old.first())),
                Err(Error::Occupied(_) | Error::Outside) if may_move => {}
                Err(Error::Occupied(_) | Error::Outside) => return Ok(Err(NO_MEMORY)),
                Err(_) => return Err(Refusal::Beyond),
            }
            work.unmirrored(old)?;
            let to = work.find(pages).ok_or(Refusal::Beyond)?;
            work.carry(old, to)?;
            work.held.set_cursor(to.first());
            Ok(Ok(to.first()))
        })?;
        Ok(first.map_or_else(|error| error, |first| self.address(first)))
    }

    /// Moves a mapping to `to`, resized to its size; what is there makes place.
    pub fn move_to(&mut self, old: Span, to: Span) -> Outcome {
        if old.overlaps(to) {
            return Err(Refusal::Beyond); // an error, which Linux knows best
        }
        let moved = self.change(|work| {
            if let Err(error) = work.mapped(old) {
                return Ok(Err(error));
            }
            work.unmirrored(old)?;
            work.remove(to)?;
            let kept = Span::new(old.first(), old.pages().min(to.pages())).ok_or(Refusal::Beyond)?;
            if let Some(rest) = Span::new(kept.end(), old.pages() - kept.pages()) {
                work.remove(rest)?;
            }
            work.carry(kept, to).map(Ok)
        })?;
        Ok(moved.map_or_else(|error| error, |()| self.address(to.first())))
    }
}

impl Work<'_> {
    /// Moves all of `from` to the beginning of `to`, which is free, and maps the rest of
    /// it alike. Linux maps nothing of `from`.
    fn carry(&mut self, from: Span, to: Span) -> Result<(), Refusal> {
        if let Some(rest) = Span::new(to.first() + from.pages(), to.pages() - from.pages()) {
            let last = self.space.view(from.end() - 1).and_then(|view| view.entry.attributes());
            self.space.map(rest, last.ok_or(Refusal::Beyond)?).map_err(|_| Refusal::Beyond)?;
        }
        let moved = self.space.shift(from, to.first()).map_err(|_| Refusal::Beyond)?;
        self.stale |= moved.pages != 0;
        Ok(())
    }

    /// Nothing is mapped there.
    fn is_free(&self, span: Span) -> bool {
        let mut page = span.first();
        while page < span.end() {
            match self.space.view(page) {
                Some(view) if view.entry.attributes().is_none() => page = view.end(),
                _ => return false,
            }
        }
        true
    }

    /// Free pages below the cursor, else anywhere below the top; aligned for the largest
    /// page that they may become, if there is such a place.
    fn find(&self, pages: u32) -> Option<Span> {
        let alignment = PageSize::Gib1.fitting(0, pages).pages();
        let (top, cursor) = (self.held.top(), self.held.cursor().min(self.held.top()));
        let searches = [(cursor, alignment), (top, alignment), (top, 1)];
        searches.into_iter().find_map(|(top, alignment)| {
            let mut search =
                Search { bottom: TACET_OWN_BREAK_PAGES, top, pages, alignment, entries: u32::MAX, skipped: 0 };
            match search.run(&self.space) {
                Found::Found(span) => Some(span),
                Found::Full | Found::GaveUp => None,
            }
        })
    }
}
