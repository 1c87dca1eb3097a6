// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Measures what interrupts a computing core, and what Tacet costs.
//!
//! There are two methods, which are never mixed. A plugin of the emulator counts instructions; these may be asserted.
//! Times are compared only with times of the same run. Called by `cargo xtask bench` through `main.rs`, and by the
//! demo:
//!
//! ```no_run
//! use tacet_bench::{Configuration, Programs, Settings, draw, profile};
//! use tacet_node::{Cache, Node};
//!
//! # fn main() -> tacet_bench::Result<()> {
//! let cache = Cache::open()?;
//! let (programs, settings) = (Programs::build(&cache)?, Settings::quick());
//! let node = Node::boot(&cache, &Configuration::Tacet.node(&settings, &programs))?;
//! let tacet = profile(&node, Configuration::Tacet, &settings, &programs)?;
//! draw(&[tacet], "noise.svg".as_ref())?;
//! # Ok(()) }
//! ```

mod allocator;
mod busy_idle;
pub mod calls;
mod configuration;
pub mod core;
mod culprits;
mod draw;
mod faults;
pub mod forward;
mod forward_account;
mod forward_contended;
mod forward_programs;
mod guest;
mod instructions;
mod jobs;
mod kept;
pub mod memory;
mod metric;
pub mod node_jobs;
pub mod noise;
pub mod pico;
mod profile;
mod programs;
mod provenance;
pub mod sched;
mod sizes;
pub mod static_nodes;
mod times;
pub mod tune;
mod variation;
mod versus;

pub use configuration::{Configuration, Settings, counted_node};
pub use draw::draw;
pub use metric::{Metric, table};
pub use profile::{Profile, profile};
pub use programs::Programs;
pub use tacet_noise::exact::log::Log;

/// The result type of this crate; an error's text is one line.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
