// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NVMe as a fast path: reads and writes through a queue pair that a core has to itself.
//!
//! Owns: the commands ([`command`]), and the core's end of a queue pair ([`Pair`]): both rings, their doorbells and the
//! epochs by which Linux takes a pair away. The host reaches the memory of a pair for it ([`QueueMemory`]). Commands
//! of several calls may be in flight, as many as have a number.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

pub mod command;
mod commands;
mod memory;
mod pages;
mod pair;
mod segments;

pub use commands::{LIST_ENTRIES, LISTS};
pub use memory::{Completion, Door, QueueMemory};
pub use pair::{Flight, Limits, Pair};
