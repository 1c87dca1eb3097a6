// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Handing a thread back to its proxy, and showing Linux which threads wait. The other end is
//! `linux/delegate/park.c`.

use crate::context::Context;
use crate::host::Linux;
use tacet_abi::{
    TACET_EVENT_EXCEPTION, TACET_EVENT_RECALLED, TACET_EVENT_SYSCALL, TACET_EVENT_WAITED, TACET_EVENT_WOKEN,
    TACET_HOME_ASLEEP, TACET_HOME_LOOKS, TACET_REFUSAL_BEYOND, TACET_REFUSAL_CLOSED, TACET_REFUSAL_MIRRORED,
    TACET_REFUSAL_RIGHTS,
};
use tacet_core::{Escape, Place, Reason};

impl Linux {
    /// Hands a thread back with the event that its proxy must deal with, and tells the proxy in the way in which it waits
    /// (`linux/delegate/halt.c`). The thread is Linux's from here on.
    pub(crate) fn hand_back(&self, number: u32, escape: Escape) {
        let Some(context) = self.contexts.get(number) else {
            crate::die(format_args!("context {number}: not ours to give back"));
        };
        let home = context.release(context.describe(escape));
        if home == u64::from(TACET_HOME_ASLEEP) {
            self.announce(number);
        } else if home != u64::from(TACET_HOME_LOOKS) {
            self.interrupt_home(home);
        }
    }

    /// Shows Linux whether a thread waits: nothing else is to wait behind it. One that waits for a device is not shown: it
    /// will soon want its CPU, and for its sake too Linux ends the turn of another.
    #[inline]
    pub(crate) fn show(&self, context: &Context<'_>, from: Place, to: Place) {
        match to {
            Place::WaitsForFutex | Place::WaitsForTime => {
                context.set_blocked(1);
                self.page.count_waiting(true);
            }
            // Linux need not look for another CPU for it
            Place::WokenHere => context.set_blocked(2),
            Place::WokenIfFree => {}
            _ if from.is_wait() => {
                context.set_blocked(0);
                self.page.count_waiting(false);
            }
            _ => {}
        }
    }
}

impl Context<'_> {
    /// Writes into the context why the thread comes back, counts it, and says which event that is.
    fn describe(&self, escape: Escape) -> u32 {
        let at = self.at.as_ptr();
        // SAFETY: mapped; ours; Linux only reads the counters meanwhile.
        unsafe {
            match escape {
                Escape::Call(reason) => {
                    count(&raw mut (*at).syscalls);
                    self.refuse(reason);
                    self.calls_linux();
                    TACET_EVENT_SYSCALL
                }
                Escape::PageFault(address, reason) => {
                    count(&raw mut (*at).faults);
                    (*at).fault_address = address;
                    self.refuse(reason);
                    self.spends_on_linux();
                    TACET_EVENT_EXCEPTION
                }
                Escape::Exception(_) => {
                    count(&raw mut (*at).exceptions);
                    TACET_EVENT_EXCEPTION
                }
                Escape::Waiting { left_ns } => {
                    count(&raw mut (*at).syscalls);
                    if let Some(left_ns) = left_ns {
                        (*at).sleep_left_ns = left_ns;
                    }
                    TACET_EVENT_WAITED
                }
                Escape::Recalled => TACET_EVENT_RECALLED,
                Escape::Woken => TACET_EVENT_WOKEN,
            }
        }
    }

    /// Says why Linux gets a call or a fault that is about the process's range, and about which addresses.
    fn refuse(&self, reason: Reason) {
        let (refusal, start, end) = match reason {
            Reason::NotServed => return,
            Reason::Mirrored { start, end } => (TACET_REFUSAL_MIRRORED, start, end),
            Reason::Rights(rights) => (TACET_REFUSAL_RIGHTS, u64::from(rights), 0),
            Reason::Closed => (TACET_REFUSAL_CLOSED, 0, 0),
            Reason::Beyond => (TACET_REFUSAL_BEYOND, 0, 0),
        };
        let at = self.at.as_ptr();
        // SAFETY: mapped; ours.
        unsafe { ((*at).refusal, (*at).refused_start, (*at).refused_end) = (refusal, start, end) };
    }
}

/// # Safety
/// `counter` is mapped, and only this CPU writes it.
unsafe fn count(counter: *mut u64) {
    // SAFETY: the caller's.
    unsafe { counter.write_volatile(counter.read_volatile().wrapping_add(1)) };
}
