// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The static kernel's host: it loads a job's processes, answers what they ask of a kernel, and ships the rest to
//! the Linux node that has their proxies.
//!
//! Called by `kernel/image/static` with the machine. Nothing here knows how the machine is made: that is
//! `tacet_arch`'s.
#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod base;
mod calls;
mod host;
mod job;
mod link;
mod machine;
mod ship;
mod start;
mod threads;

#[cfg(not(target_os = "none"))]
pub use machine::fake;
pub use start::main;
