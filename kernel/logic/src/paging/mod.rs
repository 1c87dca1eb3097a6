// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The address space of one process's range: 512 GiB below one top-level entry.
//!
//! The page table is the only truth. There is no list of mappings beside it:
//! what is reserved but not yet populated, its protection and its NUMA policy
//! stand in bits of entries that the processor ignores. One entry may stand for 4 KiB, 2 MiB or 1 GiB, so that taking
//! address space costs the same whatever its size.
//!
//! - [`Entry`], [`Attributes`]: what an entry says. [`Span`]: which pages.
//! - [`Encoding`]: what the processor says of its entries (`kernel/arch`).
//! - [`Tables`], [`Memory`]: what the host provides.
//! - [`AddressSpace`]: map, populate, fault, unmap, discard, protect, advise, grow, shift, relocate, copy, query.
//!
//! Called by the handlers of `mmap`, `munmap`, `mremap`, `brk`, `mprotect`,
//! `madvise`, `mbind`, of the page fault, of `fork` and of exit. Every operation
//! that can fail first obtains all tables and frames that it needs, then acts;
//! after an error everything is mapped as before. Where an operation is said to be O(entries), there is
//! one step for each entry in its span that is no table: one for each page of
//! the size in which it is mapped, whether 4 KiB, 2 MiB or 1 GiB.
//!
//! # Rights
//!
//! The range has 512 *pieces* of 1 GiB, one for each entry of the root. The caller
//! of an operation that changes something holds the right (a lock of its own) to every piece that its spans touch,
//! [`Span::pieces`], taken in ascending order; `copy_to` and `clear` need all. Two cores in different pieces share
//! nothing but the root's cache lines: the root is never freed, each of its entries belongs to its piece.
//! [`crate::ranges`] gives each core pieces of its own.
//!
//! Reading needs the right too, because a table may go away under the reader.
//!
//! The right is kept until what the operation took away is gone everywhere:
//! TLBs flushed, and what was mirrored unmapped by Linux. Otherwise a sibling
//! could put a new frame at an address where Linux still has the old one.
//!
//! # The other readers of the tables
//!
//! **The processor**, at any time. Entries are made with the accessed and dirty
//! bits set, so it never writes one. It may keep what it has read: until the
//! caller has flushed, a large translation may stand beside its parts, with the
//! same frames. Two kinds of processors do not bear that:
//!
//! - Those for which [`Encoding::LARGE_PAGES_MAY_BE_EXECUTABLE`] is false, if the page has code. An executable page is
//!   never large there, and a large one is divided, and flushed, before it may be executed.
//! - Those that want break before make ([`BreakBeforeMake`]). A page is made pending, then the TLBs are flushed
//!   ([`Tables::flush`]), then the table of its parts is linked. The same holds wherever an operation puts something
//!   valid at an address from which it, or one before it in the same [`AddressSpace`], has taken something valid.
//!
//! **Linux**, when a forwarded call touches the range. It takes the right to the piece too, and what
//! follows does not depend on that, except where it clears the one bit that it writes, after it has
//! unmapped what it had mapped. A walk of Linux is:
//!
//! 1. Announce the walk of this process, with a full barrier behind it.
//! 2. From the root, load each entry with acquire ordering. Absent, reserved or pending: not mapped for
//!    Linux; end the walk, then ask a core to populate it.
//! 3. Leaf: if [`MIRRORED`](Encoding::MIRRORED) is clear, set it by compare-and-exchange against
//!    the whole entry that was read. If that fails, go back to 2.
//! 4. Map the frame on its side, no more permissive than the entry says.
//! 5. End the walk.
//!
//! What the co-kernel does, so that this is right at any instant:
//!
//! - **A frame is ready before its entry is.** It is zeroed or copied, then one store with
//!   release ordering makes the entry valid. While frames are collected the
//!   entries are pending, which Linux does not take.
//! - **A leaf is changed, moved or removed by one compare-and-exchange**, never by a
//!   store. It and Linux's are at the same entry, so one comes first: either the
//!   co-kernel sees `MIRRORED`, reports the page as mirrored and its caller
//!   makes Linux unmap it before the frame is used again; or Linux's fails and
//!   it walks again. A frame that was not reported will never be mapped.
//! - **A large leaf is divided** by filling a new table with its 512 parts and then
//!   replacing the leaf by compare-and-exchange, by the table or by its pending self. If Linux has set `MIRRORED` in
//!   between, the table is filled again, so that every part has it.
//! - **Losing a right** (`protect`) clears `MIRRORED` in the same exchange and reports the page. Linux may
//!   set it again at once, but then it has read the new protection.
//! - **A table is unlinked** only when all its entries are absent or the same
//!   reservation: there is no leaf in it for a walk to mark. It goes to
//!   [`Tables::free_table`], which must not reuse it before the
//!   TLBs are flushed and every announced walk has ended: full barrier, then read the announcement.
//!   The same holds for Linux's request to unmap: it waits for
//!   walks that have begun, because one may be between steps 3 and 4.
//! - **Never:** a leaf put over a table; a leaf written over another leaf without passing
//!   through an exchange; a valid entry changed to another frame in one
//!   step; `MIRRORED` set by the co-kernel, except in the parts of a leaf that had it.
//!
//! An entry that was removed and came back exactly as it was, between steps 2
//! and 3, does no harm: an entry says all there is to know, so Linux maps
//! what is mapped.
//!
//! # Example
//!
//! The handlers of `mmap` and `munmap`, without their checks of arguments and rights:
//!
//! ```
//! use tacet_logic::frames::{Cache, Chain, Guard, Pool, Records};
//! use tacet_logic::paging::{AddressSpace, Attributes, Error, Memory, Protection, Span};
//!
//! fn mmap<M: Memory>(memory: &mut M, root: u64, at: Span) -> Result<(), Error> {
//!     let attributes = Attributes { protection: Protection::READ_WRITE, policy: 0, eager: true, small: false, undumped: false };
//!     AddressSpace::new(root, memory).map(at, attributes)
//! }
//!
//! fn munmap<M: Memory>(
//!     memory: &mut M,
//!     root: u64,
//!     at: Span,
//!     mut retire: impl FnMut(u64, u8),
//!     flush: impl FnOnce(),
//!     ask_linux_to_unmap: impl FnOnce(Span),
//! ) -> Result<(), Error> {
//!     let removed = AddressSpace::new(root, memory).unmap(at, |old| retire(old.frame, old.order))?;
//!     if removed.pages != 0 {
//!         flush();
//!     }
//!     if removed.mirrored != 0 {
//!         ask_linux_to_unmap(at);
//!     }
//!     Ok(()) // now the chain into which `retire` put the frames can be freed
//! }
//!
//! /// What `retire` does: no storage is needed, whatever the number.
//! fn into_chain<R: Records>(chain: &mut Chain, pool: &Pool<R>, frame: u64, order: u8) {
//!     assert_eq!(chain.push(pool, frame, order), Ok(()));
//! }
//!
//! fn when_all_have_let_go<R: Records, G: Guard>(chain: &mut Chain, pool: &Pool<R>, lock: &G, cache: &mut Cache) {
//!     assert_eq!(chain.free(pool, lock, cache), Ok(()));
//! }
//! ```
//!
//! | call | made of |
//! |---|---|
//! | `mmap`, growing `brk` | `map`, or `grow` |
//! | `mmap` with `MAP_FIXED` | `unmap`, `map` |
//! | `munmap`, shrinking `brk` | `unmap` |
//! | `mremap` | `unmap` of the rest; `grow`; or `map` of what is new, where it will be, and `shift` in front of it |
//! | `mprotect` | `protect` up to `hole` |
//! | `madvise` | `DONTNEED`, `FREE`: `discard`; `POPULATE_*`, `WILLNEED`: `populate`; `*HUGEPAGE`: `advise` |
//! | `mbind` | `advise`, `relocate` |
//! | page fault | `fault` |
//! | `fork`, exit | `copy_to`, `clear` |

mod breaks;
mod copy;
mod encoding;
mod entry;
mod error;
mod map;
mod memory;
mod protect;
mod query;
mod relocate;
mod shift;
mod space;
mod span;
mod unmap;

pub use breaks::{BreakBeforeMake, Breaks, Unordered};
pub use encoding::Encoding;
pub use entry::{Attributes, Entry, Leaf, Protection};
pub use error::Error;
pub use map::Fault;
pub use memory::{Memory, Placement, Reach, Tables};
pub use query::{Mapping, Sameness, Survey, View};
pub use space::AddressSpace;
pub use span::{PAGES, PIECE_PAGES, PageSize, Span};
pub use unmap::{Removed, Retired};
