// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A signal handler's frame on its stack, byte by byte as Linux writes it (`struct rt_sigframe`), and the way back.
//!
//! Owns the layout. Called by a static kernel, with what [`tacet_logic::signals`] wants delivered; it copies the
//! bytes. Pure: builds and is tested on every host, on Linux for x86-64 against Linux's own frames. It must never give
//! back registers that a program may not have.
//!
//! - [`build`]: the frame of a handler, and the registers that it starts with. Beside it lies the extended state: the
//!   caller saves it to a buffer, [`seal`]s that and copies it to [`Frame::extended_address`].
//! - [`parse`]: what `rt_sigreturn` restores; [`open`] does the same for the extended state.

mod extended;
mod frame;
mod general;

pub use extended::{EXTENDED_END_BYTES, open, seal};
pub use frame::{FRAME_BYTES, Frame, Restored, Trap, build, info, least_stack_bytes, parse};
pub use general::Registers;

#[cfg(test)]
mod tests;
