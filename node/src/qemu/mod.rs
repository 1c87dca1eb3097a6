// SPDX-License-Identifier: Apache-2.0 OR MIT
//! QEMU: the choice of emulator, its command line, its process. Only this folder knows its options.

pub(crate) mod accelerator;
pub(crate) mod arguments;
pub(crate) mod emulator;
pub(crate) mod process;

pub use emulator::Qemu;
pub use process::Process;
