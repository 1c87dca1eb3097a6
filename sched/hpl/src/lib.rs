// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HPL: an HPC scheduling class between real-time and normal, which can be loaded into a running kernel and unloaded.
//!
//! The scheduler itself is in `bpf/`. This crate loads it (`scheduler`), keeps a process with it (`resident`), records
//! its state for the commands (`record`), and reads its counts (`figures`). `topology` reads the arrangement of the
//! CPUs.

pub mod commands;
pub mod examples;
pub mod figures;
pub mod grace;
pub mod keep;
pub mod layout;
pub mod options;
pub mod record;
pub mod resident;
pub mod scheduler;
pub mod support;
pub mod topology;

/// The result of all functions that can fail; an error's text is one line.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
