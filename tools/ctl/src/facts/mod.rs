// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The module's answers, as values with stable names.
//!
//! Used by `device.rs`, which translates answers, and by the command, which prints them. The field names are the JSON
//! names: they carry their unit and do not change after a release.

mod translate;

use serde::Serialize;

use crate::{CpuSet, Measures};

pub(crate) use translate::text;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NodeMemory {
    pub node: u32,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartitionState {
    None,
    Up,
    Changing,
    Failed,
    Unknown,
}

#[derive(Debug, Clone, Serialize)]
pub struct Status {
    pub state: PartitionState,
    pub cpus: CpuSet,
    /// Linux's CPUs that may join the partition.
    pub spare: CpuSet,
    /// Of `cpus`, those that no job has and that stay for the next one.
    pub kept: CpuSet,
    pub memory: Vec<NodeMemory>,
    pub hosted_threads: u32,
    pub hosted_processes: u32,
    pub hosted_threads_max: u32,
    pub up_count: u32,
    pub image_bytes: u32,
    pub up_ns: u64,
    pub down_ns: u64,
    pub tsc_khz: u64,
    pub test_hooks: bool,
    /// The partition's memory: how much of it is in ranges of programs, and how much ranges may have.
    pub own_bytes: u64,
    pub own_bytes_limit: u64,
    /// What keeps users apart.
    pub isolation: Measures,
    /// Root wanted several users at a time, although one can read another's data.
    pub mixed_users: bool,
    /// With one user at a time: whose programs are hosted, or were last.
    pub user: Option<u32>,
    /// Why the partition failed; empty otherwise.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CpuState {
    Off,
    Online,
    Halted,
    Dead,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CpuMode {
    Kernel,
    User,
    Idle,
    Unknown,
}

/// Interrupts of one vector that Tacet did not send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Foreign {
    pub vector: u8,
    pub count: u32,
}

/// By what a CPU asks the processor for its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockControl {
    /// By nothing that Tacet knows; in a virtual machine the host decides.
    None,
    Hwp,
    Cppc,
    Ratio,
    State,
    Unknown,
}

/// The clock that a core asks for, as its register has it, and what Linux asked for before it gave the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Clock {
    pub control: ClockControl,
    pub before: u64,
    pub now: u64,
}

impl Clock {
    /// The performance asked for, on the processor's own scale: `hwp 42`, or `hwp 8-42` if the processor may choose.
    pub fn describe(&self) -> String {
        let byte = |at: u32| self.now >> at & 0xff;
        let between = |low: u64, high: u64| if low == high { low.to_string() } else { format!("{low}-{high}") };
        match self.control {
            ClockControl::None => "-".to_string(),
            ClockControl::Hwp => format!("hwp {}", between(byte(0), byte(8))),
            ClockControl::Cppc => format!("cppc {}", between(byte(8), byte(0))),
            ClockControl::Ratio => format!("ratio {}", byte(8)),
            ClockControl::State => format!("P{}", self.now & 7),
            ClockControl::Unknown => "unknown".to_string(),
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct CpuStatus {
    pub cpu: u32,
    pub node: u32,
    pub package: u32,
    /// The number of the core in its package; CPUs with the same number are its hardware threads.
    pub physical_core: u32,
    pub state: CpuState,
    pub mode: CpuMode,
    pub hosted_threads: u32,
    pub doorbells_sent: u64,
    pub doorbells_user: u64,
    pub doorbells_kernel: u64,
    /// Doorbells that rang after the core had already served the request.
    pub doorbells_empty: u64,
    pub notifications: u64,
    pub switches: u64,
    pub flushes: u64,
    /// Pages of the partition's memory that programs took and returned on this core.
    pub frames_taken: u64,
    pub frames_returned: u64,
    /// Interrupts of the core's own timer. The timer is on only while no program runs and a thread sleeps until a time.
    pub alarms: u64,
    /// The most that the core's stack has held since the core serves, and the room that it has.
    pub stack_bytes: u32,
    pub stack_bytes_limit: u32,
    pub clock: Clock,
    /// Only the vectors that occurred.
    pub foreign_interrupts: Vec<Foreign>,
}

impl CpuStatus {
    /// Non-maskable interrupts beyond those that the module sent. Doorbells in quick succession may arrive as one
    /// interrupt, so this is a lower bound.
    pub fn foreign_nmi(&self) -> u64 {
        (self.doorbells_user + self.doorbells_kernel).saturating_sub(self.doorbells_sent)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    Linux,
    Waiting,
    Running,
    Unknown,
}

#[derive(Debug, Clone, Serialize)]
pub struct Thread {
    pub pid: i32,
    pub tid: i32,
    pub uid: u32,
    pub cpu: u32,
    pub place: Place,
    /// How often it stayed on Linux for a burst of calls.
    pub bursts: u32,
    pub forwarded_calls: u64,
    pub faults: u64,
    pub exceptions: u64,
    pub signals: u64,
    pub doorbells: u64,
    pub user_ns: u64,
    pub name: String,
}
