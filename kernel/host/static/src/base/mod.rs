// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parts that all floors use: the node's state, processes and threads, the clocks, the memory of programs. This floor
//! calls nothing above it; the node's state has the link among its parts.

pub mod clock;
mod cpu;
pub mod held;
pub mod layout;
pub mod node;
pub mod process;
pub mod settings;
pub mod thread;
pub mod user_memory;

pub use cpu::{StaticHost, Subject};
