// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mapping: at an address that is asked for, or at one that is free.
//!
//! Each core looks for addresses in pieces of the range that are its own
//! (`tacet_logic::ranges`), downwards from a random page in all: cores that map do not
//! meet. What is unmapped is found again first, so that a program which maps and unmaps
//! in turn gets the same addresses.

use super::{BAD_ADDRESS, EXISTS, NO_MEMORY, Outcome, Range, Refusal, Work};
use tacet_abi::TACET_RANGE_BREAK_PAGES;
use tacet_logic::paging::{Attributes, Error, Span};
use tacet_logic::ranges::{Arena, Outcome as Found, Request};

/// What became of a mapping that was to be resized.
enum Resized {
    Done(u32),
    Failed(u64),
    /// Where it is there is no room.
    Elsewhere,
}

impl Range<'_> {
    /// Maps `pages` pages where there is room, at `hint` if that is free. What the
    /// partition has no room for is Linux's.
    pub fn map(&mut self, pages: u32, hint: Option<Span>, attributes: Attributes) -> Outcome {
        if let Some(span) = hint
            && self.change(span.pieces(), |work| work.map_if_free(span, attributes, Refusal::Elsewhere))?
        {
            return Ok(self.address(span.first()));
        }
        let map = |work: &mut Work<'_>, span| {
            work.space.map(span, attributes).map_err(|_| Refusal::Elsewhere)?;
            Ok(span.first())
        };
        let first = self.anywhere(pages, None, map)?.ok_or(Refusal::Elsewhere)?;
        Ok(self.address(first))
    }

    /// Maps `span`. What is there makes place if that is allowed.
    pub fn map_at(&mut self, span: Span, replace: bool, attributes: Attributes) -> Outcome {
        let mapped = self.change(span.pieces(), |work| {
            if replace && !work.space.is_free(span) {
                work.remove(span)?;
            }
            work.map_if_free(span, attributes, Refusal::Beyond)
        })?;
        Ok(if mapped { self.address(span.first()) } else { EXISTS })
    }

    /// brk(2): the break afterwards, which is where it was if it cannot be moved so.
    pub fn set_break(&mut self, wanted: u64, attributes: Attributes) -> Outcome {
        let base = self.own.base();
        let limit = base + (u64::from(TACET_RANGE_BREAK_PAGES) << 12);
        let page = |address: u64| ((address - base).div_ceil(4096)) as u32;
        loop {
            let (start, end) = self.own.program_break();
            if wanted < start || wanted > limit || self.is_too_much(page(wanted.max(end)) - page(end)) {
                return Ok(end);
            }
            let heap = Span::new(page(start), page(wanted.max(end)) - page(start) + 1).ok_or(Refusal::Beyond)?;
            let own = self.own;
            let moved = self.change(heap.pieces(), |work| {
                // Another core may have moved it before we had the lock.
                let (_, now) = own.program_break();
                if now != end {
                    Ok(None)
                } else {
                    work.move_break((page(end), page(wanted)), wanted, attributes).map(Some)
                }
            })?;
            match moved {
                Some(true) => return Ok(wanted),
                Some(false) => return Ok(end),
                None => {}
            }
        }
    }

    /// Resizes a mapping (mremap(2)), where it is if it can.
    pub fn resize(&mut self, old: Span, pages: u32, may_move: bool) -> Outcome {
        let grown = Span::new(old.first(), old.pages().max(pages)).unwrap_or(old);
        let first = match self.change(grown.pieces(), |work| work.resize(old, pages))? {
            Resized::Done(first) => first,
            Resized::Failed(error) => return Ok(error),
            Resized::Elsewhere if !may_move => return Ok(NO_MEMORY),
            Resized::Elsewhere => {
                let moved = self.anywhere(pages, Some(old), |work, to| {
                    if let Err(error) = work.mapped(old) {
                        return Ok(Err(error));
                    }
                    work.unmirrored(old)?;
                    work.carry(old, to).map_err(|_| Refusal::Beyond)?;
                    Ok(Ok(to.first()))
                })?;
                match moved.ok_or(Refusal::Beyond)? {
                    Ok(first) => first,
                    Err(error) => return Ok(error),
                }
            }
        };
        Ok(self.address(first))
    }

    /// Moves a mapping to `to`, resized to its size; what is there makes place.
    pub fn move_to(&mut self, old: Span, to: Span) -> Outcome {
        if old.overlaps(to) {
            return Err(Refusal::Beyond); // an error, which Linux knows best
        }
        let moved = self.change(both(old, to), |work| {
            if let Err(error) = work.mapped(old) {
                return Ok(Err(error));
            }
            work.unmirrored(old)?;
            work.remove(to)?;
            let kept = Span::new(old.first(), old.pages().min(to.pages())).ok_or(Refusal::Beyond)?;
            if let Some(rest) = Span::new(kept.end(), old.pages() - kept.pages()) {
                work.remove(rest)?;
            }
            work.carry(kept, to).map(Ok).map_err(|_| Refusal::Beyond)
        })?;
        Ok(moved.map_or_else(|error| error, |()| self.address(to.first())))
    }

    /// munmap(2)
    pub fn unmap(&mut self, span: Span) -> Outcome {
        let (own, mut arena) = (self.own, self.arena());
        self.change(span.pieces(), |work| {
            work.remove(span)?;
            if let Some(arena) = &mut arena {
                arena.freed(&work.space, &own, span);
            }
            Ok(())
        })?;
        self.keep(arena);
        Ok(0)
    }

    /// Finds free addresses and does `work` there, before anybody else can have them; with the right to `also`. None:
    /// there are none.
    fn anywhere<T>(
        &mut self,
        pages: u32,
        also: Option<Span>,
        mut work: impl FnMut(&mut Work<'_>, Span) -> Result<T, Refusal>,
    ) -> Result<Option<T>, Refusal> {
        let Some(mut arena) = self.arena() else { return Ok(None) };
        let (own, request) = (self.own, Request::new(pages, 0));
        let mut plan = arena.plan(request);
        let mut outcome = Ok(None);
        while matches!(outcome, Ok(None)) {
            // A window may be a piece that is taken for this.
            let Some(window) = plan.next(&own) else { break };
            let pieces = also.map_or(window.span.pieces(), |also| both(also, window.span));
            outcome = self.change(pieces, |held| match arena.search(&held.space, window, request) {
                Found::Found(span) => work(held, span).map(Some),
                Found::Full | Found::GaveUp => Ok(None),
            });
        }
        self.keep(Some(arena));
        outcome
    }

    /// This core's place in the range.
    fn arena(&self) -> Option<Arena> {
        let limits = Span::new(TACET_RANGE_BREAK_PAGES, self.own.top().checked_sub(TACET_RANGE_BREAK_PAGES)?)?;
        Some(self.frames.arenas.of(self.number, self.core.index() as u16 + 1, limits))
    }

    fn keep(&mut self, arena: Option<Arena>) {
        if let Some(arena) = arena {
            self.frames.arenas.keep(self.number, arena);
        }
    }
}

/// The pieces of both, and what is between them.
fn both(one: Span, other: Span) -> core::ops::Range<u32> {
    let (one, other) = (one.pieces(), other.pieces());
    one.start.min(other.start)..one.end.max(other.end)
}

impl Work<'_> {
    /// Whether it was free, and is mapped.
    fn map_if_free(&mut self, span: Span, attributes: Attributes, otherwise: Refusal) -> Result<bool, Refusal> {
        let free = self.space.is_free(span);
        if free {
            self.space.map(span, attributes).map_err(|_| otherwise)?;
        }
        Ok(free)
    }

    /// Moves the break from page `old` to page `new`, where it is `wanted`; false if something is in the way.
    fn move_break(&mut self, (old, new): (u32, u32), wanted: u64, attributes: Attributes) -> Result<bool, Refusal> {
        if let Some(more) = Span::new(old, new.saturating_sub(old))
            && !self.grow_break(more, attributes)?
        {
            return Ok(false);
        }
        if let Some(rest) = Span::new(new, old.saturating_sub(new)) {
            self.remove(rest)?;
        }
        self.held.set_program_break(wanted);
        Ok(true)
    }

    /// False: something is in the way, or there is no room.
    fn grow_break(&mut self, more: Span, attributes: Attributes) -> Result<bool, Refusal> {
        match self.space.map(more, attributes) {
            Ok(()) => Ok(true),
            Err(Error::Occupied(_) | Error::NoFrame | Error::NoTable) => Ok(false),
            Err(_) => Err(Refusal::Beyond),
        }
    }

    fn resize(&mut self, old: Span, pages: u32) -> Result<Resized, Refusal> {
        if pages <= old.pages() {
            if let Err(error) = self.mapped(old) {
                return Ok(Resized::Failed(error));
            }
            if let Some(rest) = Span::new(old.first() + pages, old.pages() - pages) {
                self.remove(rest)?;
            }
            return Ok(Resized::Done(old.first()));
        }
        if !self.space.is_one_mapping(old) {
            return Ok(Resized::Failed(BAD_ADDRESS));
        }
        match self.space.grow(old, pages - old.pages()) {
            Ok(()) => Ok(Resized::Done(old.first())),
            Err(Error::Occupied(_) | Error::Outside) => Ok(Resized::Elsewhere),
            Err(_) => Err(Refusal::Beyond),
        }
    }

    /// Moves all of `from` to the beginning of `to`, which is free, and maps the rest of
    /// it alike. Linux maps nothing of `from`. All or nothing.
    fn carry(&mut self, from: Span, to: Span) -> Result<(), Error> {
        let rest = Span::new(to.first() + from.pages(), to.pages() - from.pages());
        if let Some(rest) = rest {
            let last = self.space.view(from.end() - 1).and_then(|view| view.entry.attributes());
            self.space.map(rest, last.ok_or(Error::Unmapped(from.end() - 1))?)?;
        }
        let moved = self.space.shift(from, to.first()).inspect_err(|_| {
            // it was free, and nobody has seen it
            let leaving = &mut self.leaving;
            let _ = rest.map(|rest| self.space.unmap(rest, |new| leaving.retire(new)));
        })?;
        self.stale |= moved.pages != 0;
        Ok(())
    }
}
