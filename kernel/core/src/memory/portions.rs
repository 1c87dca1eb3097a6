// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls whose work depends on what the program has: in portions.
//!
//! A call that would hold locks for long does not: it stores its rest ([`Long`]) and says [`Refusal::Later`]. One loop
//! ([`Range::perform`]) does the rest portion by portion. Each portion holds the lock of one piece, flushes what it took
//! away, and leaves memory as a program may find it. Between two portions the CPU holds nothing. If anything waits for
//! the CPU, the call pauses: requests are served, then the call continues (`crate::run`).
//!
//! No other call of the thread and no signal comes in between, as on Linux: a recall waits for the end of the call, which
//! is near. Two things end the call before that. A thread that is killed needs no result. And the zeroing of pages, which
//! may take a minute, is left to their first touch.
//!
//! In between, other threads see only what they may see on Linux too: accesses do not wait for such calls there. But
//! addresses that a call gives up stay taken until its last step, which is short ([`Kind::Withdraw`]). Otherwise another
//! thread could map there, and lose that mapping to the rest of the call. Pages that a mapping replaces
//! ([`Kind::Replace`]) are the new ones at once: a touch of them is never an error.

use super::range::{INVALID, NO_MEMORY, Range, Refusal, Result, Work};
use crate::base::long::{Change, Failure, Kind, Long, PORTION, Short, ZEROED};
use crate::host::Host;
use crate::host::partition::{HeldRange, SharedRange};
use tacet_arch::Processor;
use tacet_logic::paging::{Attributes, Error, Protection, Sameness, Span};

/// After so long a call looks again whether a device still has its pages.
const LOOK_AGAIN_NS: u64 = 1_000;
/// Pages that a portion zeroes if nothing waits for the CPU.
const ZEROED_AT_MOST: u32 = 8 * ZEROED;

/// Of pages that are taken away.
const NOTHING: Attributes =
    Attributes { protection: Protection::NONE, policy: 0, eager: false, small: false, undumped: false };

/// The outcome of a portion.
enum Step {
    More(Long),
    /// The call begins again.
    Again,
    Done(u64),
}

impl Step {
    /// The same pages as those of `long` from the beginning.
    fn then(long: Long, kind: Kind) -> Self {
        Self::More(Long { at: long.span.first(), kind, ..long })
    }
}

impl<H: Host> Range<'_, H> {
    /// Does the work of a call: at once, or, if it is long, in portions. `work` is done again when portions have made it
    /// short.
    #[inline]
    pub fn perform(&mut self, mut work: impl FnMut(&mut Self) -> Result<u64>) -> Result<u64> {
        let paused = self.cpu.rest.get().is_some();
        match if paused { Err(Refusal::Later) } else { work(self) } {
            Err(Refusal::Later | Refusal::Lent) => self.in_portions(&mut work),
            done => done,
        }
    }

    /// Until the call has its result, or something waits for the CPU: then the rest stays in its place.
    #[cold]
    fn in_portions(&mut self, work: &mut dyn FnMut(&mut Self) -> Result<u64>) -> Result<u64> {
        loop {
            let rest = self.cpu.rest.take();
            let done = match rest {
                Some(long) => self.step(long),
                None => match work(self) {
                    Err(Refusal::Later) => match self.cpu.rest.take() {
                        // That was a portion itself: a part of a search for addresses.
                        Some(long) if long.is_done() => Ok(Step::More(long)),
                        rest => {
                            self.cpu.rest.set(rest);
                            continue;
                        }
                    },
                    done => done.map(Step::Done),
                },
            };
            let lent = matches!(done, Err(Refusal::Lent));
            let step = match done {
                // Nothing of this portion is done.
                Err(Refusal::Lent) => {
                    let processor = self.cpu.host.processor();
                    processor.spin(LOOK_AGAIN_NS, || processor.is_wanted());
                    Step::More(rest.unwrap_or_else(Long::again))
                }
                done => done?,
            };
            self.cpu.host.count_progress();
            match step {
                Step::Done(result) => return Ok(result),
                Step::Again => self.again = true,
                Step::More(long) => {
                    self.cpu.rest.set(Some(long));
                    // The bell of a recall rings once. If it did so before the zeroing, only this look tells of it.
                    let may_leave = long.result_without_rest().is_some();
                    // Only between two portions does this CPU look at its own flights.
                    let looks = lent && !self.cpu.flights.is_empty();
                    if looks || self.cpu.host.processor().is_wanted() || may_leave && self.cpu.is_recalled() {
                        return Err(Refusal::Later);
                    }
                }
            }
        }
    }

    /// One portion.
    fn step(&mut self, mut long: Long) -> Result<Step> {
        let Some(span) = long.next() else { return self.finish(long) };
        let cpu = self.cpu;
        // A page of 1 GiB that is left would be begun anew.
        let stops = |inside: bool| cpu.host.processor().is_wanted() && (!inside || cpu.is_recalled());
        match self.change(span.pieces(), |work| work.one_portion(span, &mut long, stops)) {
            Ok(true) => Ok(Step::More(long)),
            Ok(false) => self.fail(long),
            // The result is decided. After a hand-over the pages are the host's.
            Err(Refusal::Closed) if matches!(long.kind, Kind::Stage(_) | Kind::Zero) => Ok(Step::Done(long.result)),
            Err(refusal) => Err(refusal),
        }
    }

    /// All portions are done.
    fn finish(&mut self, long: Long) -> Result<Step> {
        Ok(match long.kind {
            Kind::Stage(_) => Step::then(long, Kind::Zero),
            Kind::Divide(protection) => Step::then(long, Kind::Check(Change::Protect(protection))),
            Kind::Check(change) => Step::then(long, Kind::Change(change)),
            Kind::Change(_) if long.staged => Step::then(long, Kind::Zero),
            Kind::Replace(Attributes { eager: true, protection, .. }) if !protection.is_none() => {
                Step::then(long, Kind::Stage(Short::Beyond))
            }
            Kind::Replace(_) | Kind::Zero | Kind::Change(_) => Step::Done(long.result),
            Kind::Withdraw => Step::Again,
            Kind::Same(..) if long.result != 0 => Step::Done(long.result),
            // The host's answer depends on its version.
            Kind::Same(..) if long.staged => return Err(Refusal::Beyond),
            // Another thread's change in between counts as later than this call: neither thread can tell.
            Kind::Same(..) => {
                self.same = Some(long.span);
                Step::Again
            }
            Kind::Undo(failure) => {
                self.change(long.span.pieces(), |work| work.remove(long.span))?;
                match failure {
                    Failure::Elsewhere => return Err(Refusal::Elsewhere),
                    Failure::Break(old) => Step::Done(old),
                }
            }
        })
    }

    /// There are too few frames for what is to be staged.
    fn fail(&mut self, long: Long) -> Result<Step> {
        let Kind::Stage(short) = long.kind else { return Err(Refusal::Beyond) };
        match short {
            Short::Bears => Ok(Step::then(long, Kind::Zero)),
            Short::Beyond => Err(Refusal::Beyond),
            // Another thread has moved the break further: it has these pages.
            Short::Undo(Failure::Break(old)) if !self.take_break_back(old, long.result)? => {
                Ok(Step::then(long, Kind::Zero))
            }
            Short::Undo(failure) => Ok(Step::then(long, Kind::Undo(failure))),
        }
    }

    /// False: it is not at `new` any more.
    fn take_break_back(&mut self, old: u64, new: u64) -> Result<bool> {
        let shared = self.shared;
        let page = ((shared.program_break().0 - shared.base()) >> 12) as u32;
        let piece = Span::new(page, 1).ok_or(Refusal::Beyond)?.pieces();
        self.change(piece, |work| {
            let there = shared.program_break().1 == new;
            if there {
                work.held.set_program_break(old);
            }
            Ok(there)
        })
    }
}

impl<H: Host> Work<'_, H> {
    /// One portion at the beginning of `span`, which is in one piece. False: there are too few frames.
    fn one_portion(&mut self, span: Span, long: &mut Long, stops: impl FnMut(bool) -> bool) -> Result<bool> {
        match long.kind {
            Kind::Stage(_) => return self.stage(span, long),
            Kind::Zero => long.at = self.space.commit_part(span, ZEROED_AT_MOST, stops),
            Kind::Withdraw | Kind::Undo(_) => self.renew(span, NOTHING, long)?,
            Kind::Replace(new) => self.renew(span, new, long)?,
            Kind::Same(first, error) => {
                let part = self.part(span);
                long.at = part.end();
                match self.space.sameness(part, first) {
                    Sameness::One => {}
                    Sameness::Unknown => long.staged = true,
                    Sameness::Several => long.ends(error.ok_or(Refusal::Beyond)?),
                }
            }
            Kind::Divide(_) => {
                let part = Span::new(span.first(), span.pages().min(PORTION)).unwrap_or(span);
                self.divide(part)?;
                long.at = part.end();
            }
            Kind::Check(change) => {
                let part = self.part(span);
                self.unmirrored_of(part, long.span)?;
                long.at = part.end();
                if let Change::Bind(policy, _) = change {
                    let error = self.may_bind(part, policy)?;
                    if error != 0 {
                        long.kind = Kind::Change(change);
                        long.ends(error);
                    }
                }
            }
            Kind::Change(Change::Populate(access)) => return self.populate(span, access, long),
            Kind::Change(change) => {
                let copies = matches!(change, Change::Bind(..));
                let part = if copies { self.part_to_copy(span) } else { self.part(span) };
                long.at = part.end();
                self.change(part, change, long)?;
            }
        }
        Ok(true)
    }

    /// Takes the pages at the beginning of `span` away, and keeps the addresses.
    fn renew(&mut self, span: Span, new: Attributes, long: &mut Long) -> Result<()> {
        let part = self.part(span);
        self.unmirrored_of(part, long.span)?;
        let leaving = &mut self.leaving;
        self.space.renew(part, new, |old| leaving.retire(old)).map_err(|_| Refusal::Beyond)?;
        long.at = part.end();
        Ok(())
    }

    /// Stages the beginning of `span`.
    fn stage(&mut self, span: Span, long: &mut Long) -> Result<bool> {
        match self.space.stage_part(span, PORTION) {
            Ok(page) => long.at = page,
            Err(Error::NoFrame | Error::NoTable) => return Ok(false),
            Err(_) => return Err(Refusal::Beyond),
        }
        Ok(true)
    }

    /// Stages the beginning of `span`, up to the first page where that is an error.
    fn populate(&mut self, span: Span, access: Protection, long: &mut Long) -> Result<bool> {
        let span = self.space.portion(span, PORTION, |_| 1);
        let hole = self.space.hole(span).unwrap_or(span.end());
        let forbidden = if access.is_none() { None } else { self.space.forbidden(span, access) };
        let good = hole.min(forbidden.unwrap_or(hole));
        if let Some(part) = Span::new(span.first(), good - span.first())
            && !self.stage(part, long)?
        {
            return Ok(false);
        }
        long.staged = true;
        if good < span.end() && long.at.max(span.first()) >= good {
            long.ends(if good < hole { INVALID } else { NO_MEMORY });
        }
        Ok(true)
    }

    fn change(&mut self, part: Span, change: Change, long: &mut Long) -> Result<()> {
        let result = match change {
            Change::Discard => {
                long.result = self.discard(part, long.span)?.max(long.result);
                return Ok(());
            }
            Change::Bind(policy, strict) => {
                self.unmirrored_of(part, long.span)?;
                match self.may_bind(part, policy)? {
                    // The pages behind one that stays are moved too.
                    0 => {
                        long.result = self.bind(part, policy, strict)?.max(long.result);
                        return Ok(());
                    }
                    hole => hole,
                }
            }
            Change::Protect(protection) => {
                self.unmirrored_of(part, long.span)?;
                let (result, staged) = self.protect(part, protection)?;
                long.staged |= staged;
                result
            }
            Change::Advise(advice) => {
                long.result = self.advise(part, advice)?.max(long.result);
                return Ok(());
            }
            Change::Populate(_) => 0,
        };
        if result != 0 {
            long.ends(result);
        }
        Ok(())
    }
}
