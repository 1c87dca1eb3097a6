// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scenarios on nodes: what Tacet does on a real kernel, and that it leaves nothing behind.
//!
//! For each kernel a node is booted. The scripts and programs of `tests/faults` and `tests/fuzz` run in it one after the
//! other, and after each the runner compares the node's state with the state before. Called by `cargo xtask test` and by
//! hand: `cargo test -p tacet-scenarios --test nodes -- [KERNEL...] [--only WORD] [--full] [--list]`.

mod bench;
mod clock;
mod list;
mod options;
mod queue;
mod report;
mod runner;
mod said;
mod scenario;
mod stage;
mod state;
mod times;

pub use options::Options;
pub use runner::run;
