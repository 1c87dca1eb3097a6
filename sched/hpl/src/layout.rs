// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The data that the scheduler in the kernel and its loader share: the structures of `bpf/hpl.h`, field by field.

use bytemuck::{Pod, Zeroable};

/// The number of CPUs in the scheduler's maps.
pub const CPUS: u32 = 4096;
/// `enum hpl_class`, by name.
pub const CLASSES: [&str; 5] = ["idle", "normal", "kernel", "hpc", "above"];
/// The index of a class in arrays.
pub const NORMAL: usize = 1;
pub const HPC: usize = 3;

/// A CPU's position in the machine, as numbers without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Place {
    pub package: u32,
    pub core: u32,
    pub cache: u32,
    /// 0: the position is unknown, and no HPC task is placed there
    pub known: u32,
}

/// The number of HPC tasks that were placed on a CPU, core, package or cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Load {
    pub processes: u32,
    pub tasks: u32,
    /// processes with living HPC children
    pub launchers: u32,
}

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Options {
    pub quantum_ns: u64,
    pub trickle_ns: u64,
    pub trickle_period_ns: u64,
    pub trickle_cpu: u32,
    pub groups: u32,
    /// what is kept (`keep`)
    pub keeps: u32,
    pub padding: u32,
}

/// What a control group was named for.
pub const GROUP_HPC: u8 = 1;
pub const GROUP_KEPT: u8 = 2;

/// Counts of one CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Counts {
    pub switches: [u64; CLASSES.len()],
    pub migrations: [u64; CLASSES.len()],
    pub placed: u64,
    pub placed_again: u64,
    pub kept_off: u64,
    pub intrusions: u64,
    pub trickles: u64,
    pub trickle_ns: u64,
    pub rebound: u64,
    pub lent: u64,
    pub kept: u64,
}

/// Why the scheduler ended.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct End {
    pub code: i64,
    pub kind: i32,
    pub padding: u32,
    pub reason: [u8; 64],
    pub message: [u8; 256],
}

/// The text of a field that ends with a zero byte.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}
