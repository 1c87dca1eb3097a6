// SPDX-License-Identifier: Apache-2.0 OR MIT
//! System calls that the CPU answers itself.
//!
//! Which these are, and why, says `abi/syscalls.tbl`: both dispatches are made from it (`build.rs`). A call is answered
//! here only as Linux would answer it; whatever is not certain, every error included, escapes: the host's answer is
//! always right.

pub mod call;
pub mod flight;
mod futex;
mod memory;
mod own_futex;
mod pico;
mod policy;
mod process;
mod sched;
mod signals;
mod time;

use crate::base::escape::{CallEnd, Reason};
use crate::host::{Answer, Host, Permits, Thread};
use call::Call;
use tacet_arch::UserState;

include!(concat!(env!("OUT_DIR"), "/dispatch.rs"));

/// Serves the call if this personality's core does. A host that answers ([`Host::ANSWERS`]) is that of a static node.
#[inline(always)]
pub fn dispatch<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    if H::ANSWERS { dispatch_static(call) } else { dispatch_hosted(call) }
}

/// A call that is not served here, of a host that answers ([`Host::ANSWERS`]).
#[inline(never)]
pub fn ask_host<H: Host>(call: &Call<'_, '_, H>, reason: Reason) -> CallEnd {
    if call.user.call_number() == own_futex::NUMBER && call.thread.permits().has(Permits::OWN_FUTEXES) {
        return own_futex::futex(call);
    }
    match call.cpu.host.answer(call.number, call.thread, call.user) {
        Answer::Done(result) => CallEnd::Done(result),
        Answer::Yield(result) => CallEnd::Yield(result),
        Answer::Sleep(until) => time::sleep_until(call, until),
        Answer::Escape => CallEnd::Escape(reason),
    }
}
