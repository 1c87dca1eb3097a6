// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a call that a signal has interrupted begins again. The results are the kernel's own, which no program sees.

use super::action::Action;

/// Results of calls that a signal has interrupted.
pub mod interrupted {
    /// Begins again if the handler allows it (`SA_RESTART`), or if none runs: `read`, `wait4`, `futex`, `flock`.
    pub const IF_ALLOWED: i64 = -512;
    /// Begins again whatever runs: `clone`, and calls that have done nothing yet.
    pub const ALWAYS: i64 = -513;
    /// Begins again only if no handler runs: `rt_sigsuspend`, `pause`, `epoll_wait`, `nanosleep` until a point in time.
    pub const UNLESS_HANDLED: i64 = -514;
    /// The same, but continues as `restart_syscall`, since the arguments have lost their meaning: `nanosleep` and `poll`
    /// for a span of time.
    pub const CONTINUED: i64 = -516;
}

const INTERRUPTED: i64 = -4;

/// How a thread goes on after its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// With this result.
    Result(i64),
    /// With the same call.
    Again,
    /// With the call `restart_syscall`.
    Continue,
}

/// How the thread goes on, given the call's result: before the frame of the first handler (`action`) is written, or if
/// no handler runs.
pub fn after_call(result: i64, action: Option<&Action>) -> Resume {
    let allowed = action.is_none_or(|action| action.has(Action::RESTART));
    match result {
        interrupted::ALWAYS => Resume::Again,
        interrupted::IF_ALLOWED if allowed => Resume::Again,
        interrupted::UNLESS_HANDLED if action.is_none() => Resume::Again,
        interrupted::CONTINUED if action.is_none() => Resume::Continue,
        interrupted::IF_ALLOWED | interrupted::UNLESS_HANDLED | interrupted::CONTINUED => Resume::Result(INTERRUPTED),
        result => Resume::Result(result),
    }
}
