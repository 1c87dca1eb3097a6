// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The emulator: its command line, its processes. Only this folder knows its options.

mod accelerator;
mod arguments;
mod node;

pub use accelerator::{distrust_kvm, foresee, with_kvm};
pub use arguments::{Files, arguments};
pub use node::{Emulated, emulator_words, from_node, last_words};
