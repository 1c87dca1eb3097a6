// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finding free addresses in a process's range.
//!
//! The search reads the page table; there is no index of free addresses. An
//! index would be a second truth, would need memory that can run out, and would
//! have to be kept right by every operation and its undo; a page table whose
//! entries stand for up to 1 GiB, and which has no empty tables, is skipped over
//! quickly. What it costs is that a table full of 4 KiB pages is read entry by
//! entry; so the search continues where the last one ended ([`Arena`]), has a bound, and
//! a core whose piece is too crowded takes a new one. The last search, in the whole range, is done in parts: between two of
//! them the caller gives the right to the pieces away, and looks at what waits for it.
//!
//! - [`Arena`]: one core's view, what to try in which order, from the top down. Each core has
//!   pieces of 1 GiB of its own, so cores that map do not meet.
//! - [`Arenas`]: where a core was last, in which process's range.
//! - [`Pieces`]: which core has which piece, shared by the cores of a process.
//! - [`Search`]: looks for free pages in one window of the page table.
//!
//! Called by the handlers of `mmap`, `mremap` and the growing heap. A hint or
//! `MAP_FIXED` does not come here: the handler reserves that place.
//!
//! ```
//! use tacet_logic::paging::{AddressSpace, Attributes, Error, Memory};
//! use tacet_logic::ranges::{Arena, Found, Pieces, Request};
//!
//! fn map_anywhere<M: Memory, P: Pieces>(
//!     arena: &mut Arena,
//!     pieces: &P,
//!     memory: &mut M,
//!     root: u64,
//!     request: Request,
//!     attributes: Attributes,
//! ) -> Result<u32, Error> {
//!     let mut plan = arena.plan(request);
//!     while let Some(window) = plan.next(pieces) {
//!         // Here the handler takes the right to window.span.pieces().
//!         let mut space = AddressSpace::new(root, memory);
//!         if let Found::At(span) = arena.search(&space, window, request) {
//!             return space.map(span, attributes).map(|()| span.first());
//!         }
//!     }
//!     Err(Error::Outside) // ENOMEM: the range is full
//! }
//! ```

mod arena;
mod arenas;
mod plan;
mod search;

pub use arena::{Arena, Pieces, Request};
pub use arenas::Arenas;
pub use plan::{Plan, Window};
pub use search::{Found, Search};
