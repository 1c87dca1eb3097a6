// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Linux as a CPU's host: the co-kernel's end of the border (`abi/`), which nothing else in the co-kernel uses.
//!
//! Files have the names of their other ends in `linux/`. Everything shared is read once, checked, then used; a
//! corrupt index is Linux's fault and the end of the partition. Context of everything here: one CPU of the partition,
//! interrupts off, in the CPU's own address space, from which nothing of Linux is reachable.
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![cfg(target_os = "none")]

mod ask;
mod bad;
mod boot;
mod clock;
mod context;
mod fail;
mod frames;
mod futex;
mod host;
pub mod image;
mod job;
mod layout;
mod local;
mod locked;
mod log;
mod page;
mod park;
mod pico;
mod policy;
mod pool;
mod profile;
mod queue;
mod range;
mod records;
mod rings;
mod space;
mod test;

pub use boot::{adopt, halt};
pub use fail::die;
pub use host::Linux;
