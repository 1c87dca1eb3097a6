// SPDX-License-Identifier: Apache-2.0 OR MIT
//! System calls that the core answers itself.
//!
//! Which these are, and why, says `abi/syscalls.tbl`: the dispatch is made from it
//! (`build.rs`). A call is answered here only as Linux would answer it; whatever is
//! not certain, every error included, is forwarded: Linux's answer is always right.

pub mod futex;
mod memory;
mod policy;
mod process;
mod sched;
mod time;

use crate::waits::Waits;
use core::cell::RefCell;
use tacet_metal::{Context, Core, Frames, Served};

include!(concat!(env!("OUT_DIR"), "/dispatch.rs"));

/// A call in progress.
pub struct Call<'a> {
    core: &'a Core,
    context: &'a Context<'a>,
    /// The calling thread's number.
    thread: u32,
    /// Nobody else waits for the core.
    alone: bool,
    /// The core's way to the partition's memory, if programs get any.
    frames: &'a RefCell<Option<Frames>>,
    /// Who waits on this core until a time.
    waits: &'a RefCell<Waits>,
}

/// Answers the call of the thread that runs on `core`, or says that Linux must.
pub fn serve(
    core: &Core,
    context: &Context<'_>,
    thread: u32,
    alone: bool,
    (frames, waits): (&RefCell<Option<Frames>>, &RefCell<Waits>),
) -> Served {
    dispatch(&Call { core, context, thread, alone, frames, waits })
}
