// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The same program on each rung of the ladder: default Linux, tuned Linux, HPL, the co-kernel; on the same CPUs, turn by
//! turn.
//!
//! `rungs` owns the words by which each rung is entered and left, `turns` the order, `process` the processes, `verdict`
//! what may be said of the times. All of it is done by the commands that a person uses.

mod process;
mod rungs;
mod turns;
mod verdict;

pub use process::{Processes, words};
pub use rungs::{Place, Rung};
pub use turns::{Noise, Plan, Stood, Thief, compare};
pub use verdict::verdict;
