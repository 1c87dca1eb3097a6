// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fast paths to devices, as the co-kernel sees them: a call on a descriptor that Linux granted becomes commands to the
//! device, on the core that made the call.
//!
//! Owns: the check of a call against its grant ([`Grant::check`]), the way to its buffers ([`Buffers`]), and what a fast path is given and answers
//! ([`FastPath`]). `kernel/core` calls it; each device has a crate of its own (`pico/nvme/core`). A call that this code
//! is not sure about is forwarded: Linux's answer is always right. Nothing here trusts a number that the program gave.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod buffers;
mod grant;
mod path;

pub use buffers::{Buffer, Buffers, MOST_BUFFERS, Piece, Survey};
pub use grant::{Direction, Forward, Grant, MOST_BYTES, Request, Transfer};
pub use path::{Descriptors, FastPath, Look, NoDevices, Standing, pause};
