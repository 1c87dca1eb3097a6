// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Page faults in a range: first touches.

use super::{Range, Refusal};
use tacet_logic::paging::{Error, PageSize, Protection};
use tacet_metal::{Context, Core, Frames};

/// Bits of the processor's error code (SDM vol. 3, 4.7).
const WRITE: u64 = 1 << 1;
const FETCH: u64 = 1 << 4;
const ORDINARY: u64 = 1 | WRITE | 1 << 2 | FETCH;

/// A fault after which the page is there and may be touched, again and again: then
/// something else is wrong, and Linux is to look.
const REPEATS: u32 = 16;

/// What becomes of a thread that faulted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It tries again.
    Again,
    /// Linux has a look.
    Linux,
}

/// Resolves a fault of `context` at `address`; `repeats` counts those in a row that
/// found nothing to do.
pub fn touch(core: &Core, frames: Option<&mut Frames>, context: &Context<'_>, address: u64, repeats: &mut u32) -> Fate {
    let Some(mut range) = Range::of(core, frames, context) else { return Fate::Linux };
    let error = context.fault_error();
    let super::Extent::Inside(span) = range.extent(address & !4095, 1) else { return Fate::Linux };
    if error & !ORDINARY != 0 {
        return Fate::Linux;
    }
    let access = match (error & WRITE != 0, error & FETCH != 0) {
        (true, _) => Protection::READ_WRITE,
        (false, true) => Protection::READ_EXECUTE,
        (false, false) => Protection::READ,
    };
    let touched = range.change(span.pieces(), |work| match work.space.fault(span.first(), access, PageSize::Mib2) {
        Ok(tacet_logic::paging::Fault::Populated(_)) => Ok(Some(true)),
        Ok(tacet_logic::paging::Fault::Already) => {
            work.stale = true;
            Ok(Some(false))
        }
        Err(Error::NoFrame | Error::NoTable) => Err(Refusal::Beyond),
        Err(_) => Ok(None),
    });
    match touched {
        Ok(Some(populated)) => {
            *repeats = if populated { 0 } else { *repeats + 1 };
            if *repeats < REPEATS {
                return Fate::Again;
            }
            *repeats = 0;
        }
        Ok(None) => {}
        Err(refusal) => range.refuse(context, refusal),
    }
    Fate::Linux
}
