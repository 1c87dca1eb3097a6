// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The signal state that is a thread's own.

use super::action::Action;
use super::delivery::Handler;
use super::info::Info;
use super::number::UNMASKABLE;
use super::pending::Pending;
use super::set::Set;

/// Mask, alternate stack and its own signals. About 1 KiB.
pub struct Thread {
    blocked: Set,
    /// The mask to return to, while a call has replaced it.
    saved: Option<Set>,
    stack: AlternateStack,
    /// The fault that the thread's last instruction has raised.
    pub(super) fault: Option<Info>,
    pub(super) pending: Pending,
}

/// Error numbers of `sigaltstack`.
const NOT_PERMITTED: i32 = -1;
const NO_MEMORY: i32 = -12;
const INVALID: i32 = -22;

/// An argument that is not allowed (`EINVAL`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid;

/// Where handlers run that ask for it (`stack_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlternateStack {
    pub base: u64,
    pub flags: u32,
    pub bytes: u64,
}

impl Thread {
    /// A process's first thread.
    pub const NEW: Self =
        Self { blocked: Set::EMPTY, saved: None, stack: AlternateStack::NONE, fault: None, pending: Pending::EMPTY };

    /// Begins anew, as the thread that one with this mask has created.
    pub fn begin(&mut self, blocked: Set) {
        *self = Self::NEW;
        self.set_blocked(blocked);
    }

    pub const fn blocked(&self) -> Set {
        self.blocked
    }

    pub fn set_blocked(&mut self, blocked: Set) {
        self.blocked = blocked.without(UNMASKABLE);
    }

    /// `rt_sigprocmask` with a set: `how` is 0 block, 1 unblock, 2 set.
    pub fn change_blocked(&mut self, how: u64, set: Set) -> Result<(), Invalid> {
        let blocked = match how {
            0 => self.blocked | set,
            1 => self.blocked.without(set),
            2 => set,
            _ => return Err(Invalid),
        };
        self.set_blocked(blocked);
        Ok(())
    }

    /// For one call (`rt_sigsuspend`, `ppoll`, `pselect6`, `epoll_pwait`): a handler that interrupts it returns to the
    /// mask before.
    pub fn replace_blocked(&mut self, blocked: Set) {
        self.saved = self.saved.or(Some(self.blocked));
        self.set_blocked(blocked);
    }

    /// The call has ended and no handler runs.
    pub fn restore_blocked(&mut self) {
        if let Some(saved) = self.saved.take() {
            self.blocked = saved;
        }
    }

    /// The mask that a handler returns to.
    pub(super) fn blocked_before(&self) -> Set {
        self.saved.unwrap_or(self.blocked)
    }

    /// The frame is written: the handler's mask holds from now on.
    pub fn entered(&mut self, handler: &Handler) {
        let own = if handler.action.has(Action::NO_DEFER) { Set::EMPTY } else { Set::of(&[handler.info.signal]) };
        self.saved = None;
        self.set_blocked(self.blocked | handler.action.mask | own);
        if self.stack.flags & AlternateStack::DISARM != 0 {
            self.stack = AlternateStack::NONE;
        }
    }

    /// Forgets signals of which nothing comes any more.
    pub fn forget(&mut self, signal: u8) {
        self.pending.forget(Set::of(&[signal]));
    }

    /// The alternate stack as a frame keeps it.
    pub const fn stack(&self) -> AlternateStack {
        self.stack
    }

    /// The same as `sigaltstack` gives it to a program whose stack pointer is this.
    pub fn stack_at(&self, stack_pointer: u64) -> AlternateStack {
        let on = if self.stack.is_at(stack_pointer) { AlternateStack::ON } else { 0 };
        AlternateStack { flags: self.stack.flags | on, ..self.stack }
    }

    /// `sigaltstack` with a new one: 0 or a negative error number.
    pub fn set_stack(&mut self, new: AlternateStack, stack_pointer: u64, least_bytes: u64) -> i32 {
        if self.stack.is_at(stack_pointer) {
            return NOT_PERMITTED;
        }
        match new.flags & !AlternateStack::DISARM {
            AlternateStack::OFF => self.stack = AlternateStack { flags: new.flags, base: 0, bytes: 0 },
            // nothing changes
            0 if (new.base, new.bytes, self.stack.bytes) == (0, 0, 0) => {}
            0 | AlternateStack::ON if new.bytes < least_bytes => return NO_MEMORY,
            0 | AlternateStack::ON => self.stack = AlternateStack { flags: new.flags & AlternateStack::DISARM, ..new },
            _ => return INVALID,
        }
        0
    }

    /// Restores the state in a frame when its handler returns. A state that is not allowed has no effect.
    pub fn restore(&mut self, blocked: Set, stack: AlternateStack, stack_pointer: u64, least_bytes: u64) {
        self.set_blocked(blocked);
        self.set_stack(stack, stack_pointer, least_bytes);
    }

    pub(super) fn unblock(&mut self, signal: u8) {
        self.blocked = self.blocked.without(Set::of(&[signal]));
    }
}

impl AlternateStack {
    /// Bytes of a `stack_t`.
    pub const BYTES: usize = 24;
    const ON: u32 = 1;
    const OFF: u32 = 2;
    /// Switched off while a handler runs on it (`SS_AUTODISARM`).
    const DISARM: u32 = 1 << 31;
    pub const NONE: Self = Self { base: 0, flags: Self::OFF, bytes: 0 };

    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        let mut next = || words.next().unwrap_or(0);
        // Behind the flags are four bytes that mean nothing.
        Self { base: next(), flags: next() as u32, bytes: next() }
    }

    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip([self.base, self.flags.into(), self.bytes]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Where a handler's frame ends that asks for the alternate stack, with the thread's stack pointer here. `None`: it
    /// stays on the stack that it is on.
    pub fn top_for(&self, action: &Action, stack_pointer: u64) -> Option<u64> {
        let wanted = action.has(Action::ON_STACK) && self.bytes != 0 && !self.is_at(stack_pointer);
        wanted.then_some(self.base.wrapping_add(self.bytes))
    }

    /// Whether a thread whose stack pointer is this runs on it. One that switches off does not know.
    pub fn is_at(&self, stack_pointer: u64) -> bool {
        self.flags & Self::DISARM == 0 && self.holds(stack_pointer)
    }

    /// Whether the address is in it: of a stack pointer, above what it points to.
    pub fn holds(&self, address: u64) -> bool {
        address > self.base && address - self.base <= self.bytes
    }
}
