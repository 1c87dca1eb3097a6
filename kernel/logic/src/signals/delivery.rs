// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The delivery of a thread's signals before it returns to user mode.

use super::action::Action;
use super::info::Info;
use super::number::{self, numbers};
use super::process::Process;
use super::set::Set;
use super::thread::Thread;

/// A handler that is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    pub info: Info,
    pub action: Action,
    /// The mask that it returns to: the frame keeps it.
    pub blocked_before: Set,
}

/// The effect of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Write its frame, then [`Thread::entered`]. If it cannot be written: [`Process::frame_failed`].
    Handler(Handler),
    /// The process dies of it.
    Death(Info),
    /// It would stop the process; here it has no effect but to be told.
    NotStopped(u8),
}

/// The next signal that has an effect: the thread's own fault first, then its other signals before the process's, each
/// by number. The caller asks again after each until there is none, as frames pile up: the last one runs first.
pub fn next(thread: &mut Thread, process: &mut Process) -> Option<Delivery> {
    loop {
        let info = take(thread, process)?;
        let action = process.action(info.signal)?;
        if action.ignores(info.signal) {
            continue;
        }
        if !action.is_handled() {
            return Some(match number::default_of(info.signal) {
                number::Default::Stop => Delivery::NotStopped(info.signal),
                _ => Delivery::Death(info),
            });
        }
        if action.has(Action::RESET) {
            process.reset(info.signal);
        }
        return Some(Delivery::Handler(Handler { info, action, blocked_before: thread.blocked_before() }));
    }
}

/// Whether [`next`] has a signal to look at: the thread has to be interrupted. For a signal that was sent to a process,
/// any of its threads that says so will do.
pub fn is_deliverable(thread: &Thread, process: &Process) -> bool {
    if thread.fault.is_some() {
        return true;
    }
    // An ignored signal interrupts nothing.
    let mut rest = (thread.pending.set() | process.pending.set()).without(thread.blocked());
    while let Some(signal) = rest.first() {
        if !process.ignores(signal) {
            return true;
        }
        rest = rest.without(Set::of(&[signal]));
    }
    false
}

fn take(thread: &mut Thread, process: &mut Process) -> Option<Info> {
    if let Some(info) = thread.fault.take() {
        return Some(info);
    }
    let killed = process.take(thread, Set::of(&[numbers::KILL]));
    let wanted = !thread.blocked();
    killed.or_else(|| process.take(thread, wanted))
}
