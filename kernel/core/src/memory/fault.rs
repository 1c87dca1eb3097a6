// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Page faults in a range: first touches.

use super::range::{EncodingOf, Extent, Range, Refusal};
use crate::base::escape::Reason;
use crate::cpu::Cpu;
use crate::host::Host;
use tacet_arch::{Access, UserState};
use tacet_logic::paging::{Encoding, Error, Fault, PageSize, Protection};

/// So many faults in a row of a page that is there and may be touched: then something else is wrong, and the host must
/// look.
const REPEATS: u32 = 16;

/// Resolves the fault of a thread at `address`, which then tries again; `repeats` counts the faults in a row that found
/// nothing to do. `Err`: the host must look.
pub fn touch<H: Host>(cpu: &Cpu<H>, number: u32, address: u64, repeats: &mut u32) -> Result<(), Reason> {
    let thread = cpu.present(number);
    let mut memory = cpu.memory.borrow_mut();
    let mut range = Range::of(cpu, memory.as_mut(), &thread).ok_or(Reason::NotServed)?;
    let Extent::Inside(span) = range.extent(address & !4095, 1) else { return Err(Reason::NotServed) };
    let access = match cpu.host.user(&thread).access().ok_or(Reason::NotServed)? {
        Access::Write => Protection::READ_WRITE,
        Access::Execute => Protection::READ_EXECUTE,
        Access::Read => Protection::READ,
    };
    let touched = range.change(span.pieces(), |work| match work.space.fault(span.first(), access, PageSize::Mib2) {
        Ok(Fault::Populated(_)) => Ok(Some(true)),
        // Another CPU was first, or this one's TLB is behind; no other TLB matters.
        Ok(Fault::Already) => {
            work.stale |= !<EncodingOf<H> as Encoding>::FAULTS_FORGET;
            Ok(Some(false))
        }
        Err(Error::NoFrame | Error::NoTable) => Err(Refusal::Beyond),
        Err(_) => Ok(None),
    });
    let populated = touched.map_err(|refusal| range.reason(refusal))?.ok_or(Reason::NotServed)?;
    *repeats = if populated { 0 } else { *repeats + 1 };
    if *repeats < REPEATS { Ok(()) } else { Err(Reason::NotServed) }
}
