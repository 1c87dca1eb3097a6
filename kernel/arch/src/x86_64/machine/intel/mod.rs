// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Intel's Gigabit Ethernet controllers of two families: 82574 (Linux's driver e1000e) and 82576 (igb).
//!
//! Written here because no crate has both, without a heap, under a licence that we can use: e1000-driver is GPL and of
//! 2023, eth-intel and eth-igb have one family each, and a heap. References are to the datasheets of the 82574 (317694)
//! and the 82576 (320961), by the titles of sections: their numbers change with the revision. `network.rs` uses it.
//!
//! Tried with QEMU's cards (`tests/static/src/cards.rs`), not with those of metal.

#[cfg(all(feature = "machine", target_os = "none"))]
mod card;
#[cfg(all(feature = "machine", target_os = "none"))]
mod registers;
pub mod ring;

#[cfg(all(feature = "machine", target_os = "none"))]
pub use card::Card;
