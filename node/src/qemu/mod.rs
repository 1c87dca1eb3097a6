// SPDX-License-Identifier: Apache-2.0 OR MIT
//! QEMU: which one, with which command line, as which process. Only this folder knows its options.

pub(crate) mod accelerator;
pub(crate) mod arguments;
pub(crate) mod emulator;
pub(crate) mod process;
