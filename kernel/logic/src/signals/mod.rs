// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals as Linux has them: which thread gets which signal when, and what it does to the thread.
//!
//! Owns actions, masks and what is pending. Called by a static kernel, which holds a lock for each process; the
//! layout of frames on a program's stack is the processor's (`tacet_arch`). It must never touch registers or memory.
//!
//! - [`Process`]: the actions, and signals for any of its threads. [`Thread`]: mask, alternate stack, its own signals.
//! - `send` of either queues an [`Info`]; [`next`] says what a thread does before it returns to user mode: a
//!   [`Delivery`]. After the frame is written, [`Thread::entered`].
//! - [`after_call`]: whether an interrupted call begins again.
//! - Nothing stops here: a default action that would stop the process is told, and has no effect.

mod action;
mod delivery;
mod info;
mod number;
mod pending;
mod process;
mod restart;
mod set;
mod thread;

pub use action::Action;
pub use delivery::{Delivery, Handler, is_deliverable, next};
pub use info::{Info, codes};
pub use number::{name, numbers};
pub use process::{Process, Sent};
pub use restart::{Resume, after_call, interrupted};
pub use set::Set;
pub use thread::{AlternateStack, Invalid, Thread};

#[cfg(test)]
mod tests;
