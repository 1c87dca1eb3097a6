// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The contract of `tacet`, `tacet noise`, `tacet tune` and `tacet sched`, which `docs/command-line.md` states.
//!
//! Each of the four programs calls it for its arguments and for its last words. It knows words and clap, and nothing of
//! the machine or of the other crates: the laboratory uses it too, and must not link what it judges.

mod config;
pub mod describe;
pub mod examples;
pub mod interrupted;
pub mod json;
pub mod pages;
pub mod plain;
pub mod status;
mod tool;
mod usage;
pub mod values;
pub mod verdict;

pub use tool::{Failure, Tool};
pub use usage::nearest;
