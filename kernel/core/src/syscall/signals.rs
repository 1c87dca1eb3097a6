// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls by which a thread tells its host about signals and about its end. The host need not know before the thread is back.
//! Each thread makes these calls when it begins and when it ends.
//!
//! Signals that the thread opens may be opened here: if one waits for that the host does it, and if one comes later the
//! host recalls the thread. Signals that it blocks are another matter. Until the host knows, it would end the process by one, or
//! drop it, that the thread has blocked already. So only this is done here: a C library blocks all signals, its own
//! included, around a few instructions of its own, then makes a call that the host performs. To the program such a signal came
//! before that.

use super::call::Call;
use crate::base::escape::CallEnd;
use crate::host::{Host, Thread};
use tacet_arch::UserState;

const SIG_BLOCK: u32 = 0;
const SIG_UNBLOCK: u32 = 1;
const SIG_SETMASK: u32 = 2;
/// Of a set of signals, and of struct robust_list_head.
const SET_BYTES: u64 = 8;
const ROBUST_LIST_BYTES: u64 = 24;
/// SIGKILL and SIGSTOP.
const NEVER_BLOCKED: u64 = 1 << 8 | 1 << 18;

pub fn rt_sigprocmask<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    change_mask(call).map_or(CallEnd::NOT_SERVED, |()| CallEnd::Done(0))
}

fn change_mask<H: Host>(call: &Call<'_, '_, H>) -> Option<()> {
    let [how, set, old, bytes, ..] = call.user.arguments();
    let blocked = call.thread.signal_mask().filter(|_| bytes == SET_BYTES)?;
    let mut new = blocked;
    if set != 0 {
        let half = |at| call.user_load(at).map(u64::from);
        let given = half(set)? | half(set.wrapping_add(4))? << 32;
        new = match how as u32 {
            SIG_BLOCK => blocked | given,
            SIG_UNBLOCK => blocked & !given,
            SIG_SETMASK => given,
            _ => return None,
        } & !NEVER_BLOCKED;
        if new & !blocked != 0 && given != u64::MAX {
            return None;
        }
    }
    if old != 0 {
        call.user_store(old, blocked as u32)?;
        call.user_store(old.wrapping_add(4), (blocked >> 32) as u32)?;
    }
    (new == blocked || call.thread.set_signal_mask(blocked, new)).then_some(())
}

/// set_robust_list(2). The host looks at the list when the thread ends, and then the thread is back.
pub fn set_robust_list<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [head, bytes, ..] = call.user.arguments();
    if bytes == ROBUST_LIST_BYTES && call.thread.name_robust_list(head) {
        CallEnd::Done(0)
    } else {
        CallEnd::NOT_SERVED
    }
}
