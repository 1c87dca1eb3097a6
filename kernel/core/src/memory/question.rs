// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a host asks a CPU to do about ranges and frames. Except for `Touch`, no thread of the process uses the memory
//! meanwhile.

use super::{Leaving, PartitionMemory, SharedRange};
use crate::cpu::Cpu;
use crate::host::Host;
use tacet_arch::Processor;
use tacet_logic::frames::Policy;
use tacet_logic::paging::{AddressSpace, Attributes, Error, PageSize, Protection, Span, Tables};

/// A question; a range is named by its number.
#[derive(Debug, Clone, Copy)]
pub enum Question {
    /// Make a range's table.
    Open { range: u32 },
    /// Put a frame behind a page.
    Touch { range: u32, page: u32, write: bool, from: Source },
    /// Copy a range into one that has no table.
    Copy { from: u32, to: u32 },
    /// Unmap all of a range, and take its table away.
    Clear { range: u32 },
    /// Free a frame that was unmapped while the host used it.
    Free { frame: u64 },
    /// Map pages that are free, for a program's data.
    Map { range: u32, first: u32, pages: u32, from: Source },
    /// A question that this co-kernel does not know.
    Unknown,
}

/// Where memory comes from.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    pub policy: Policy,
    /// Nodes, as bits.
    pub allowed: u32,
}

/// For memory that no thread asked for.
const ANYWHERE: Source = Source { policy: Policy::NONE, allowed: u32::MAX };

/// Errors as hosts know them.
const NO_MEMORY: i32 = -12;
const BAD_ADDRESS: i32 = -14;
const INVALID: i32 = -22;

type Answer = Result<(), i32>;

/// Answers the question that is pending, if one is.
pub fn answer<H: Host>(cpu: &mut Cpu<H>) {
    let (host, memory) = (&cpu.host, cpu.memory.get_mut());
    host.answer_question(|question| {
        let Some(memory) = memory else { return INVALID };
        let mut desk = Desk { host, memory };
        let answer = match question {
            Question::Open { range } => desk.open(range),
            Question::Touch { range, page, write, from } => desk.touch(range, page, write, from),
            Question::Copy { from, to } => desk.copy(from, to),
            Question::Clear { range } => desk.clear(range),
            Question::Free { frame } => desk.memory.free_held(frame).then_some(()).ok_or(INVALID),
            Question::Map { range, first, pages, from } => desk.map(range, (first, pages), from),
            Question::Unknown => Err(INVALID),
        };
        answer.err().unwrap_or(0)
    });
}

/// What it takes to answer a question.
struct Desk<'a, H: Host> {
    host: &'a H,
    memory: &'a mut H::Memory,
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
        Ok(())
    }

    fn touch(&mut self, number: u32, page: u32, write: bool, from: Source) -> Answer {
        let range = self.range(number, from)?;
        let page = Span::new(page, 1).ok_or(INVALID)?;
        if range.root() == 0 {
            return Err(INVALID);
        }
        let _held = range.hold(page.pieces(), || self.host.count_progress());
        let access = if write { Protection::READ_WRITE } else { Protection::READ };
        let touched = AddressSpace::new(range.root(), self.memory).fault(page.first(), access, PageSize::Mib2);
        if self.memory.tables_left() {
            self.host.processor().flush(0);
            self.memory.free_left(self.memory.leaving());
        }
        match touched {
            Ok(_) => Ok(()),
            Err(Error::NoFrame | Error::NoTable) => Err(NO_MEMORY),
            Err(_) => Err(BAD_ADDRESS),
        }
    }

    fn map(&mut self, number: u32, (first, pages): (u32, u32), from: Source) -> Answer {
        let range = self.range(number, from)?;
        let span = Span::new(first, pages).ok_or(INVALID)?;
        if range.root() == 0 {
            return Err(INVALID);
        }
        let _held = range.hold(span.pieces(), || self.host.count_progress());
        let (protection, eager) = (Protection::READ_WRITE, range.is_eager());
        let attributes = Attributes { protection, policy: 0, eager, small: false };
        AddressSpace::new(range.root(), self.memory).map(span, attributes).map_err(|error| match error {
            Error::NoFrame | Error::NoTable => NO_MEMORY,
            _ => INVALID,
        })
    }

    /// No thread has the copy yet, and none writes to the original.
    fn copy(&mut self, from: u32, to: u32) -> Answer {
        if from == to {
            return Err(INVALID);
        }
        let (from, to) = (self.range(from, ANYWHERE)?, self.range(to, ANYWHERE)?);
        let waits = || self.host.count_progress();
        let _held = (from.hold(Span::ALL.pieces(), waits), to.hold(Span::ALL.pieces(), waits));
        let root = self.memory.allocate_table().ok_or(NO_MEMORY)?;
        to.inherit(&from);
        let copied = AddressSpace::new(from.root(), self.memory).copy_to(root);
        let leaving = self.memory.leaving();
        if copied.is_err() {
            self.memory.free_table(root);
            self.memory.free_left(leaving);
            return Err(NO_MEMORY);
        }
        to.set_root(root);
        Ok(())
    }

    /// No CPU has the address space loaded, and the host maps nothing of it.
    fn clear(&mut self, number: u32) -> Answer {
        let range = self.range(number, ANYWHERE)?;
        if range.root() == 0 {
            return Err(INVALID);
        }
        let _held = range.hold(Span::ALL.pieces(), || self.host.count_progress());
        let mut leaving = self.memory.leaving();
        AddressSpace::new(range.root(), self.memory).clear(|old| leaving.retire(old));
        self.memory.free_table(range.root());
        range.set_root(0);
        self.memory.free_left(leaving);
        self.memory.drain();
        Ok(())
    }
}
