// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs the same program on each rung of the ladder, in turn and on the same CPUs: default Linux, tuned Linux, HPL, the
//! co-kernel.
//!
//! `rungs` owns the commands that set up and remove each rung, `turns` the order of the runs, `process` the processes,
//! `verdict` the conclusion. Everything is done with the commands that a person would use.

mod process;
mod rungs;
mod turns;
mod verdict;

pub use process::{Processes, words};
pub use rungs::{Place, Rung};
pub use turns::{Noise, Plan, RungResult, Thief, compare};
pub use verdict::verdict;
