// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who the thread is. Its host says so whenever it hands the thread over, as the thread itself sees it: in its own
//! namespace, and anew after an `execve` that took its leader's place.

use super::call::Call;
use crate::base::escape::CallEnd;
use crate::host::{Host, Thread};

pub fn getpid<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    CallEnd::Done(call.thread.process_id() as u64)
}

pub fn gettid<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    CallEnd::Done(call.thread.thread_id() as u64)
}
