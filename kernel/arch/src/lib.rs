// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a processor must offer to the co-kernel, as traits, and the processors that offer it.
//!
//! A folder for each processor. Its encoding of page-table entries and the signals between CPUs build and are tested
//! on every host; what is the machine itself (assembly, registers) builds for the bare target alone. Nearly all
//! `unsafe` of the co-kernel is here. Nothing here knows which host the co-kernel answers to.
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

pub mod aarch64;
mod processor;
pub mod signals;
#[cfg(test)]
mod testing;
pub mod x86_64;

pub use processor::{Access, Exit, Mode, Processor, Turn, UserState};

/// The processor that the image is built for.
#[cfg(all(target_arch = "x86_64", target_os = "none"))]
pub use x86_64 as native;
