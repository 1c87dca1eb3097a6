// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The emulator: its command line, its processes. Only this folder knows its options.

mod arguments;
mod node;

pub use arguments::{Files, arguments, uses_kvm};
pub use node::{Emulated, from_node, last_words};
