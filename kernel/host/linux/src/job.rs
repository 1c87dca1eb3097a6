// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A job's memory (`struct tacet_job_memory`): Linux writes the limit, the cores count. The other end is
//! `linux/partition/jobs.c`, and for what a job has for itself `linux/partition/apart.c`.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use tacet_abi::{TACET_JOB_MEMORIES, tacet_job_memory, tacet_memory};
use tacet_logic::frames::Limit;

/// The account of one job.
#[derive(Clone, Copy)]
pub(crate) struct JobMemory {
    at: NonNull<tacet_job_memory>,
    number: u8,
}

const _: () = assert!(TACET_JOB_MEMORIES <= u8::MAX as u32);

impl JobMemory {
    /// Of job number `job`. Nearly always there is none.
    #[inline]
    pub(crate) fn of(memory: NonNull<tacet_memory>, job: u32) -> Option<Self> {
        if job == 0 || job > TACET_JOB_MEMORIES {
            return None;
        }
        // SAFETY: within the array, which is mapped for as long as the CPU runs.
        let at = unsafe {
            let first = (&raw mut (*memory.as_ptr()).jobs).cast::<tacet_job_memory>();
            NonNull::new_unchecked(first.add(job as usize - 1))
        };
        Some(Self { at, number: job as u8 })
    }

    /// The limit of the memory that the job may have.
    pub(crate) fn limit(&self) -> Option<Limit<'static>> {
        let at = self.at.as_ptr();
        // SAFETY: mapped, aligned, always accessed atomically.
        let (limit, frames) =
            unsafe { (AtomicU64::from_ptr(&raw mut (*at).limit), AtomicI64::from_ptr(&raw mut (*at).frames)) };
        Limit::new(limit.load(Ordering::Relaxed), frames)
    }

    /// Its number, which is that of its frames' owner.
    pub(crate) fn number(&self) -> u8 {
        self.number
    }

    /// The owner of the frames that the job's programs get.
    pub(crate) fn owner(&self) -> u8 {
        if self.owned().load(Ordering::Relaxed) == 0 { 0 } else { self.number }
    }

    /// So many frames more are the job's, or fewer.
    pub(crate) fn count_owned(&self, more: i64) {
        self.owned().fetch_add(more, Ordering::Relaxed);
    }

    /// Tells Linux which run the job got.
    pub(crate) fn show_run(&self, frame: u64) {
        // SAFETY: mapped, aligned, always accessed atomically.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.at.as_ptr()).run) }.store(frame, Ordering::Relaxed);
    }

    fn owned(&self) -> &AtomicI64 {
        // SAFETY: mapped, aligned, always accessed atomically.
        unsafe { AtomicI64::from_ptr(&raw mut (*self.at.as_ptr()).owned) }
    }
}
