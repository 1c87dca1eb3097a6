// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Linux asks about ranges and frames (`enum tacet_ask`); the other end is
//! `linux/border/ask.c`. No thread of the process is at what is asked about, except for
//! `TACET_ASK_TOUCH`.

use tacet_abi::{TACET_ASK_CLEAR, TACET_ASK_COPY, TACET_ASK_FREE, TACET_ASK_MAP, TACET_ASK_OPEN, TACET_ASK_TOUCH};
use tacet_logic::frames::Policy;
use tacet_logic::paging::{AddressSpace, Attributes, Error, PageSize, Protection, Span, Tables};
use tacet_metal::{Core, Frames, Own};

/// Errors as Linux knows them.
const NO_MEMORY: i32 = -12;
const BAD_ADDRESS: i32 = -14;
const INVALID: i32 = -22;

/// For what no thread has asked for.
const ANYWHERE: (Policy, u32) = (Policy::NONE, u32::MAX);

/// Answers the question that is pending, if one is.
pub fn answer(core: &Core, frames: Option<&mut Frames>) {
    let Some(question) = core.question() else { return };
    let result = frames.map_or(Err(INVALID), |frames| {
        let [first, second, third, fourth] = question.arguments;
        match question.kind {
            TACET_ASK_OPEN => open(frames, first),
            TACET_ASK_TOUCH => touch(core, frames, first, second, (third, fourth)),
            TACET_ASK_COPY => copy(core, frames, first, second),
            TACET_ASK_CLEAR => clear(core, frames, first),
            TACET_ASK_FREE => frames.free_kept(first).then_some(()).ok_or(INVALID),
            TACET_ASK_MAP => map(core, frames, first, second, (third, fourth)),
            _ => Err(INVALID),
        }
    });
    core.answer(&question, result.err().unwrap_or(0));
}

/// Range `number`, which the question is about: memory for it comes from where `policy` says, within nodes.
fn range(frames: &mut Frames, number: u64, policy: (Policy, u32)) -> Result<Own, i32> {
    let own = frames.own(u32::try_from(number).map_err(|_| INVALID)?).ok_or(INVALID)?;
    frames.begin(Some(own), policy.0, policy.1);
    Ok(own)
}

fn open(frames: &mut Frames, number: u64) -> Result<(), i32> {
    let own = range(frames, number, ANYWHERE)?;
    own.set_root(frames.allocate_table().ok_or(NO_MEMORY)?);
    Ok(())
}

/// What a question's last two arguments say of where memory comes from.
fn wanted(how: (u64, u64)) -> (Policy, u32) {
    (Policy { mode: (how.0 >> 32) as u32, nodes: how.1 as u32 }, (how.1 >> 32) as u32)
}

fn touch(core: &Core, frames: &mut Frames, number: u64, page: u64, how: (u64, u64)) -> Result<(), i32> {
    let write = how.0 as u32 != 0;
    let own = range(frames, number, wanted(how))?;
    let page = u32::try_from(page).ok().and_then(|page| Span::new(page, 1)).ok_or(INVALID)?;
    if own.root() == 0 {
        return Err(INVALID);
    }
    let _held = own.hold(core, page.pieces());
    let access = if write { Protection::READ_WRITE } else { Protection::READ };
    let touched = AddressSpace::new(own.root(), frames).fault(page.first(), access, PageSize::Mib2);
    if frames.tables_left() {
        core.flush(0);
        frames.free_left(frames.leaving());
    }
    match touched {
        Ok(_) => Ok(()),
        Err(Error::NoFrame | Error::NoTable) => Err(NO_MEMORY),
        Err(_) => Err(BAD_ADDRESS),
    }
}

/// For a program's data; `pages` has the first, and how many. They are free.
fn map(core: &Core, frames: &mut Frames, number: u64, pages: u64, how: (u64, u64)) -> Result<(), i32> {
    let own = range(frames, number, wanted(how))?;
    let span = Span::new(pages as u32, (pages >> 32) as u32).ok_or(INVALID)?;
    if own.root() == 0 {
        return Err(INVALID);
    }
    let _held = own.hold(core, span.pieces());
    let attributes = Attributes { protection: Protection::READ_WRITE, policy: 0, eager: own.eager(), small: false };
    AddressSpace::new(own.root(), frames).map(span, attributes).map_err(|error| match error {
        Error::NoFrame | Error::NoTable => NO_MEMORY,
        _ => INVALID,
    })
}

/// Nobody knows the copy yet, and nobody writes to what is copied.
fn copy(core: &Core, frames: &mut Frames, from: u64, to: u64) -> Result<(), i32> {
    if from == to {
        return Err(INVALID);
    }
    let (from, to) = (range(frames, from, ANYWHERE)?, range(frames, to, ANYWHERE)?);
    let _held = (from.hold(core, Span::ALL.pieces()), to.hold(core, Span::ALL.pieces()));
    let root = frames.allocate_table().ok_or(NO_MEMORY)?;
    to.inherit(&from);
    let copied = AddressSpace::new(from.root(), frames).copy_to(root);
    let leaving = frames.leaving();
    if copied.is_err() {
        frames.free_table(root);
        frames.free_left(leaving);
        return Err(NO_MEMORY);
    }
    to.set_root(root);
    Ok(())
}

/// No core has the address space loaded, and Linux maps nothing of it.
fn clear(core: &Core, frames: &mut Frames, number: u64) -> Result<(), i32> {
    let own = range(frames, number, ANYWHERE)?;
    if own.root() == 0 {
        return Err(INVALID);
    }
    let _held = own.hold(core, Span::ALL.pieces());
    let mut leaving = frames.leaving();
    AddressSpace::new(own.root(), frames).clear(|old| leaving.retire(old));
    frames.free_table(own.root());
    own.set_root(0);
    frames.free_left(leaving);
    frames.drain();
    Ok(())
}
