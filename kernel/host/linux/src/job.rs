// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A job's memory (`struct tacet_job_memory`): Linux writes the limit, the cores count. The other end is
//! `linux/partition/jobs.c`.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use tacet_abi::{TACET_JOB_MEMORIES, tacet_job_memory, tacet_memory};
use tacet_logic::frames::Limit;

/// The limit of job number `job`. Nearly always there is none.
#[inline]
pub(crate) fn limit_of(memory: NonNull<tacet_memory>, job: u32) -> Option<Limit<'static>> {
    if job == 0 || job > TACET_JOB_MEMORIES {
        return None;
    }
    // SAFETY: mapped, aligned, within the array, always accessed atomically.
    let (limit, frames) = unsafe {
        let account = (&raw mut (*memory.as_ptr()).jobs).cast::<tacet_job_memory>().add(job as usize - 1);
        (AtomicU64::from_ptr(&raw mut (*account).limit), AtomicI64::from_ptr(&raw mut (*account).frames))
    };
    Limit::new(limit.load(Ordering::Relaxed), frames)
}
