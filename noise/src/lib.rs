// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The noise laboratory: measures how an operating system disturbs a program that only computes, and predicts what this
//! costs at scale.
//!
//! It links no other part of this project but the words of its command line, so it can judge them fairly. All parts work on a record (`record`):
//! `measure` makes one, `analyse` computes its statistics, `predict` extrapolates, `report` draws figures, `show`
//! prints tables.
//!
//! Words, as in the literature: *noise* is time that the operating system takes from a program; a *detour* is one
//! interruption, or a sample with noise above a threshold; *FWQ* (fixed work quanta) repeats the same work and measures
//! the time of each *quantum*; *FTQ* (fixed time quanta) counts the work done in each interval; the *selfish* method
//! reads the time in a loop and records the jumps; a *thief* is a source of noise that a trace found.

pub mod analyse;
pub mod campaign;
pub mod collect;
pub mod commands;
pub mod exact;
pub mod examples;
pub mod history;
pub mod import;
pub mod inject;
pub mod measure;
pub mod options;
pub mod predict;
pub mod record;
pub mod report;
pub mod show;
pub mod trace;
pub mod units;

/// The result of all functions that can fail; an error's text is one line.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
