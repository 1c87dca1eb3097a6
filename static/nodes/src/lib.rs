// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Static nodes: starts emulated ones with their daemon, runs jobs on them, tells about them.
//!
//! Used by the command `tacet static`, the demo and the tests. Exports only.
#![forbid(unsafe_code)]

pub mod boot_line;
mod bridge;
pub mod daemon;
pub mod image;
pub mod job;
pub mod keeper;
pub mod key;
pub mod launch;
pub mod map;
pub mod others;
pub mod program;
mod qemu;
pub mod signal;
mod spec;
pub mod state;
pub mod trial;

pub use spec::{Accelerator, Card, Link, Machine, Spec};
