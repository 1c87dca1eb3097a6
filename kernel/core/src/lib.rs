// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a computing core does: runs posted threads in user mode, one at a time,
//! and hands each back to Linux when it needs something.
//!
//! No unsafe, no timer while a program runs; no lock but those of what cores share: waiting
//! threads, and the memory of a process that runs on several. Otherwise a core decides alone.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod attention;
mod delegate;
mod memory;
mod sched;
mod syscall;
mod waits;

pub use sched::run;
