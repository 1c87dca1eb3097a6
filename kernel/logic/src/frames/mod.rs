// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The frames of the partition: which are free, and which are in use.
//!
//! A frame is 4 KiB of physical memory, named by its physical frame number. A
//! binary buddy system (Knowlton 1965) hands out runs of 2^order frames,
//! aligned to their size, from order 0 (4 KiB) to order 18 (1 GiB):
//!
//! - [`Layout`]: the blocks that Linux gave, and where each frame's record is; [`Joined`]: those that come and go.
//! - [`Records`]: one small record for each frame, in memory that the caller has.
//! - [`Pool`] and [`Lists`]: the buddy system. `Lists` is all that a lock must protect.
//! - [`Cache`]: a core's own few frames in front of the pool, so that the common
//!   path takes no lock that another core takes.
//! - [`Limit`]: how many a job may have.
//! - [`Policy`]: which nodes are asked, in which order.
//! - [`Chain`]: frames that are unmapped but not yet free, because a core may
//!   still have them in its TLB or Linux in its page tables.
//!
//! The co-kernel's memory code calls this; nothing here touches a frame's
//! content. A frame that is not the pool's, is free already or was handed out
//! with another order is an error of the caller, and changes nothing.
//!
//! # Rights
//!
//! - `Lists`, the links of free frames, and every change from or to
//!   [`State::Free`]: the holder of the lock.
//! - The record of any other frame: the owner of the frame. A change away
//!   from [`State::Used`] is one compare-and-exchange, so of two cores that free the
//!   same frame one gets the error.
//! - Coalescing reads the tag of a neighbour without owning it. It acts only on
//!   `Free`, which is written under the lock only.
//!
//! ```
//! use tacet_logic::frames::{Cache, Guard, Pool, Records};
//!
//! fn page_and_back<R: Records, G: Guard>(cache: &mut Cache, pool: &Pool<R>, lock: &G) {
//!     // From node 0; from node 1 if that has none. A list of one node is strict.
//!     if let Some(frame) = cache.allocate(pool, lock, 9, &[0, 1]) {
//!         assert_eq!(cache.free(pool, lock, frame, 9), Ok(()));
//!     }
//! }
//! ```

mod block;
mod cache;
mod chain;
mod joined;
mod layout;
mod limit;
mod lists;
mod policy;
mod pool;
mod records;

pub use block::Block;
pub use cache::{Cache, Counts, Guard};
pub use chain::Chain;
pub use joined::{JOINED_BLOCKS, JOINED_SLOTS, Joined};
pub use layout::{BadLayout, Layout};
pub use limit::Limit;
pub use lists::{Lists, NodeStatistics};
pub use policy::{BIND, DEFAULT, INTERLEAVE, LOCAL, NodeOrder, PREFERRED, PREFERRED_MANY, Policy, WEIGHTED_INTERLEAVE};
pub use pool::{FreeError, LeaveError, Pool};
pub use records::{HUGE_ORDER, LARGEST_ORDER, NODES, NONE, Neighbours, ORDERS, Records, State};
