// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the module answers, as values with names that stay.
//!
//! Called by `device.rs` to translate answers, by the command to print them.
//! The field names are the JSON names: they carry their unit and are not
//! changed once released.

use serde::Serialize;
use tacet_abi as abi;

use crate::CpuSet;

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

/// Interrupts of one vector that nobody of Tacet sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Foreign {
    pub vector: u8,
    pub count: u32,
}

#[derive(Debug, Clone, Serialize)]
pub struct CpuStatus {
    pub cpu: u32,
    pub node: u32,
    pub state: CpuState,
    pub mode: CpuMode,
    pub hosted_threads: u32,
    pub doorbells_sent: u64,
    pub doorbells_user: u64,
    pub doorbells_kernel: u64,
    pub doorbells_empty: u64,
    pub notifications: u64,
    pub switches: u64,
    pub flushes: u64,
    /// Only the vectors that came.
    pub foreign_interrupts: Vec<Foreign>,
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
    pub forwarded_calls: u64,
    pub faults: u64,
    pub exceptions: u64,
    pub signals: u64,
    pub doorbells: u64,
    pub user_ns: u64,
    pub name: String,
}

impl From<&abi::tacet_status> for Status {
    fn from(raw: &abi::tacet_status) -> Self {
        let nodes = raw.nodes.iter().take(raw.node_count as usize);
        Status {
            state: match raw.state {
                abi::TACET_PARTITION_NONE => PartitionState::None,
                abi::TACET_PARTITION_UP => PartitionState::Up,
                abi::TACET_PARTITION_CHANGING => PartitionState::Changing,
                abi::TACET_PARTITION_FAILED => PartitionState::Failed,
                _ => PartitionState::Unknown,
            },
            cpus: CpuSet::from_words(raw.cpus),
            memory: nodes.map(|entry| NodeMemory { node: entry.node, bytes: entry.bytes }).collect(),
            hosted_threads: raw.hosted_threads,
            hosted_processes: raw.hosted_processes,
            hosted_threads_max: raw.context_count,
            up_count: raw.up_count,
            image_bytes: raw.image_bytes,
            up_ns: raw.up_ns,
            down_ns: raw.down_ns,
            tsc_khz: raw.tsc_khz,
            test_hooks: raw.test_hooks != 0,
            message: text(&raw.message),
        }
    }
}

impl From<&abi::tacet_cpu_status> for CpuStatus {
    fn from(raw: &abi::tacet_cpu_status) -> Self {
        let vectors = (0..=u8::MAX).zip(raw.foreign).filter(|(_, count)| *count > 0);
        CpuStatus {
            cpu: raw.cpu,
            node: raw.node,
            state: match raw.state {
                abi::TACET_CPU_OFF => CpuState::Off,
                abi::TACET_CPU_ONLINE => CpuState::Online,
                abi::TACET_CPU_HALTED => CpuState::Halted,
                abi::TACET_CPU_DEAD => CpuState::Dead,
                _ => CpuState::Unknown,
            },
            mode: match raw.mode {
                abi::TACET_MODE_KERNEL => CpuMode::Kernel,
                abi::TACET_MODE_USER => CpuMode::User,
                abi::TACET_MODE_IDLE => CpuMode::Idle,
                _ => CpuMode::Unknown,
            },
            hosted_threads: raw.hosted_threads,
            doorbells_sent: raw.doorbells_sent,
            doorbells_user: raw.doorbells_user,
            doorbells_kernel: raw.doorbells_kernel,
            doorbells_empty: raw.doorbells_empty,
            notifications: raw.notifications,
            switches: raw.switches,
            flushes: raw.flushes,
            foreign_interrupts: vectors.map(|(vector, count)| Foreign { vector, count }).collect(),
        }
    }
}

impl From<&abi::tacet_thread> for Thread {
    fn from(raw: &abi::tacet_thread) -> Self {
        Thread {
            pid: raw.tgid,
            tid: raw.pid,
            uid: raw.uid,
            cpu: raw.cpu,
            place: match raw.place {
                abi::TACET_PLACE_LINUX => Place::Linux,
                abi::TACET_PLACE_WAITING => Place::Waiting,
                abi::TACET_PLACE_RUNNING => Place::Running,
                _ => Place::Unknown,
            },
            forwarded_calls: raw.forwarded_calls,
            faults: raw.faults,
            exceptions: raw.exceptions,
            signals: raw.signals,
            doorbells: raw.doorbells,
            user_ns: raw.user_ns,
            name: text(&raw.name),
        }
    }
}

/// The bytes before the first zero, as text that is safe on a terminal.
pub(crate) fn text(bytes: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|c| *c as u8).take_while(|b| *b != 0).collect();
    let text = String::from_utf8_lossy(&bytes);
    text.trim_end().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
