// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The signal state that the threads of a process share.

use super::action::Action;
use super::info::Info;
use super::number::numbers::SEGV;
use super::number::{SYNCHRONOUS, UNMASKABLE, is_valid};
use super::pending::Pending;
use super::set::Set;
use super::thread::{Invalid, Thread};

const SIGNALS: usize = 64;

/// The actions, and signals for any thread. About 3 KiB.
pub struct Process {
    actions: [Action; SIGNALS],
    pub(super) pending: Pending,
}

/// The fate of a signal that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is pending.
    Queued,
    /// Nothing comes of it.
    Ignored,
    /// The queue of real-time signals is full (`EAGAIN`).
    Full,
    /// There is no such signal (`EINVAL`).
    Invalid,
}

impl Process {
    /// Without handlers.
    pub const NEW: Self = Self { actions: [Action::DEFAULT; SIGNALS], pending: Pending::EMPTY };

    /// `rt_sigaction`: the action until now, with `new` the action from now on. After that each thread of the process
    /// [forgets](Thread::forget) the signal if [`Process::ignores`] it.
    pub fn set_action(&mut self, signal: u8, new: Option<Action>) -> Result<Action, Invalid> {
        let old = self.action(signal).ok_or(Invalid)?;
        let Some(new) = new else { return Ok(old) };
        if UNMASKABLE.has(signal) {
            return Err(Invalid);
        }
        *self.place(signal).ok_or(Invalid)? = new;
        if new.ignores(signal) {
            self.pending.forget(Set::of(&[signal]));
        }
        Ok(old)
    }

    /// `None`: there is no such signal.
    pub fn action(&self, signal: u8) -> Option<Action> {
        self.actions.get(usize::from(signal).checked_sub(1)?).copied()
    }

    /// Whether nothing comes of it, unless a thread holds it back.
    pub fn ignores(&self, signal: u8) -> bool {
        self.action(signal).is_some_and(|action| action.ignores(signal))
    }

    /// Sends a signal to the process. `blocked`: what its first thread holds back, as Linux asks for signals that are
    /// ignored. Some thread that [can take it](super::is_deliverable) has to look.
    pub fn send(&mut self, info: Info, blocked: Set) -> Sent {
        let ignored = self.ignores(info.signal);
        queue(&mut self.pending, info, ignored && !blocked.has(info.signal))
    }

    /// Sends a signal to one of its threads.
    pub fn send_to(&self, thread: &mut Thread, info: Info) -> Sent {
        let ignored = self.ignores(info.signal) && !thread.blocked().has(info.signal);
        queue(&mut thread.pending, info, ignored)
    }

    /// A fault of `thread` itself. It cannot be held back: without a handler that can run now, it is deadly.
    pub fn fault(&mut self, thread: &mut Thread, info: Info) {
        let handled = self.action(info.signal).is_some_and(|action| action.is_handled());
        if !handled || thread.blocked().has(info.signal) {
            self.reset(info.signal);
            thread.unblock(info.signal);
        }
        thread.fault = Some(info);
    }

    /// There is no room for the frame of this signal's handler. The handler of SIGSEGV may have another stack; if its own
    /// frame has no room, the process dies.
    pub fn frame_failed(&mut self, thread: &mut Thread, signal: u8) {
        if signal == SEGV {
            self.reset(SEGV);
        }
        self.fault(thread, Info::kernel(SEGV));
    }

    /// Signals that are pending for the thread and held back (`rt_sigpending`).
    pub fn pending(&self, thread: &Thread) -> Set {
        (self.pending.set() | thread.pending.set()) & thread.blocked()
    }

    /// Takes a signal of `wanted` off, if one is pending (`rt_sigtimedwait`): the thread's own first.
    pub fn take(&mut self, thread: &mut Thread, wanted: Set) -> Option<Info> {
        let own = first(thread.pending.set() & wanted).map(|signal| thread.pending.take(signal));
        own.or_else(|| first(self.pending.set() & wanted).map(|signal| self.pending.take(signal)))
    }

    /// Back to the default action.
    pub(super) fn reset(&mut self, signal: u8) {
        if let Some(place) = self.place(signal) {
            place.handler = Action::DEFAULT.handler;
        }
    }

    fn place(&mut self, signal: u8) -> Option<&mut Action> {
        self.actions.get_mut(usize::from(signal).checked_sub(1)?)
    }
}

fn queue(pending: &mut Pending, info: Info, ignored: bool) -> Sent {
    match info.signal {
        signal if !is_valid(signal) => Sent::Invalid,
        _ if ignored => Sent::Ignored,
        _ if pending.add(info) => Sent::Queued,
        _ => Sent::Full,
    }
}

/// The signal to take first: those of faults come first, then the lowest number.
fn first(signals: Set) -> Option<u8> {
    (signals & SYNCHRONOUS).first().or(signals.first())
}
