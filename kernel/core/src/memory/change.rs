// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Unmapping, protecting and advising, and the steps that all changes consist of.

use super::range::{BAD_ADDRESS, INVALID, IO_ERROR, NO_MEMORY, Range, Refusal, Result, Work};
use crate::base::long::{Advice, Change, Kind, PORTION, ZEROED};
use crate::host::Host;
use crate::host::partition::SharedRange;
use tacet_arch::Processor;
use tacet_logic::frames::Policy;
use tacet_logic::paging::{Attributes, Protection, Span};

impl<H: Host> Range<'_, H> {
    /// mprotect(2)
    pub fn protect(&mut self, span: Span, protection: Protection) -> Result<u64> {
        if protection.execute {
            self.change(span.pieces(), |work| {
                if span.pages() > PORTION {
                    return work.later(span, Kind::Divide(protection), 0);
                }
                work.divide(span)
            })?;
        }
        self.change(span.pieces(), |work| {
            if !work.is_short(span) {
                return work.later(span, Kind::Check(Change::Protect(protection)), 0);
            }
            work.unmirrored(span)?;
            match work.protect(span, protection)? {
                (result, true) => work.later(span, Kind::Zero, result),
                (result, false) => Ok(result),
            }
        })
    }

    /// The next touch of these pages finds zeros.
    pub fn discard(&mut self, span: Span) -> Result<u64> {
        self.change(span.pieces(), |work| {
            if !work.is_short(span) {
                return work.later(span, Kind::Check(Change::Discard), 0);
            }
            work.discard(span, span)
        })
    }

    /// Puts frames behind all pages, if `access` to them is allowed.
    pub fn populate(&mut self, span: Span, access: Protection) -> Result<u64> {
        self.change(span.pieces(), |work| {
            if span.pages() > ZEROED {
                return work.later(span, Kind::Change(Change::Populate(access)), 0);
            }
            let forbidden = if access.is_none() { None } else { work.space.forbidden(span, access) };
            if forbidden.is_some_and(|page| work.space.hole(span).is_none_or(|hole| page < hole)) {
                return Ok(INVALID);
            }
            work.before_hole(span, |work, part| work.space.populate(part).map_err(|_| Refusal::Beyond))
        })
    }

    /// mbind(2): moves these pages to where `policy` wants them, as far as there is room. If the call is strict, a page
    /// that could not be moved is an error.
    pub fn bind(&mut self, span: Span, policy: Policy, strict: bool) -> Result<u64> {
        self.change(span.pieces(), |work| {
            if span.pages() > ZEROED {
                return work.later(span, Kind::Check(Change::Bind(policy, strict)), 0);
            }
            work.unmirrored(span)?;
            match work.may_bind(span, policy)? {
                0 => work.bind(span, policy, strict),
                error => Ok(error),
            }
        })
    }

    /// These pages' own policy; the default one if they have none.
    pub fn policy(&mut self, page: Span) -> Result<Policy> {
        let shared = self.shared;
        self.change(page.pieces(), |work| {
            let attributes = work.space.view(page.first()).and_then(|view| view.entry.attributes());
            Ok(match attributes.ok_or(Refusal::Beyond)?.policy {
                0 => Policy::default(),
                number => shared.policy(number),
            })
        })
    }

    /// Changes what is remembered of these pages.
    pub fn advise(&mut self, span: Span, advice: Advice) -> Result<u64> {
        self.change(span.pieces(), |work| {
            if !work.is_short(span) {
                return work.later(span, Kind::Change(Change::Advise(advice)), 0);
            }
            work.advise(span, advice)
        })
    }
}

impl<H: Host> Work<'_, H> {
    /// Unmaps whatever is in `span`, which [`Self::few_pages`] may have found to be long.
    pub fn remove(&mut self, span: Span) -> Result<()> {
        self.few_pages(span)?;
        self.unmirrored(span)?;
        let leaving = &mut self.leaving;
        self.space.unmap(span, |old| leaving.retire(old)).map_err(|_| Refusal::Beyond)?;
        Ok(())
    }

    /// `span` can be unmapped at once. If not, its pages are taken away first, and the call begins again: so this comes
    /// before anything is changed.
    pub fn few_pages(&mut self, span: Span) -> Result<()> {
        if self.is_short(span) { Ok(()) } else { self.later(span, Kind::Withdraw, 0) }
    }

    /// Divides large pages, because these are to be code. The flush comes with the end of the work, before they are.
    pub fn divide(&mut self, span: Span) -> Result<()> {
        let divided = self.space.divide_for_code(span);
        self.stale |= divided.unwrap_or(true);
        divided.map(drop).map_err(|_| Refusal::Beyond)
    }

    /// Protects `span` up to a hole. The result of the call, and whether pages are pending.
    pub fn protect(&mut self, span: Span, protection: Protection) -> Result<(u64, bool)> {
        let mut pending = false;
        let result = self.before_hole(span, |work, part| {
            let protected = work.space.protect_pending(part, protection).or_else(|_| {
                // Page by page, as the program touches them, there may be enough frames.
                let lazy = |attributes| Attributes { eager: false, ..attributes };
                work.space.advise(part, lazy)?;
                work.space.protect_pending(part, protection)
            });
            let (lost, staged) = protected.map_err(|_| Refusal::Beyond)?;
            pending = staged;
            work.stale |= lost.pages != 0;
            Ok(())
        })?;
        Ok((result, pending))
    }

    /// The next touch of `part` of what a call is about finds zeros. What is behind a hole is discarded too, then the hole
    /// is reported. A stack that a thread leaves is mostly a large span without a frame: one walk shows that.
    pub fn discard(&mut self, part: Span, whole: Span) -> Result<u64> {
        self.not_lent(part)?;
        let found = self.space.survey(part);
        if found.mirrored {
            return Err(Refusal::Mirrored(whole));
        }
        if found.frames {
            let (space, leaving) = (&mut self.space, &mut self.leaving);
            space.discard(part, |old| leaving.retire(old)).map_err(|_| Refusal::Beyond)?;
        }
        Ok(found.hole.map_or(0, |_| NO_MEMORY))
    }

    /// 0, or the error if some of `span` is not mapped.
    pub fn may_bind(&self, span: Span, policy: Policy) -> Result<u64> {
        match self.mapped(span) {
            // Without a policy, Linux accepts a hole.
            Err(_) if policy == Policy::default() => Err(Refusal::Beyond),
            mapped => Ok(mapped.err().unwrap_or(0)),
        }
    }

    /// Gives the pages this policy, and moves those that are elsewhere.
    pub fn bind(&mut self, span: Span, policy: Policy, strict: bool) -> Result<u64> {
        let (cpu, root, leaving) = (self.cpu, self.root, &mut self.leaving);
        let number = match policy == Policy::default() {
            true => 0,
            false => self.shared.number_of(policy, || cpu.host.count_progress()).ok_or(Refusal::Beyond)?,
        };
        self.space.advise(span, |old| Attributes { policy: number, ..old }).map_err(|_| Refusal::Beyond)?;
        let stayed = self.space.relocate(span, || cpu.host.processor().flush(root), |old| leaving.retire(old));
        Ok(if strict && stayed != 0 { IO_ERROR } else { 0 })
    }

    /// As [`Self::discard`]: what is behind a hole is advised too, then the hole is reported.
    pub fn advise(&mut self, span: Span, advice: Advice) -> Result<u64> {
        self.space.advise(span, |attributes| advice.apply(attributes)).map_err(|_| Refusal::Beyond)?;
        Ok(self.mapped(span).map_or(NO_MEMORY, |()| 0))
    }

    /// The host maps nothing of `span`, nor of a page that reaches into it. The host maps under the lock, so this stays
    /// so while the lock is held.
    pub fn unmirrored(&self, span: Span) -> Result<()> {
        self.unmirrored_of(span, span)
    }

    /// The same for a part of what a call is about. Nor has a device any of the part: devices get pages under the lock too.
    pub fn unmirrored_of(&self, part: Span, whole: Span) -> Result<()> {
        self.not_lent(part)?;
        if self.space.mirrored(part) { Err(Refusal::Mirrored(whole)) } else { Ok(()) }
    }

    fn not_lent(&self, part: Span) -> Result<()> {
        if self.cpu.common().loans.any_of(self.number, part) { Err(Refusal::Lent) } else { Ok(()) }
    }

    /// All of `span` is mapped, or the error for it.
    pub fn mapped(&self, span: Span) -> core::result::Result<(), u64> {
        self.space.hole(span).map_or(Ok(()), |_| Err(BAD_ADDRESS))
    }

    /// As Linux does for mprotect(2): changes the pages before a hole, then reports the hole as an error.
    fn before_hole(&mut self, span: Span, change: impl FnOnce(&mut Self, Span) -> Result<()>) -> Result<u64> {
        let hole = self.space.hole(span);
        if let Some(part) = Span::new(span.first(), hole.unwrap_or(span.end()) - span.first()) {
            change(self, part)?;
        }
        Ok(if hole.is_some() { NO_MEMORY } else { 0 })
    }
}
