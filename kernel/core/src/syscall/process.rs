// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who the thread is. Linux says so with each posting, as the task itself sees it:
//! in its own namespace, and anew after an `execve` that took its leader's place.

use super::Call;
use tacet_metal::Served;

pub fn getpid(call: &Call<'_>) -> Served {
    Served::Done(call.context.process_id() as u64)
}

pub fn gettid(call: &Call<'_>) -> Served {
    Served::Done(call.context.thread_id() as u64)
}
