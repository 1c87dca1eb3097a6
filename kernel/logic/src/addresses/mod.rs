// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gives out the addresses of a process whose memory is all mapped already: `mmap`, `munmap`, `mremap`, `mprotect` and
//! `brk` on the heap of a static map.
//!
//! Owns the list of what is given out, with which rights, and of what the memory is a copy. Called by a static kernel, one call at a time for a
//! process. It must never touch memory or page tables itself: it says what its caller has to zero ([`Pieces`]) and
//! which pages need other rights ([`Change`]). Memory that is not given out keeps the rights of the static map, read
//! and write, so that `munmap` and the next `mmap` cost no page-table work.
//!
//! - [`Addresses`]: one process's area. New mappings are placed from the top down, the `brk` heap from the bottom up.
//! - Nothing is changed by a call that fails.

mod area;
mod fresh;
mod list;
mod low;
mod remap;

pub use area::{Addresses, Error, Given, Mapping, Placement};
pub use fresh::Pieces;
pub use list::{Change, Content, UNUSED};
pub use low::below_2_gib;
pub use remap::{Remap, Remapped, Where};

#[cfg(test)]
mod tests;
