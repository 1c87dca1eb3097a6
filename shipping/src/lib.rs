// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The language between a node without Linux and the daemon that performs its calls.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
