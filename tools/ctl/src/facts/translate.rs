// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Translates the border's structures into facts.
//!
//! Called by `device.rs` and `log.rs`. A number that the border does not define becomes `Unknown`. Text loses its
//! control characters, so that it cannot move a terminal's cursor.

use tacet_abi as abi;

use super::{
    Clock, ClockControl, CpuMode, CpuState, CpuStatus, Foreign, NodeMemory, PartitionState, Place, Status, Thread,
};
use crate::{CpuSet, Measures};

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
            spare: CpuSet::from_words(raw.spare),
            kept: CpuSet::from_words(raw.kept),
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
            own_bytes: raw.own_bytes,
            own_bytes_limit: raw.own_bytes_limit,
            isolation: Measures::from_bits(raw.measures),
            mixed_users: raw.waived & abi::TACET_MEASURE_ONE_USER != 0,
            user: (raw.user != abi::TACET_NO_USER).then_some(raw.user),
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
            package: raw.package,
            physical_core: raw.physical_core,
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
                abi::TACET_MODE_IDLE | abi::TACET_MODE_SPINNING => CpuMode::Idle,
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
            frames_taken: raw.frames_taken,
            frames_returned: raw.frames_returned,
            alarms: raw.alarms,
            stack_bytes: raw.stack_bytes,
            stack_bytes_limit: abi::TACET_STACK_BYTES,
            clock: Clock {
                control: match raw.performance {
                    abi::TACET_PERFORMANCE_NONE => ClockControl::None,
                    abi::TACET_PERFORMANCE_HWP => ClockControl::Hwp,
                    abi::TACET_PERFORMANCE_CPPC => ClockControl::Cppc,
                    abi::TACET_PERFORMANCE_RATIO => ClockControl::Ratio,
                    abi::TACET_PERFORMANCE_STATE => ClockControl::State,
                    _ => ClockControl::Unknown,
                },
                before: raw.performance_before,
                now: raw.performance_now,
            },
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
            bursts: raw.bursts,
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
