// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mapping: at an address that is asked for, or at one that is free.
//!
//! Each CPU looks for addresses in pieces of the range that it owns (`tacet_logic::ranges`), from the top downwards:
//! CPUs that map do not meet. What is unmapped is found again first, so that a program which maps and unmaps in turn
//! gets the same addresses.

use super::range::{BAD_ADDRESS, EXISTS, NO_MEMORY, Range, Refusal, Result, Work};
use crate::base::long::{Failure, Kind, Long, Short, ZEROED};
use crate::host::Host;
use crate::host::partition::{BREAK_PAGES, HeldRange, PartitionMemory, SharedRange};
use tacet_arch::Processor;
use tacet_logic::paging::{Attributes, Entry, Error, PAGES, Sameness, Span};
use tacet_logic::ranges::{Arena, Found, Request};

/// How the resizing of a mapping ended.
enum Resized {
    Done(u32),
    Failed(u64),
    /// There is no room behind it.
    Elsewhere,
}

impl<H: Host> Range<'_, H> {
    /// Maps `pages` pages where there is room, at `hint` if that is free. What the
    /// partition has no room for is the host's.
    pub fn map(&mut self, pages: u32, hint: Option<Span>, attributes: Attributes) -> Result<u64> {
        if let Some(span) = hint
            && self.change(span.pieces(), |work| work.map_if_free(span, attributes, Refusal::Elsewhere))?
        {
            return Ok(self.address(span.first()));
        }
        let map = |work: &mut Work<'_, H>, span| {
            work.map(span, attributes, Refusal::Elsewhere)?;
            Ok(span.first())
        };
        let first = self.anywhere(pages, None, map)?.ok_or(Refusal::Elsewhere)?;
        Ok(self.address(first))
    }

    /// Maps `span`. What is there is unmapped if that is allowed.
    pub fn map_at(&mut self, span: Span, replace: bool, attributes: Attributes) -> Result<u64> {
        let mapped = self.change(span.pieces(), |work| {
            if replace && !work.space.is_free(span) {
                if !work.is_short(span) {
                    return work.later(span, Kind::Replace(attributes), work.address(span));
                }
                work.remove(span)?;
            }
            work.map_if_free(span, attributes, Refusal::Beyond)
        })?;
        Ok(if mapped { self.address(span.first()) } else { EXISTS })
    }

    /// brk(2): the break afterwards. If it cannot be moved to there, it stays.
    pub fn set_break(&mut self, wanted: u64, attributes: Attributes) -> Result<u64> {
        let base = self.shared.base();
        let limit = base + (u64::from(BREAK_PAGES) << 12);
        let page = |address: u64| ((address - base).div_ceil(4096)) as u32;
        loop {
            let (start, end) = self.shared.program_break();
            if wanted < start || wanted > limit || self.is_too_much(page(wanted.max(end)) - page(end)) {
                return self.confirm(end);
            }
            let heap = Span::new(page(start), page(wanted.max(end)) - page(start) + 1).ok_or(Refusal::Beyond)?;
            let shared = self.shared;
            let moved = self.change(heap.pieces(), |work| {
                // Another CPU may have moved it before we had the lock.
                let (_, now) = shared.program_break();
                if now != end {
                    Ok(None)
                } else {
                    work.move_break((page(end), page(wanted)), (end, wanted), attributes).map(Some)
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
    pub fn resize(&mut self, old: Span, pages: u32, may_move: bool) -> Result<u64> {
        let grown = Span::new(old.first(), old.pages().max(pages)).unwrap_or(old);
        let first = match self.change(grown.pieces(), |work| work.resize(old, pages))? {
            Resized::Done(first) => first,
            Resized::Failed(error) => return Ok(error),
            Resized::Elsewhere if !may_move => return Ok(NO_MEMORY),
            Resized::Elsewhere => {
                let moved = self.anywhere(pages, Some(old), |work, to| {
                    if !work.is_one_mapping(old, Some(BAD_ADDRESS))? {
                        return Ok(Err(BAD_ADDRESS));
                    }
                    work.unmirrored(old)?;
                    work.carry(old, to)?;
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

    /// Moves a mapping to `to`, resized to its size; what is there is unmapped. Without a change of size it may be
    /// `several` mappings.
    pub fn move_to(&mut self, old: Span, to: Span, several: bool) -> Result<u64> {
        if old.overlaps(to) {
            return Err(Refusal::Beyond); // an error, which the host knows best
        }
        let moved = self.change(both(old, to), |work| {
            if !work.is_mapped(old.first()) {
                return Ok(Err(BAD_ADDRESS));
            }
            let stays = Span::new(old.first(), old.pages().min(to.pages())).ok_or(Refusal::Beyond)?;
            let rest = Span::new(stays.end(), old.pages() - stays.pages());
            // What a host has unmapped by then if it refuses this, depends on its version.
            let several = several && old.pages() == to.pages() && work.mapped(old).is_ok();
            if !several && !work.is_one_mapping(stays, None)? {
                return Err(Refusal::Beyond);
            }
            work.few_pages(to)?;
            rest.map_or(Ok(()), |rest| work.few_pages(rest))?;
            work.unmirrored(old)?;
            work.remove(to)?;
            rest.map_or(Ok(()), |rest| work.remove(rest))?;
            work.carry(stays, to).map(Ok)
        })?;
        Ok(moved.map_or_else(|error| error, |()| self.address(to.first())))
    }

    /// munmap(2)
    pub fn unmap(&mut self, span: Span) -> Result<u64> {
        let (shared, mut arena) = (self.shared, self.arena());
        self.change(span.pieces(), |work| {
            work.remove(span)?;
            if let Some(arena) = &mut arena {
                arena.freed(&work.space, &shared, span);
            }
            Ok(())
        })?;
        self.keep(arena);
        Ok(0)
    }

    /// Finds free addresses and does `work` there, before another CPU can take them; with the right to `also`. `None`:
    /// there are none.
    fn anywhere<T>(
        &mut self,
        pages: u32,
        also: Option<Span>,
        mut work: impl FnMut(&mut Work<'_, H>, Span) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(mut arena) = self.arena() else { return Ok(None) };
        // Whoever does not know the process's random top does not know where in a piece its memory begins, either.
        let (shared, request) = (self.shared, Request::new(pages, PAGES - 1 - self.shared.top().min(PAGES - 1)));
        if !self.again {
            arena.begin();
        }
        let mut plan = arena.plan(request);
        let (mut found, mut more) = (Ok(None), false);
        while matches!(found, Ok(None)) {
            // The plan may take a piece for this.
            let Some(window) = plan.next(&shared) else { break };
            let pieces = also.map_or(window.span.pieces(), |also| both(also, window.span));
            found = self.change(pieces, |held| match arena.search(&held.space, window, request) {
                Found::At(span) => work(held, span).map(Some),
                Found::GaveUp if window.is_last() => {
                    more = true;
                    Ok(None)
                }
                Found::Nowhere | Found::GaveUp => Ok(None),
            });
        }
        self.keep(Some(arena));
        if more && matches!(found, Ok(None)) {
            self.cpu.rest.set(Some(Long::again()));
            return Err(Refusal::Later);
        }
        found
    }

    /// Where this CPU looks for addresses in the range.
    fn arena(&mut self) -> Option<Arena> {
        let limits = Span::new(BREAK_PAGES, self.shared.top().checked_sub(BREAK_PAGES)?)?;
        Some(self.memory.arenas().of(self.name.serial, self.cpu.host.processor().index() as u16 + 1, limits))
    }

    fn keep(&mut self, arena: Option<Arena>) {
        if let Some(arena) = arena {
            self.memory.arenas().keep(self.name.serial, arena);
        }
    }
}

/// The pieces of both, and what is between them.
fn both(one: Span, other: Span) -> core::ops::Range<u32> {
    let (one, other) = (one.pieces(), other.pieces());
    one.start.min(other.start)..one.end.max(other.end)
}

impl<H: Host> Work<'_, H> {
    /// Whether it was free, and is mapped. The look ends at the first entry that is not free, and what it looks at until then
    /// is one free run, which is short: a table without entries goes with its last one. So at most 511 entries of each
    /// smaller size at both ends, and 512 pieces.
    fn map_if_free(&mut self, span: Span, attributes: Attributes, otherwise: Refusal) -> Result<bool> {
        let free = self.space.is_free(span);
        if free {
            self.map(span, attributes, otherwise)?;
        }
        Ok(free)
    }

    /// Maps free addresses, for a call that has the first as its result.
    fn map(&mut self, span: Span, attributes: Attributes, otherwise: Refusal) -> Result<()> {
        if !self.begin_map(span, attributes).map_err(|_| otherwise)? {
            return Ok(());
        }
        let short = match otherwise {
            Refusal::Elsewhere => Short::Undo(Failure::Elsewhere),
            _ => Short::Beyond,
        };
        self.later(span, Kind::Stage(short), self.address(span))
    }

    /// Maps free addresses. True: their frames are for later.
    fn begin_map(&mut self, span: Span, attributes: Attributes) -> core::result::Result<bool, Error> {
        let long = span.pages() > ZEROED && attributes.eager && !attributes.protection.is_none();
        if long {
            self.space.reserve(span, attributes)?
        } else {
            self.space.map(span, attributes)?
        }
        Ok(long)
    }

    fn address(&self, span: Span) -> u64 {
        self.shared.base() + (u64::from(span.first()) << 12)
    }

    /// Moves the break from page `old` to page `new`, from the address `end` to `wanted`; false if something is in the
    /// way, or there is no room.
    fn move_break(
        &mut self,
        (old, new): (u32, u32),
        (end, wanted): (u64, u64),
        attributes: Attributes,
    ) -> Result<bool> {
        let more = Span::new(old, new.saturating_sub(old));
        let long = match more.map_or(Ok(false), |more| self.begin_map(more, attributes)) {
            Ok(long) => long,
            Err(Error::Occupied(_) | Error::NoFrame | Error::NoTable) => return Ok(false),
            Err(_) => return Err(Refusal::Beyond),
        };
        if let Some(rest) = Span::new(new, old.saturating_sub(new)) {
            self.remove(rest)?;
        }
        self.held.set_program_break(wanted);
        match more.filter(|_| long) {
            Some(more) => self.later(more, Kind::Stage(Short::Undo(Failure::Break(end))), wanted),
            None => Ok(true),
        }
    }

    fn resize(&mut self, old: Span, pages: u32) -> Result<Resized> {
        if !self.is_mapped(old.first()) {
            return Ok(Resized::Failed(BAD_ADDRESS));
        }
        // As munmap(2), whatever is there.
        if pages <= old.pages() {
            if let Some(rest) = Span::new(old.first() + pages, old.pages() - pages) {
                self.remove(rest)?;
            }
            return Ok(Resized::Done(old.first()));
        }
        if !self.is_one_mapping(old, Some(BAD_ADDRESS))? {
            return Ok(Resized::Failed(BAD_ADDRESS));
        }
        let Some(more) = Span::new(old.end(), pages - old.pages()) else { return Ok(Resized::Elsewhere) };
        let attributes = self.attributes_of_last(old)?;
        match self.begin_map(more, attributes) {
            Ok(true) => self.later(more, Kind::Stage(Short::Bears), self.address(old)),
            Ok(false) => Ok(Resized::Done(old.first())),
            Err(Error::Occupied(_) | Error::Outside) => Ok(Resized::Elsewhere),
            Err(_) => Err(Refusal::Beyond),
        }
    }

    fn is_mapped(&self, page: u32) -> bool {
        self.space.view(page).is_some_and(|view| view.entry != Entry::Absent)
    }

    /// Whether `span` is within one mapping of the host's, if that is certain. If it is long, it is looked at in portions,
    /// and several mappings are this error; so this comes before anything is changed.
    fn is_one_mapping(&self, span: Span, error: Option<u64>) -> Result<bool> {
        if self.same == Some(span) {
            return Ok(true);
        }
        let view = self.space.view(span.first());
        let Some(first) = view.and_then(|view| view.entry.attributes()) else { return Ok(false) };
        if !self.is_short(span) {
            return self.later(span, Kind::Same(first, error), 0);
        }
        match self.space.sameness(span, first) {
            Sameness::One => Ok(true),
            Sameness::Several => Ok(false),
            Sameness::Unknown => Err(Refusal::Beyond),
        }
    }

    fn attributes_of_last(&self, span: Span) -> Result<Attributes> {
        self.space.view(span.end() - 1).and_then(|view| view.entry.attributes()).ok_or(Refusal::Beyond)
    }

    /// Moves all of `from` to the beginning of `to`, which is free, and maps the rest of it alike, for a call that has the
    /// first address as its result. The host maps nothing of `from`. All or nothing.
    fn carry(&mut self, from: Span, to: Span) -> Result<()> {
        let rest = Span::new(to.first() + from.pages(), to.pages() - from.pages());
        let mut long = false;
        if let Some(rest) = rest {
            let attributes = self.attributes_of_last(from)?;
            long = self.begin_map(rest, attributes).map_err(|_| Refusal::Beyond)?;
        }
        let moved = self.space.shift(from, to.first()).map_err(|_| {
            // it was free, and no thread has seen it
            let leaving = &mut self.leaving;
            let _ = rest.map(|rest| self.space.unmap(rest, |new| leaving.retire(new)));
            Refusal::Beyond
        })?;
        self.stale |= moved.pages != 0;
        match rest.filter(|_| long) {
            Some(rest) => self.later(rest, Kind::Stage(Short::Bears), self.address(to)),
            None => Ok(()),
        }
    }
}
