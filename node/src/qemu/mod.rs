// SPDX-License-Identifier: Apache-2.0 OR MIT
//! QEMU: the choice of emulator and accelerator, the command line of Linux nodes, its process. Only this folder, and the
//! one of the same name in `static/nodes`, know its options.

pub mod accelerator;
pub(crate) mod arguments;
pub(crate) mod emulator;
mod guarded;
mod monitor;
pub(crate) mod process;

pub use emulator::Qemu;
pub use guarded::{Guarded, words as guard_words};
pub use process::Process;
