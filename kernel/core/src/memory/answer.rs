// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Answers the questions of a host about ranges and frames. Except for `Touch`, no thread of the process uses the memory
//! meanwhile.
//!
//! The CPU that answers may be one on which other users' threads run. So it never waits for another CPU here: if a lock
//! is taken, it says so, and the host asks again. And it looks up from long work: if it is wanted, or a thread waits for
//! it, it answers after a portion of at most [`PORTION`] entries or pages (one large page, if that is more), and the host
//! asks on from there.

use crate::cpu::Cpu;
use crate::host::Host;
use crate::host::left::Unmapped;
use crate::host::partition::{PartitionMemory, SharedRange};
use crate::host::question::{Question, Source};
use tacet_arch::Processor;
use tacet_logic::frames::Policy;
use tacet_logic::paging::{AddressSpace, Attributes, Error, PageSize, Protection, Span, Tables};

/// For memory that no thread asked for.
const ANYWHERE: Source = Source { policy: Policy::NONE, allowed: u32::MAX };

/// Errors as hosts know them.
const AGAIN: i32 = -11;
const NO_MEMORY: i32 = -12;
const BAD_ADDRESS: i32 = -14;
const BUSY: i32 = -16;
const INVALID: i32 = -22;

/// Entries or pages of work in a portion: about what it takes to copy 2 MiB.
const PORTION: u32 = 512;

/// The page at which the host is to ask on, or that all is done, or why not.
type Answer = Result<Option<u32>, i32>;

const DONE: Answer = Ok(None);

/// Answers the question that is pending, if one is. `loaded`: a thread is in the middle of its turn.
pub fn answer<H: Host>(cpu: &mut Cpu<H>, loaded: bool) {
    let busy = loaded || !cpu.queue.is_empty();
    let (host, memory) = (&cpu.host, cpu.memory.get_mut());
    host.answer_question(|question| {
        let Some(memory) = memory else { return INVALID };
        let mut desk = Desk { host, memory, work: Work { host, busy, done: 0 } };
        let answer = match question {
            Question::Open { range } => desk.open(range),
            Question::Touch { range, page, write, from } => desk.touch(range, page, write, from),
            Question::Copy { from, to, at } => desk.copy(from, to, at),
            Question::Clear { range, at } => desk.clear(range, at),
            Question::Discard { range, first, pages, at } => desk.discard(range, (first, pages), at),
            Question::Free { frame } => desk.memory.free_held(frame).then_some(None).ok_or(INVALID),
            Question::Map { range, first, pages, at, from } => desk.map(range, (first, pages), at, from),
            Question::Join { place, first, order, node } => {
                desk.memory.join(place, first, order, node).then_some(None).ok_or(INVALID)
            }
            Question::Leave { place } => match desk.memory.leave(place) {
                Some(true) => DONE,
                Some(false) => Err(BUSY),
                None => Err(INVALID),
            },
            Question::Drain => {
                desk.memory.drain();
                if !loaded {
                    host.processor().leave_space();
                }
                DONE
            }
            Question::Give { job, order } => desk.memory.give(job, order).then_some(None).ok_or(NO_MEMORY),
            Question::Take { job } => match desk.memory.take(job) {
                true => Err(AGAIN),
                false => DONE,
            },
            Question::Unknown => Err(INVALID),
        };
        // A range has fewer pages than there are positive results.
        answer.map_or_else(|error| error, |next| next.unwrap_or(0) as i32)
    });
}

/// How much was done since the CPU last looked up.
struct Work<'a, H: Host> {
    host: &'a H,
    /// Somebody waits for the CPU anyway.
    busy: bool,
    done: u32,
}

impl<H: Host> Work<'_, H> {
    /// One entry and so many pages more. True: the CPU is wanted elsewhere.
    fn is_enough(&mut self, pages: u32) -> bool {
        self.done = self.done.saturating_add(pages + 1);
        if self.done < PORTION {
            return false;
        }
        self.done = 0;
        self.host.count_progress();
        self.busy || self.host.processor().is_wanted()
    }
}

/// What it takes to answer a question.
struct Desk<'a, H: Host> {
    host: &'a H,
    memory: &'a mut H::Memory,
    work: Work<'a, H>,
}

impl<H: Host> Desk<'_, H> {
    /// The range that the question is about: memory for it comes from `from`.
    fn range(&mut self, number: u32, from: Source) -> Result<<H::Memory as PartitionMemory>::Range, i32> {
        let range = self.memory.range(number).ok_or(INVALID)?;
        self.memory.begin(range, from.policy, from.allowed);
        Ok(range)
    }

    fn open(&mut self, number: u32) -> Answer {
        let range = self.range(number, ANYWHERE)?;
        range.set_root(self.memory.allocate_table().ok_or(NO_MEMORY)?);
        DONE
    }

    fn touch(&mut self, number: u32, page: u32, write: bool, from: Source) -> Answer {
        let range = self.range(number, from)?;
        let page = Span::new(page, 1).ok_or(INVALID)?;
        let _held = range.try_hold(page.pieces()).ok_or(AGAIN)?;
        if range.root() == 0 {
            return Err(INVALID);
        }
        let access = if write { Protection::READ_WRITE } else { Protection::READ };
        let touched = AddressSpace::new(range.root(), self.memory).fault(page.first(), access, PageSize::Mib2);
        if self.memory.tables_left() {
            // Nobody says here which address space CPUs would have to flush.
            self.host.die(format_args!("range {number}: a first touch took a table away"));
        }
        match touched {
            Ok(_) => DONE,
            Err(Error::NoFrame | Error::NoTable) => Err(NO_MEMORY),
            Err(_) => Err(BAD_ADDRESS),
        }
    }

    /// Reserves all of it at first, then puts frames behind it in portions, if pages come with the call that maps them.
    fn map(&mut self, number: u32, (first, pages): (u32, u32), at: u32, from: Source) -> Answer {
        let range = self.range(number, from)?;
        let span = Span::new(first, pages).ok_or(INVALID)?;
        let _held = range.try_hold(span.pieces()).ok_or(AGAIN)?;
        if range.root() == 0 {
            return Err(INVALID);
        }
        let (protection, eager) = (Protection::READ_WRITE, range.is_eager());
        let mut space = AddressSpace::new(range.root(), &mut *self.memory);
        let mut done = DONE;
        if at == 0 {
            let attributes = Attributes { protection, policy: 0, eager, small: false, undumped: false };
            done = space.reserve(span, attributes).map(|()| None).map_err(reason);
        }
        let mut page = at.max(first);
        while eager && done == DONE && page < span.end() {
            let part = portion(page, span.end());
            match space.populate(part) {
                Ok(()) if part.end() < span.end() && self.work.is_enough(part.pages()) => done = Ok(Some(part.end())),
                Ok(()) => page = part.end(),
                Err(error) => done = Err(reason(error)),
            }
        }
        if done.is_err() {
            self.unmap(range.root(), span);
        }
        done
    }

    /// Takes back what could not be mapped as a whole. No CPU has the address space loaded.
    fn unmap(&mut self, root: u64, span: Span) {
        let mut leaving = Unmapped::new(self.memory.leaving());
        // If a table is missing for that, it stays: the program gets a range without it.
        let _unmapped = AddressSpace::new(root, &mut *self.memory).unmap(span, |old| leaving.retire(old));
        self.memory.free_left(leaving.of_no_cpu());
    }

    /// No thread has the copy yet, and none writes to the original. What there is of a copy that fails the host has
    /// cleared.
    fn copy(&mut self, from: u32, to: u32, at: u32) -> Answer {
        if from == to {
            return Err(INVALID);
        }
        let (from, to) = (self.range(from, ANYWHERE)?, self.range(to, ANYWHERE)?);
        let pieces = Span::ALL.pieces();
        let _held = (from.try_hold(pieces.clone()).ok_or(AGAIN)?, to.try_hold(pieces).ok_or(AGAIN)?);
        if to.root() == 0 {
            to.set_root(self.memory.allocate_table().ok_or(NO_MEMORY)?);
            to.inherit(&from);
        }
        let work = &mut self.work;
        let copied = AddressSpace::new(from.root(), &mut *self.memory).copy_to(to.root(), at, |n| work.is_enough(n));
        self.memory.free_left(Unmapped::new(self.memory.leaving()).of_no_cpu());
        copied.map_err(|_| NO_MEMORY)
    }

    /// No CPU has the address space loaded, and the host maps nothing of it.
    fn clear(&mut self, number: u32, at: u32) -> Answer {
        let range = self.range(number, ANYWHERE)?;
        let _held = range.try_hold(Span::ALL.pieces()).ok_or(AGAIN)?;
        if range.root() == 0 {
            return Err(INVALID);
        }
        let (mut leaving, work) = (Unmapped::new(self.memory.leaving()), &mut self.work);
        let slow = leaving.is_slow();
        let mut space = AddressSpace::new(range.root(), &mut *self.memory);
        let next = space.clear(at, |old| leaving.retire(old), |pages| work.is_enough(if slow { pages / 8 } else { 0 }));
        if next.is_none() {
            self.memory.free_table(range.root());
            range.set_root(0);
        }
        self.memory.free_left(leaving.of_no_cpu());
        self.memory.drain();
        Ok(next)
    }

    /// No CPU has the range's tables loaded, and the host maps none of these pages.
    fn discard(&mut self, number: u32, (first, pages): (u32, u32), at: u32) -> Answer {
        let range = self.range(number, ANYWHERE)?;
        let span = Span::new(first, pages).ok_or(INVALID)?;
        let _held = range.try_hold(span.pieces()).ok_or(AGAIN)?;
        if range.root() == 0 {
            return Err(INVALID);
        }
        let (mut page, mut done) = (at.max(first), DONE);
        while done == DONE && page < span.end() {
            let part = portion(page, span.end());
            let mut leaving = Unmapped::new(self.memory.leaving());
            let discarded = AddressSpace::new(range.root(), &mut *self.memory).discard(part, |old| leaving.retire(old));
            self.memory.free_left(leaving.of_no_cpu());
            page = part.end();
            match discarded {
                Ok(_) if page < span.end() && self.work.is_enough(part.pages()) => done = Ok(Some(page)),
                Ok(_) => {}
                Err(error) => done = Err(reason(error)),
            }
        }
        done
    }
}

/// As much as is populated before the CPU looks up: not more than a piece, so that pages of its size are used.
fn portion(page: u32, end: u32) -> Span {
    let size = PageSize::Gib1.fitting(page, end - page);
    let pages = size.pages().max(PORTION - page % PORTION).min(end - page);
    Span::new(page, pages).unwrap_or(Span::ALL)
}

fn reason(error: Error) -> i32 {
    match error {
        Error::NoFrame | Error::NoTable => NO_MEMORY,
        _ => INVALID,
    }
}
