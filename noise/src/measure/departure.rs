// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds out whether a measuring thread stayed on its CPU.
//!
//! Linux breaks a thread's binding if its CPU goes offline or leaves the cpuset, and moves the thread to another CPU.
//! Samples that it took there must not carry the first one's number. `run_all` asks a few times a second, from its own
//! thread; a thread's samples count up to the last answer that was right. It never moves a thread.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use super::sampling::ticks;

/// Where the thread of one CPU is.
#[derive(Debug, Default)]
pub struct Stay {
    /// Written by the measuring thread before it is ready; read by `look` after all are.
    thread: AtomicI32,
    /// The reading of the time source when the thread was last known to be bound to its CPU; 0 before. Written by the
    /// measuring thread before it is ready, then by `look` alone; read after both have ended.
    bound: AtomicU64,
    /// 1 as soon as it was found elsewhere.
    left: AtomicU64,
}

impl Stay {
    /// The calling thread is bound to its CPU.
    pub fn begin(&self) {
        self.thread.store(nix::unistd::gettid().as_raw(), Ordering::Release);
        self.bound.store(ticks(), Ordering::Release);
    }

    /// Asks Linux where the thread may run. A thread that left once has left, even if it is back.
    pub fn look(&self, cpu: u32) {
        let now = ticks();
        if self.left.load(Ordering::Acquire) == 0 {
            match is_bound(self.thread.load(Ordering::Acquire), cpu) {
                true => self.bound.store(now, Ordering::Release),
                false => self.left.store(1, Ordering::Release),
            }
        }
    }

    /// If the thread left its CPU: the last moment at which it was known to be there.
    pub fn left_after(&self) -> Option<u64> {
        (self.left.load(Ordering::Acquire) != 0).then(|| self.bound.load(Ordering::Acquire))
    }
}

/// Whether a thread, 0 for the calling one, may run on this CPU alone.
pub fn is_bound(thread: i32, cpu: u32) -> bool {
    let Ok(set) = sched_getaffinity(Pid::from_raw(thread)) else { return false };
    (0..CpuSet::count()).all(|one| set.is_set(one).unwrap_or(false) == (one == cpu as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::machine::{allowed_cpus, pin};

    /// In a thread of its own, which is bound and then released.
    #[test]
    fn a_thread_that_left_has_left() {
        let cpus = allowed_cpus().expect("CPUs");
        let check = move || {
            pin(&cpus[..1]).expect("bound");
            let stay = Stay::default();
            stay.begin();
            stay.look(cpus[0]);
            assert_eq!(stay.left_after(), None);
            let before = ticks();
            // Another CPU's number stands for a binding that was broken, also where there is only one CPU.
            stay.look(cpus[0] + 1);
            let left = stay.left_after().expect("it is not bound there");
            assert!(left <= before && left > 0);
            stay.look(cpus[0]);
            assert_eq!(stay.left_after(), Some(left));
        };
        std::thread::spawn(check).join().expect("no failure");
    }
}
