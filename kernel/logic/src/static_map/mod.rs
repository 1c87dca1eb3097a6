// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory map of a static node: made once before a job starts, and not changed while it runs.
//!
//! Owns the decision which physical memory each process gets and at which addresses it sees it. Each part of a process
//! (text, read-only data, data, heap with stacks, shared memory) is contiguous in physical memory and mapped with the
//! largest pages that fit, so that a program knows the physical address of everything it sends, and few TLB entries
//! hold all of it. Called by the loader of a static kernel. It must never depend on anything but the request:
//! the same request gives the same map on every node.
//!
//! - [`Request`]: what is asked for. [`partition`] fills a [`Map`] or says what was [`Refused`].
//! - [`Map`]: the [`Segment`]s of each process, each in [`Run`]s of one page size.
//! - [`Map::table`] is for people; [`Map::text`] is for programs, and is what `/proc/self/map` says.
//!   [`Map::numbers`] is what a node tells its daemon, which makes a table of it.

mod free;
mod map;
mod numbers;
mod partition;
mod request;
mod segment;
mod table;

pub use map::Map;
pub use numbers::MOST_NUMBERS;
pub use partition::partition;
pub use request::{Missing, PROCESSES, RANGES, Range, Refused, Request};
pub use segment::{Entries, Part, Run, Segment};

#[cfg(test)]
mod tests;
