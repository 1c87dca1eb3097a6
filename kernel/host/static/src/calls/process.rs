// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls about the thread and its process, and about the whole node.

use crate::base::clock::write_pair;
use crate::base::{StaticHost, Subject};
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_wire::errno::Errno;

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
/// A thread's, if nobody has set another.
const TIMER_SLACK_NS: u64 = 50_000;
/// The last signal's number.
const SIGNALS: u64 = 64;

/// include/uapi/linux/time.h
const ITIMER_VIRTUAL: u64 = 1;
const ITIMER_PROF: u64 = 2;

/// sizeof(struct robust_list_head)
const ROBUST_LIST_BYTES: u64 = 24;
const RUSAGE_BYTES: usize = 144;
const RUSAGE_SELF: i32 = 0;
const RUSAGE_CHILDREN: i32 = -1;
const RUSAGE_THREAD: i32 = 1;

impl StaticHost {
    pub fn prctl(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [option, value, ..] = *arguments;
        match option & 0xffff_ffff {
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
            // Nothing here depends on it.
            SET_VMA => Ok(0),
            _ => attribute(subject, arguments),
        }
    }

    /// The proxy's CPU time says nothing of the program's, so a timer of CPU time would never ring: it is refused. `None`:
    /// a timer of real time, which is the proxy's.
    pub fn getitimer(&self, _: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        let [which, ..] = *arguments;
        matches!(which & 0xffff_ffff, ITIMER_VIRTUAL | ITIMER_PROF).then_some(Err(Errno::ENOSYS))
    }

    pub fn setitimer(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        self.getitimer(subject, arguments)
    }

    pub fn getuid(&self, _: &Subject<'_>, _: &[u64; 6]) -> Result<u64, Errno> {
        Ok(self.node.job.with(|job| job.user.uid).into())
    }

    pub fn getgid(&self, _: &Subject<'_>, _: &[u64; 6]) -> Result<u64, Errno> {
        Ok(self.node.job.with(|job| job.user.gid).into())
    }

    pub fn geteuid(&self, _: &Subject<'_>, _: &[u64; 6]) -> Result<u64, Errno> {
        Ok(self.node.job.with(|job| job.user.euid).into())
    }

    pub fn getegid(&self, _: &Subject<'_>, _: &[u64; 6]) -> Result<u64, Errno> {
        Ok(self.node.job.with(|job| job.user.egid).into())
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

    /// membarrier(2): only that it can do nothing.
    pub fn membarrier(&self, _: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [command, ..] = *arguments;
        if command as u32 == 0 { Ok(0) } else { Err(Errno::EINVAL) }
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

/// Keeps what a program sets, and gives it back, with Linux's checks.
fn attribute(subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
    let [option, value, third, fourth, fifth, _] = *arguments;
    let (own, slack) = (&subject.process.attributes, &subject.thread.timer_slack_ns);
    let no_more = third | fourth | fifth == 0;
    match (option & 0xffff_ffff, value) {
        (GET_PDEATHSIG, _) => {
            let signal = own.with(|own| own.death_signal);
            return subject.memory.write_u32(value, signal.into()).map(|()| 0).ok_or(Errno::EFAULT);
        }
        (GET_DUMPABLE, _) => return Ok(own.with(|own| own.dumpable).into()),
        (GET_TIMERSLACK, _) => {
            let kept = slack.load(Ordering::Relaxed);
            return Ok(if kept == 0 { TIMER_SLACK_NS } else { kept });
        }
        (GET_NO_NEW_PRIVS, 0) if no_more => return Ok(own.with(|own| own.no_new_privileges).into()),
        (SET_PDEATHSIG, 0..=SIGNALS) => own.with(|own| own.death_signal = value as u8),
        (SET_DUMPABLE, 0 | 1) => own.with(|own| own.dumpable = value == 1),
        // A number that is not positive stands for the usual one.
        (SET_TIMERSLACK, _) => slack.store(u64::try_from(value.cast_signed()).unwrap_or(0), Ordering::Relaxed),
        (SET_NO_NEW_PRIVS, 1) if no_more => own.with(|own| own.no_new_privileges = true),
        _ => return Err(Errno::EINVAL),
    }
    Ok(0)
}
