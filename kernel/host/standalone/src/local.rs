// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls about the thread, its process and its CPUs that the node answers by itself, without a file of their own.

use crate::host::{Alone, Subject};
use crate::places::has;
use crate::thread::wanted;
use crate::time::write_pair;
use core::sync::atomic::{Ordering, fence};
use tacet_arch::Processor;
use tacet_core::{Affinity, CPUS, TURN_NS, Thread};
use tacet_shipping::errno::Errno;

/// include/uapi/linux/prctl.h
const SET_PDEATHSIG: u64 = 1;
const GET_PDEATHSIG: u64 = 2;
const GET_DUMPABLE: u64 = 3;
const SET_DUMPABLE: u64 = 4;
const SET_NAME: u64 = 15;
const GET_NAME: u64 = 16;
const SET_TIMERSLACK: u64 = 29;
const GET_TIMERSLACK: u64 = 30;
const SET_NO_NEW_PRIVS: u64 = 38;
const GET_NO_NEW_PRIVS: u64 = 39;
const SET_VMA: u64 = 0x5356_4d41;
const NAME_BYTES: usize = 16;

/// Of a struct sched_param.
const PRIORITY_BYTES: usize = 4;
const SCHED_OTHER: u64 = 0;
const SCHED_FIFO: u64 = 1;
const SCHED_RR: u64 = 2;
const SCHED_BATCH: u64 = 3;
const SCHED_IDLE: u64 = 5;

/// include/uapi/linux/time.h
const ITIMER_VIRTUAL: u64 = 1;
const ITIMER_PROF: u64 = 2;

/// sizeof(struct robust_list_head)
const ROBUST_LIST_BYTES: u64 = 24;
const RUSAGE_BYTES: usize = 144;
const RUSAGE_SELF: i32 = 0;
const RUSAGE_CHILDREN: i32 = -1;
const RUSAGE_THREAD: i32 = 1;

impl Alone {
    pub fn prctl(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [option, value, ..] = *arguments;
        match option {
            SET_NAME => {
                let mut name = [0; NAME_BYTES];
                let length = subject.memory.read_text(value, &mut name);
                if length.is_none() && subject.memory.read(value, &mut name).is_none() {
                    return Err(Errno::EFAULT);
                }
                let used = length.unwrap_or(NAME_BYTES).min(NAME_BYTES - 1);
                name.iter_mut().skip(used).for_each(|byte| *byte = 0);
                subject.thread.name.with(|own| *own = name);
                Ok(0)
            }
            GET_NAME => {
                let name = subject.thread.name.with(|name| *name);
                subject.memory.write(value, &name).map(|()| 0).ok_or(Errno::EFAULT)
            }
            GET_PDEATHSIG => subject.memory.write_u32(value, 0).map(|()| 0).ok_or(Errno::EFAULT),
            GET_DUMPABLE | GET_NO_NEW_PRIVS => Ok(1),
            GET_TIMERSLACK => Ok(50_000),
            // Nothing here depends on them.
            SET_PDEATHSIG | SET_DUMPABLE | SET_TIMERSLACK | SET_NO_NEW_PRIVS | SET_VMA => Ok(0),
            _ => Err(Errno::EINVAL),
        }
    }

    /// getitimer(2), setitimer(2). The proxy's CPU time says nothing of the program's, so a timer of CPU time would never
    /// ring: it is refused. `None`: a timer of real time, which is the proxy's.
    pub fn interval_timer(&self, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        let [which, ..] = *arguments;
        matches!(which & 0xffff_ffff, ITIMER_VIRTUAL | ITIMER_PROF).then_some(Err(Errno::ENOSYS))
    }

    pub fn set_tid_address(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, ..] = *arguments;
        subject.thread.clear_at_end.store(address, Ordering::Relaxed);
        Ok(subject.thread.id() as u64)
    }

    pub fn set_robust_list(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [head, bytes, ..] = *arguments;
        if bytes != ROBUST_LIST_BYTES {
            return Err(Errno::EINVAL);
        }
        subject.thread.robust_list.store(head, Ordering::Relaxed);
        Ok(0)
    }

    pub fn get_robust_list(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, head_at, bytes_at, ..] = *arguments;
        let (_, thread) = self.thread_with_id(subject, id as i32).ok_or(Errno::ESRCH)?;
        let head = thread.robust_list.load(Ordering::Relaxed);
        let written = subject.memory.write_u64(bytes_at, ROBUST_LIST_BYTES);
        written.and_then(|()| subject.memory.write_u64(head_at, head)).map(|()| 0).ok_or(Errno::EFAULT)
    }

    /// A thread of the caller's process; 0: the caller.
    pub fn thread_with_id(&self, subject: &Subject<'_>, id: i32) -> Option<(u32, &'static crate::thread::ThreadState)> {
        let own = subject.thread.id();
        let id = if id == 0 { own } else { id };
        let node = self.node;
        node.threads_of(subject.thread.process()).find(|(_, thread)| thread.id() == id)
    }

    /// sched_getaffinity(2) of whatever thread; the co-kernel answers the common case.
    pub fn sched_getaffinity(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, bytes, address, ..] = *arguments;
        let (number, state) = self.thread_with_id(subject, id as i32).ok_or(Errno::ESRCH)?;
        let thread = crate::thread::AloneThread { number, state, node: self.node };
        let Affinity { cpus, bytes: most, least_bytes } = thread.affinity();
        let bytes = bytes as u32;
        if bytes < least_bytes || !bytes.is_multiple_of(8) {
            return Err(Errno::EINVAL);
        }
        let bytes = bytes.min(most) as usize;
        let mask = cpus.map(u64::to_le_bytes);
        let given = mask.as_flattened().get(..bytes).ok_or(Errno::EINVAL)?;
        subject.memory.write(address, given).map(|()| bytes as u64).ok_or(Errno::EFAULT)
    }

    /// sched_setaffinity(2). A thread that is on none of the wanted CPUs moves before it goes on.
    pub fn set_affinity(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, bytes, address, ..] = *arguments;
        let (number, thread) = self.thread_with_id(subject, id as i32).ok_or(Errno::ESRCH)?;
        let mut mask = [[0; 8]; CPUS / 64];
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(size_of_val(&mask));
        let wanted = mask.as_flattened_mut().get_mut(..bytes).ok_or(Errno::EINVAL)?;
        subject.memory.read(address, wanted).ok_or(Errno::EFAULT)?;
        let mut mask = mask.map(u64::from_le_bytes);
        let open = self.open_cpus(subject.thread.process(), subject.process);
        mask.iter_mut().zip(open).for_each(|(word, open)| *word &= open);
        self.emptiest_cpu(subject.thread.process(), subject.process, &mask).ok_or(Errno::EINVAL)?;
        thread.affinity.with(|cpus| *cpus = mask);
        // Pairs with `move_if_needed`: either the home is read that the thread has now, or the thread reads this mask.
        fence(Ordering::SeqCst);
        if number != subject.number && !has(&mask, thread.home()) {
            self.node.want(number, wanted::MOVE, &self.cpu);
        }
        Ok(0)
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
        self.thread_with_id(subject, id as i32).ok_or(Errno::ESRCH)?;
        let priority = subject.memory.read_u32(parameters).ok_or(Errno::EFAULT)?;
        match (policy, priority) {
            (SCHED_OTHER | SCHED_BATCH | SCHED_IDLE, 0) => Ok(0),
            (SCHED_FIFO | SCHED_RR, 1..=99) => Err(Errno::EPERM),
            _ => Err(Errno::EINVAL),
        }
    }

    pub fn sched_getscheduler(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, ..] = *arguments;
        self.thread_with_id(subject, id as i32).map(|_| SCHED_OTHER).ok_or(Errno::ESRCH)
    }

    pub fn sched_setparam(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, parameters, ..] = *arguments;
        self.sched_setscheduler(subject, &[id, SCHED_OTHER, parameters, 0, 0, 0])
    }

    pub fn sched_getparam(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, parameters, ..] = *arguments;
        self.thread_with_id(subject, id as i32).ok_or(Errno::ESRCH)?;
        subject.memory.write(parameters, &[0; PRIORITY_BYTES]).map(|()| 0).ok_or(Errno::EFAULT)
    }

    pub fn sched_priority(&self, arguments: &[u64; 6], highest: bool) -> Result<u64, Errno> {
        let [policy, ..] = *arguments;
        match policy {
            SCHED_FIFO | SCHED_RR => Ok(if highest { 99 } else { 1 }),
            SCHED_OTHER | SCHED_BATCH | SCHED_IDLE => Ok(0),
            _ => Err(Errno::EINVAL),
        }
    }

    /// sched_rr_get_interval(2): all turns are alike.
    pub fn sched_rr_get_interval(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, address, ..] = *arguments;
        self.thread_with_id(subject, id as i32).ok_or(Errno::ESRCH)?;
        write_pair(subject, address, 0, TURN_NS)
    }

    /// membarrier(2): only that it can do nothing.
    pub fn membarrier(&self, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [command, ..] = *arguments;
        if command as u32 == 0 { Ok(0) } else { Err(Errno::EINVAL) }
    }

    /// mincore(2): all memory is there.
    pub fn mincore(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, bytes, vector, ..] = *arguments;
        for page in 0..bytes.div_ceil(4096) {
            subject.process.find(address.wrapping_add(page * 4096)).ok_or(Errno::ENOMEM)?;
            subject.memory.write(vector.wrapping_add(page), &[1]).ok_or(Errno::EFAULT)?;
        }
        Ok(0)
    }

    /// getrusage(2): the time in user mode; everything else is zero, and all of the children that there are not.
    pub fn getrusage(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [whose, address, ..] = *arguments;
        let ns = match whose as i32 {
            RUSAGE_SELF => self.process_ns(subject),
            RUSAGE_THREAD => self.thread_ns(subject.thread),
            RUSAGE_CHILDREN => 0,
            _ => return Err(Errno::EINVAL),
        };
        subject.memory.write(address, &[0; RUSAGE_BYTES]).ok_or(Errno::EFAULT)?;
        write_pair(subject, address, ns / 1_000_000_000, ns % 1_000_000_000 / 1000)
    }

    /// sysinfo(2) of the node: its memory is the process's heap.
    pub fn sysinfo(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, ..] = *arguments;
        let (total, used) = subject.process.memory.with(|layout| {
            let used = layout.addresses.mappings().map(|mapping| mapping.bytes).sum::<u64>();
            (layout.heap.end - layout.heap.start, used)
        });
        let mut words = [0u64; 14];
        let threads = u64::from(subject.process.threads.load(Ordering::Relaxed));
        // uptime, loads[3], totalram, freeram, sharedram, bufferram, totalswap, freeswap, procs and padding, totalhigh,
        // freehigh, mem_unit
        let values = [
            self.monotonic_ns(self.cpu.cycles()) / 1_000_000_000,
            0,
            0,
            0,
            total,
            total.saturating_sub(used),
            0,
            0,
            0,
            0,
            threads & 0xffff,
            0,
            0,
            1,
        ];
        words.copy_from_slice(&values);
        let bytes = words.map(u64::to_le_bytes);
        subject.memory.write(address, bytes.as_flattened()).map(|()| 0).ok_or(Errno::EFAULT)
    }
}
