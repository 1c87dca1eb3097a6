// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Handing a thread back to its Linux task; the other end is `linux/delegate/delegate.c`.

use tacet_abi::{TACET_EVENT_EXCEPTION, TACET_EVENT_RECALLED, TACET_EVENT_SYSCALL};
use tacet_metal::{Core, Exit};

/// Gives the running thread to Linux with the reason why.
pub fn forward(core: &mut Core, thread: u32, exit: Exit) {
    if let Some(context) = core.context(thread) {
        context.count(exit);
        if let Exit::PageFault(address) = exit {
            context.set_fault_address(address);
            context.spends_on_linux();
        }
    }
    let event = match exit {
        Exit::Syscall => TACET_EVENT_SYSCALL,
        _ => TACET_EVENT_EXCEPTION,
    };
    core.give_back(thread, event);
}

/// Gives the running thread to Linux if Linux asked for it or for its turn to end.
pub fn recall(core: &mut Core, thread: u32) -> bool {
    let wanted = core.context(thread).is_some_and(|context| context.turn_is_over());
    if wanted {
        core.give_back(thread, TACET_EVENT_RECALLED);
    }
    wanted
}
