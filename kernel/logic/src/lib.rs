// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the co-kernel decides, apart from any processor and any host: pure data structures, host-tested, no unsafe.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

pub mod addresses;
pub mod atomic;
pub mod deadlines;
pub mod elf;
pub mod frames;
pub mod futex;
pub mod handshake;
pub mod listening;
pub mod lock;
pub mod order;
pub mod paging;
pub mod process_image;
pub mod ranges;
pub mod run_queue;
pub mod signals;
pub mod static_map;
pub mod text;
pub mod woken;
