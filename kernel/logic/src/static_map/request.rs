// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The request for a memory map, and the reasons to refuse one. Written by the loader, read by [`super::partition`].

use super::segment::Part;
use crate::elf::Program;
use core::fmt;

/// Processes that a node may have.
pub const PROCESSES: usize = 64;
/// Ranges of physical memory that a node may have.
pub const RANGES: usize = 64;

/// Physical memory without a hole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    pub address: u64,
    pub bytes: u64,
}

/// The input of [`super::partition`].
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub program: &'a Program,
    pub interpreter: Option<&'a Program>,
    /// For each process of the node the bytes of its heap with stacks. 0: as many as every other process with 0 gets, of
    /// what the given shares leave.
    pub shares: &'a [u64],
    /// Memory that all processes of the node see, in bytes; 0: none.
    pub shared_bytes: u64,
    /// A heap with stacks that is smaller is of no use.
    pub least_heap_bytes: u64,
    /// The memory to divide: any order, without overlaps.
    pub ranges: &'a [Range],
}

/// Memory that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    pub part: Part,
    /// Of this process.
    pub process: usize,
    /// So many bytes more are needed.
    pub bytes: u64,
    /// In one piece, of all these.
    pub needed_bytes: u64,
}

/// Why there is no map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Missing(Missing),
    /// The process's share is smaller than the least heap; these bytes are missing.
    Share {
        process: usize,
        share_bytes: u64,
        missing_bytes: u64,
    },
    /// Not 1 to [`PROCESSES`].
    Processes(usize),
    /// The program wants to lie at an address that is not for programs, or with an alignment that is too large.
    Address(u64),
    /// More than [`RANGES`] ranges of physical memory, or two overlap; the address of one.
    Ranges(u64),
}

impl Range {
    pub(super) const fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, process, bytes, needed_bytes } = self;
        let (missing, needed) = (bytes.div_ceil(1024), needed_bytes.div_ceil(1024));
        match part {
            Part::Shared => write!(out, "shared memory: {missing} KiB are missing of {needed} KiB in one piece"),
            _ => write!(out, "{part} of process {process}: {missing} KiB are missing of {needed} KiB in one piece"),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(missing) => missing.fmt(out),
            Self::Share { process, share_bytes, missing_bytes } => {
                let (share, missing) = (share_bytes / 1024, missing_bytes.div_ceil(1024));
                write!(
                    out,
                    "process {process}: its share of {share} KiB is {missing} KiB less than a heap with stacks needs"
                )
            }
            Self::Processes(count) => write!(out, "{count} processes on a node; 1 to {PROCESSES} are possible"),
            Self::Address(address) => {
                write!(out, "the program wants to lie at {address:#x}, where a static node has no program")
            }
            Self::Ranges(address) => {
                write!(out, "physical memory at {address:#x} overlaps another range, or is one of more than {RANGES}")
            }
        }
    }
}
