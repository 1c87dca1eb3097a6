// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The noise laboratory: measures what an operating system does to a program that only computes, and says how much that
//! costs at scale.
//!
//! It links no other part of this project: the judge does not link the accused. A record (`record`) is what everything
//! else is about: `measure` makes one, `analyse` reads statistics out of it, `predict` extrapolates, `report`
//! pictures, `show` makes tables.

pub mod analyse;
pub mod collect;
pub mod commands;
pub mod exact;
pub mod inject;
pub mod measure;
pub mod options;
pub mod predict;
pub mod record;
pub mod report;
pub mod show;
pub mod trace;
pub mod units;

/// What everything here returns; the text is one line.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
