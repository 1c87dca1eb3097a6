// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Quiet Linux: the noise countermeasures of Fugaku's Linux (Gerofi et al., SC '21, section 4) for any node, as plan,
//! apply, verify and undo.
//!
//! A claim says which CPUs must be quiet; the countermeasures propose changes; a journal keeps the original values.
//! This crate depends on no other part of Tacet but the words of its command line: it serves a plain Linux node by itself.

pub mod ablate;
pub mod apply;
pub mod boot_line;
pub mod bystanders;
pub mod claim;
pub mod commands;
pub mod cpus;
pub mod error;
pub mod examples;
pub mod export;
pub mod form;
pub mod journal;
pub mod measures;
pub mod node;
pub mod object;
pub mod options;
pub mod plan;
pub mod rehearse;
pub mod show;
pub mod split;
pub mod systemd;
pub mod threads;
pub mod topology;
pub mod undo;
pub mod verify;
