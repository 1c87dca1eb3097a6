// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HPL: an HPC scheduling class between real-time and normal, loaded into a running kernel and taken away again.
//!
//! The scheduler itself is in `bpf/`; this is what loads it (`scheduler`), stays with it (`resident`), tells the commands
//! where it is (`record`), and says what it did (`figures`). `topology` reads how the machine's CPUs are arranged.

pub mod commands;
pub mod figures;
pub mod layout;
pub mod options;
pub mod record;
pub mod resident;
pub mod scheduler;
pub mod support;
pub mod topology;

/// What everything here returns; the text is one line.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
