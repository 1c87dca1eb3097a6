// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Anonymous private memory from the partition (`crate::memory`).
//!
//! A call that is not about the process's range is the host's as ever. One that is, and that cannot be served here, is
//! the host's after the range has been handed over.

use super::call::Call;
use crate::base::escape::CallEnd;
use crate::base::long::Advice;
use crate::host::{Host, Permits, Thread};
use crate::memory::range::{Extent, Range, Refusal, Result};
use tacet_arch::UserState;
use tacet_logic::paging::{Attributes, PAGES, Protection, Span};

/// include/uapi/linux/mman.h and asm-generic/mman-common.h
const PROT_READ: u64 = 1;
const PROT_WRITE: u64 = 2;
const PROT_EXEC: u64 = 4;
const PROT_ALL: u64 = PROT_READ | PROT_WRITE | PROT_EXEC;
/// Has no effect on this architecture.
const PROT_SEM: u64 = 8;
/// Of mappings that grow: whether a call is an error depends on what is mapped.
const PROT_GROWS: u64 = 0x300_0000;
const MAP_PRIVATE_ANONYMOUS: u64 = 0x22;
const MAP_FIXED: u64 = 0x10;
const MAP_NORESERVE: u64 = 0x4000;
const MAP_POPULATE: u64 = 0x8000;
const MAP_STACK: u64 = 0x2_0000;
const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;
/// Those, and flags without effect: EXECUTABLE, NONBLOCK. Not DENYWRITE, although Linux ignores it: only the loader is
/// known to use it, for addresses at which it is about to map a library.
const MAP_ORDINARY: u64 =
    MAP_PRIVATE_ANONYMOUS | MAP_FIXED | MAP_NORESERVE | MAP_POPULATE | MAP_STACK | MAP_FIXED_NOREPLACE | 0x1_1000;
const MREMAP_MAYMOVE: u64 = 1;
const MREMAP_FIXED: u64 = 2;

pub fn mmap<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [address, bytes, protection, flags, _, offset] = call.user.arguments();
    serve(call, |range| {
        let ours = flags & !MAP_ORDINARY == 0 && flags & 0x2f == MAP_PRIVATE_ANONYMOUS && offset == 0;
        // mmap(2) ignores bits that it does not know.
        let wanted = wanted(protection & PROT_ALL);
        let fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE) != 0;
        // A hint may be anywhere in a page.
        let extent = range.extent(if fixed { address } else { address & !4095 }, bytes);
        let (Some(protection), true) = (wanted, ours) else {
            // A mapping that is not ours, but may replace some of ours.
            return Err(if fixed && extent != Extent::Outside { Refusal::Beyond } else { Refusal::Elsewhere });
        };
        match range.permits(protection, extent) {
            Err(Refusal::Beyond) if !fixed => return Err(Refusal::Elsewhere),
            permitted => permitted?,
        }
        // Programs use little of a stack, and of address space that they reserve.
        let sparse = flags & (MAP_NORESERVE | MAP_STACK) != 0;
        let promised = !sparse && protection != Protection::NONE;
        if !fixed && promised && pages(bytes).is_some_and(|pages| range.is_too_much(pages)) {
            return Err(Refusal::Elsewhere);
        }
        let eager = range.eager() && promised || flags & MAP_POPULATE != 0;
        // The host writes to the end of a thread's stack whenever it hands the thread over.
        let attributes = Attributes { protection, policy: 0, eager, small: flags & MAP_STACK != 0, undumped: false };
        match extent {
            Extent::Inside(span) if fixed => range.map_at(span, flags & MAP_FIXED_NOREPLACE == 0, attributes),
            Extent::Inside(_) | Extent::Across if fixed => Err(Refusal::Beyond),
            Extent::Inside(span) => range.map(span.pages(), Some(span), attributes),
            _ if !fixed && address == 0 => {
                let pages = pages(bytes).ok_or(Refusal::Elsewhere)?;
                range.map(pages, None, attributes).map_err(|refusal| match refusal {
                    Refusal::Closed => Refusal::Elsewhere,
                    other => other,
                })
            }
            _ => Err(Refusal::Elsewhere),
        }
    })
}

pub fn brk<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [wanted, ..] = call.user.arguments();
    serve(call, |range| {
        let attributes = Attributes {
            protection: Protection::READ_WRITE,
            policy: 0,
            eager: range.eager(),
            small: false,
            undumped: false,
        };
        range.set_break(wanted, attributes)
    })
}

pub fn munmap<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [address, bytes, ..] = call.user.arguments();
    serve(call, |range| {
        let span = inside(range, address, bytes)?;
        range.unmap(span)
    })
}

pub fn mprotect<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [address, bytes, protection, ..] = call.user.arguments();
    serve(call, |range| {
        let span = inside(range, address, bytes)?;
        match protection & !(PROT_ALL | PROT_SEM) {
            0 => {}
            grows if grows & PROT_GROWS != 0 => return Err(Refusal::Beyond),
            _ => return Err(Refusal::Elsewhere), // an error, whatever is mapped
        }
        let protection = wanted(protection & PROT_ALL).ok_or(Refusal::Beyond)?;
        range.permits(protection, Extent::Inside(span))?;
        range.protect(span, protection)
    })
}

pub fn madvise<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [address, bytes, advice, ..] = call.user.arguments();
    serve(call, |range| {
        let span = inside(range, address, bytes)?;
        match advice as u32 {
            // NORMAL, RANDOM, SEQUENTIAL, WILLNEED, COLD, PAGEOUT: hints. DOFORK and KEEPONFORK: always so in a range
            0..=3 | 11 | 19 | 20 | 21 => range.advise(span, Advice::Nothing),
            // DONTDUMP, DODUMP
            16 => range.advise(span, Advice::Undumped(true)),
            17 => range.advise(span, Advice::Undumped(false)),
            // POPULATE_READ, POPULATE_WRITE, COLLAPSE
            22 => range.populate(span, Protection::READ),
            23 => range.populate(span, Protection::READ_WRITE),
            25 => range.populate(span, Protection::NONE),
            // DONTNEED, FREE, DONTNEED_LOCKED
            4 | 8 | 24 => range.discard(span),
            // HUGEPAGE, NOHUGEPAGE
            14 => range.advise(span, Advice::Small(false)),
            15 => range.advise(span, Advice::Small(true)),
            // REMOVE, DONTFORK, MERGEABLE, UNMERGEABLE, WIPEONFORK; poison and guards
            9 | 10 | 12 | 13 | 18 | 100..=110 => Err(Refusal::Beyond),
            _ => Err(Refusal::Elsewhere), // an error
        }
    })
}

pub fn mremap<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [address, bytes, wanted, flags, to, _] = call.user.arguments();
    serve(call, |range| {
        if !address.is_multiple_of(4096) || wanted == 0 {
            return Err(Refusal::Elsewhere); // an error
        }
        let fixed = flags & MREMAP_FIXED != 0;
        let target = if fixed { range.extent(to, wanted) } else { Extent::Outside };
        // With a size of 0 it would be a second mapping of the same pages.
        let old = match (range.extent(address, bytes), range.extent(address & !4095, 1)) {
            (Extent::Inside(span), _) => span,
            (Extent::Outside, Extent::Outside) if target == Extent::Outside => return Err(Refusal::Elsewhere),
            _ => return Err(Refusal::Beyond),
        };
        let pages = pages(wanted).ok_or(Refusal::Beyond)?;
        match (flags, target) {
            (0 | MREMAP_MAYMOVE, _) => range.resize(old, pages, flags == MREMAP_MAYMOVE),
            (3, Extent::Inside(span)) => range.move_to(old, span, call.thread.permits().has(Permits::MOVES_SEVERAL)),
            _ => Err(Refusal::Beyond),
        }
    })
}

/// What a program may do, of [`PROT_ALL`]. Writable pages are readable, as Linux has it. Pages that may only be executed take a
/// protection key, which only the host can give.
fn wanted(protection: u64) -> Option<Protection> {
    let has = |bit| protection & bit != 0;
    let (read, write, execute) = (has(PROT_READ | PROT_WRITE), has(PROT_WRITE), has(PROT_EXEC));
    (protection != PROT_EXEC).then_some(Protection { read, write, execute })
}

/// A size in pages, if a range can have so many.
fn pages(bytes: u64) -> Option<u32> {
    let pages = u32::try_from(bytes.div_ceil(4096)).ok()?;
    (1..PAGES).contains(&pages).then_some(pages)
}

/// The pages of a call that is about the range alone.
fn inside<H: Host>(range: &Range<'_, H>, address: u64, bytes: u64) -> Result<Span> {
    match range.extent(address, bytes) {
        Extent::Inside(span) => Ok(span),
        Extent::Outside => Err(Refusal::Elsewhere),
        Extent::Across => Err(Refusal::Beyond),
    }
}

/// Answers a call about the calling process's range.
pub(super) fn serve<H: Host>(call: &Call<'_, '_, H>, work: impl FnMut(&mut Range<'_, H>) -> Result<u64>) -> CallEnd {
    let mut memory = call.cpu.memory.borrow_mut();
    let Some(mut range) = Range::of(call.cpu, memory.as_mut(), call.thread) else { return CallEnd::NOT_SERVED };
    match range.perform(work) {
        Ok(result) => CallEnd::Done(result),
        Err(Refusal::Later) => CallEnd::Pause,
        Err(refusal) => CallEnd::Escape(range.reason(refusal)),
    }
}
