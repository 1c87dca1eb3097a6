// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a processor must offer to the co-kernel, as traits, and the processors that offer it.
//!
//! A folder for each processor. What encodes its data (page-table entries) builds and is tested on every host; what
//! is the machine itself (assembly, registers) builds for the bare target alone.
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

pub mod aarch64;
#[cfg(test)]
mod testing;
pub mod x86_64;
