// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process's own memory: anonymous memory from the partition, in a range of addresses that the host set aside, served
//! without the host.
//!
//! The range's page table is the only truth (`tacet_logic::paging`). One lock for each of its pieces lets one CPU at
//! a time change that, and the host read it. What a call takes away is gone from every TLB before the lock is free
//! again. What the host maps of it on its side ("mirrors") is never changed here: the call goes to the host first,
//! which unmaps that and sends the thread to try again. What cannot be done here at all goes to the host too, and
//! then the whole range becomes the host's, permanently.

pub mod answer;
mod change;
mod cut;
pub mod fault;
mod lend;
mod map;
mod portions;
pub mod range;

pub use crate::base::long::{PORTION, ZEROED};
pub use crate::host::left::{Flushed, Leaving};
pub use crate::host::none::NoMemory;
pub use crate::host::partition::{
    BREAK_PAGES, HeldRange, PartitionMemory, RANGE_BYTES, RangeName, SharedRange, rights,
};
pub use crate::host::question::{Question, Source};
