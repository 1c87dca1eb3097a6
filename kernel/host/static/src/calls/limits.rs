// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Limits of memory, of CPU time and of threads, which the proxy has too but uses for itself: set there, they would end the
//! proxy and leave the program alone. The node keeps what the program sets, and gives it back; they limit nothing here.
//!
//! All other limits, of files and descriptors, are the proxy's.

use crate::base::clock::write_pair;
use crate::base::{StaticHost, Subject};
use crate::ship::result;
use core::sync::atomic::Ordering;
use tacet_wire::calls::number;
use tacet_wire::errno::Errno;

const CPU_TIME: u64 = 0;
const DATA: u64 = 2;
const STACK: u64 = 3;
const RESIDENT: u64 = 5;
const PROCESSES: u64 = 6;
const LOCKED: u64 = 8;
const ADDRESSES: u64 = 9;
const REALTIME: u64 = 15;

/// The low 32 bits name a limit, as Linux takes them.
fn is_kept(resource: u64) -> bool {
    matches!(resource, CPU_TIME | DATA | STACK | RESIDENT | PROCESSES | LOCKED | ADDRESSES | REALTIME)
}

impl StaticHost {
    /// prlimit64(2). `None`: it is the proxy's limit.
    pub fn prlimit64(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        let [who, resource, new_at, old_at, ..] = *arguments;
        let resource = resource & 0xffff_ffff;
        is_kept(resource).then(|| {
            let own = subject.thread.process_id.load(Ordering::Relaxed);
            if who as i32 != 0 && who as i32 != own {
                return Err(Errno::ESRCH);
            }
            // Both are for the same instant: the old one is read first, in case that they share an address.
            let new = if new_at == 0 { None } else { Some(read_limit(subject, new_at)?) };
            if old_at != 0 {
                self.write_limit(subject, resource, old_at)?;
            }
            new.map_or(Ok(0), |new| self.keep_limit(subject, resource, new))
        })
    }

    pub fn getrlimit(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        let [resource, at, ..] = *arguments;
        let resource = resource & 0xffff_ffff;
        is_kept(resource).then(|| self.write_limit(subject, resource, at))
    }

    pub fn setrlimit(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Option<Result<u64, Errno>> {
        let [resource, at, ..] = *arguments;
        let resource = resource & 0xffff_ffff;
        is_kept(resource).then(|| self.keep_limit(subject, resource, read_limit(subject, at)?))
    }

    fn keep_limit(&self, subject: &Subject<'_>, resource: u64, (soft, hard): (u64, u64)) -> Result<u64, Errno> {
        if soft > hard {
            return Err(Errno::EINVAL);
        }
        let may_raise = self.node.job.with(|job| job.user.euid) == 0;
        subject.process.limits.with(|limits| {
            let kept = limits.get_mut(resource as usize).ok_or(Errno::EINVAL)?;
            if kept.is_some_and(|(_, before)| hard > before) && !may_raise {
                return Err(Errno::EPERM);
            }
            *kept = Some((soft, hard));
            Ok(0)
        })
    }

    /// The stacks are what they are, whatever the program has set: threads libraries compute with this limit.
    fn write_limit(&self, subject: &Subject<'_>, resource: u64, at: u64) -> Result<u64, Errno> {
        if resource == STACK {
            let bytes = subject.process.memory.with(|layout| layout.stack_bytes());
            return write_pair(subject, at, bytes, bytes);
        }
        match subject.process.limits.with(|limits| limits.get(resource as usize).copied().flatten()) {
            Some((soft, hard)) => write_pair(subject, at, soft, hard),
            None => result(self.ship_call(subject, number::GETRLIMIT, &[resource, at, 0, 0, 0, 0])),
        }
    }
}

fn read_limit(subject: &Subject<'_>, at: u64) -> Result<(u64, u64), Errno> {
    let word = |at| subject.memory.read_u64(at).ok_or(Errno::EFAULT);
    Ok((word(at)?, word(at.wrapping_add(8))?))
}
