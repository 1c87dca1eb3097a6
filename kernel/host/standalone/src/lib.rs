// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host of a CPU without Linux.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![cfg(target_os = "none")]

pub mod network;
