// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls about CPUs and policies. Every thread has the ordinary policy.

use crate::base::clock::write_pair;
use crate::base::held::StaticThread;
use crate::base::{StaticHost, Subject};
use tacet_arch::Processor;
use tacet_core::{Affinity, TURN_NS, Thread};
use tacet_wire::errno::Errno;

/// Of a struct sched_param.
const PRIORITY_BYTES: usize = 4;
const SCHED_OTHER: u64 = 0;
const SCHED_FIFO: u64 = 1;
const SCHED_RR: u64 = 2;
const SCHED_BATCH: u64 = 3;
const SCHED_IDLE: u64 = 5;

impl StaticHost {
    /// sched_getaffinity(2) of whatever thread; the co-kernel answers the common case.
    pub fn sched_getaffinity(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, bytes, address, ..] = *arguments;
        let found = self.thread_with_id(subject, id as i32);
        let (number, state) = found.unwrap_or((subject.number, subject.thread));
        let thread = StaticThread { number, state, node: self.node };
        let Affinity { cpus, bytes: most, least_bytes } = thread.affinity();
        // Linux counts in bits, whose number overflows.
        let bytes = bytes as u32;
        if bytes.wrapping_mul(8) / 8 < least_bytes || !bytes.is_multiple_of(8) {
            return Err(Errno::EINVAL);
        }
        found.ok_or(Errno::ESRCH)?;
        let bytes = bytes.min(most) as usize;
        let mask = cpus.map(u64::to_le_bytes);
        let given = mask.as_flattened().get(..bytes).ok_or(Errno::EINVAL)?;
        subject.memory.write(address, given).map(|()| bytes as u64).ok_or(Errno::EFAULT)
    }

    pub fn getcpu(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [cpu, node, ..] = *arguments;
        for (address, value) in [(cpu, self.cpu.index()), (node, 0)] {
            if address != 0 {
                subject.memory.write_u32(address, value).ok_or(Errno::EFAULT)?;
            }
        }
        Ok(0)
    }

    /// Every thread has the ordinary policy: all turns are alike.
    pub fn sched_setscheduler(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, policy, parameters, ..] = *arguments;
        if parameters == 0 || (id as i32) < 0 || (policy as i32) < 0 {
            return Err(Errno::EINVAL);
        }
        let priority = subject.memory.read_u32(parameters).ok_or(Errno::EFAULT)?;
        self.thread_with_id(subject, id as i32).ok_or(Errno::ESRCH)?;
        match (policy, priority) {
            (SCHED_OTHER | SCHED_BATCH | SCHED_IDLE, 0) => Ok(0),
            (SCHED_FIFO | SCHED_RR, 1..=99) => Err(Errno::EPERM),
            _ => Err(Errno::EINVAL),
        }
    }

    pub fn sched_getscheduler(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, ..] = *arguments;
        self.scheduled(subject, id).map(|()| SCHED_OTHER)
    }

    pub fn sched_setparam(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, parameters, ..] = *arguments;
        self.sched_setscheduler(subject, &[id, SCHED_OTHER, parameters, 0, 0, 0])
    }

    pub fn sched_getparam(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, parameters, ..] = *arguments;
        if parameters == 0 {
            return Err(Errno::EINVAL);
        }
        self.scheduled(subject, id)?;
        subject.memory.write(parameters, &[0; PRIORITY_BYTES]).map(|()| 0).ok_or(Errno::EFAULT)
    }

    pub fn sched_get_priority_max(&self, _: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        priority_bound(arguments, 99)
    }

    pub fn sched_get_priority_min(&self, _: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        priority_bound(arguments, 1)
    }

    /// sched_rr_get_interval(2): all turns are alike.
    pub fn sched_rr_get_interval(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, address, ..] = *arguments;
        self.scheduled(subject, id)?;
        write_pair(subject, address, 0, TURN_NS)
    }

    /// Whether there is a thread of this number.
    fn scheduled(&self, subject: &Subject<'_>, id: u64) -> Result<(), Errno> {
        match id as i32 {
            ..0 => Err(Errno::EINVAL),
            id => self.thread_with_id(subject, id).map(drop).ok_or(Errno::ESRCH),
        }
    }
}

/// sched_get_priority_max(2), sched_get_priority_min(2): only the policies for real time have priorities.
fn priority_bound(arguments: &[u64; 6], bound: u64) -> Result<u64, Errno> {
    let [policy, ..] = *arguments;
    match policy {
        SCHED_FIFO | SCHED_RR => Ok(bound),
        SCHED_OTHER | SCHED_BATCH | SCHED_IDLE => Ok(0),
        _ => Err(Errno::EINVAL),
    }
}
