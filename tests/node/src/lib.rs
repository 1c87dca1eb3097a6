// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scenarios on nodes: what Tacet does on a real kernel, and what is left afterwards (nothing).
//!
//! One node is booted for each kernel; the scripts and programs of `tests/faults` and `tests/fuzz` run inside it, one
//! after the other, and after each the node's state is compared with the state before it. Called by `cargo xtask test`
//! and by hand: `cargo test -p tacet-scenarios --test nodes -- [KERNEL...] [--only WORD] [--full]`.

mod list;
mod memory;
mod options;
mod queue;
mod runner;
mod scenario;
mod stage;
mod state;

pub use options::Options;
pub use runner::run;
