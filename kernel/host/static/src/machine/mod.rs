// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine below all floors: the real one, or, where the crate is built for a host, one that is made up (`fake`), on
//! which tests run the whole static kernel.
//!
//! Both offer the same names, so that nothing above knows which it has.

#[cfg(target_os = "none")]
mod real;
#[cfg(target_os = "none")]
pub use real::*;

#[cfg(not(target_os = "none"))]
pub mod fake;
#[cfg(not(target_os = "none"))]
pub use fake::*;

pub use tacet_arch::x86_64::{ELF_MACHINE, UserRegisters, signal_frame};
