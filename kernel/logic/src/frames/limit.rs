// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A limit of frames that several CPUs share: that of a job. Each counts what it takes, and what it gives back.

use core::sync::atomic::{AtomicI64, Ordering};

/// The frames that a job has, and the most that it may have.
#[derive(Clone, Copy)]
pub struct Limit<'a> {
    most: i64,
    taken: &'a AtomicI64,
}

impl<'a> Limit<'a> {
    /// At most `most`. `None`: that is 0, which means that there is no limit; then nothing is counted.
    pub fn new(most: u64, taken: &'a AtomicI64) -> Option<Self> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        (most > 0).then_some(Self { most, taken })
    }

    /// How many frames more there may be.
    pub fn left(&self) -> u64 {
        u64::try_from(self.most - self.taken.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Counts `frames` more. False: that is too much, and nothing is counted.
    pub fn take(&self, frames: u64) -> bool {
        let more = frames as i64;
        let fits = self.taken.fetch_add(more, Ordering::Relaxed) <= self.most - more;
        if !fits {
            self.give_back(frames);
        }
        fits
    }

    pub fn give_back(&self, frames: u64) {
        self.taken.fetch_sub(frames as i64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_takes_what_its_limit_allows_and_not_one_frame_more() {
        static FRAMES: AtomicI64 = AtomicI64::new(0);
        let Some(job) = Limit::new(10, &FRAMES) else { panic!("10 is a limit") };
        assert!(job.take(8));
        assert!(!job.take(3));
        assert_eq!(job.left(), 2);
        assert!(job.take(2));
        assert!(!job.take(1));
        assert_eq!((job.left(), FRAMES.load(Ordering::Relaxed)), (0, 10));
        job.give_back(4);
        assert!(job.take(4) && !job.take(1));
    }

    #[test]
    fn zero_is_no_limit() {
        static FRAMES: AtomicI64 = AtomicI64::new(0);
        assert!(Limit::new(0, &FRAMES).is_none());
        assert_eq!(Limit::new(u64::MAX, &FRAMES).map(|job| job.left()), Some(i64::MAX as u64));
    }
}
