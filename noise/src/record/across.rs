// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The additional part of a record from many nodes. Its samples are only those of the worst nodes, so this part has the
//! noise of all cores as a histogram, and the position of each stored core.
//!
//! `collect` fills it from runs of the MPI program (noise/mpi); all code that evaluates such a record reads it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Data of one or more runs together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Across {
    pub mode: Mode,
    pub runs: Vec<Run>,
    /// The cores whose samples are stored. In memory, `Samples::cpu` and `About::cpus` are indices into this list.
    pub places: Vec<Place>,
    /// Noise lengths of all samples of all cores.
    pub histogram: Histogram,
    pub max_noise_ns: u64,
    pub worst: Place,
    /// Over all samples of all cores.
    pub noise_rate: f64,
    /// The least T_min of a core.
    pub shortest_ns: u64,
    /// The time in quanta, summed over all cores, without the time at barriers.
    pub measured_ns: u64,
}

/// How the ranks waited for each other (paper 003, section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One barrier before all quanta.
    StartSync,
    /// A barrier before each quantum.
    StepSync,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub label: String,
    pub began_unix_s: u64,
    pub ranks: u64,
    pub nodes: u64,
    pub stored_nodes: u64,
    /// Samples of each rank.
    pub samples: u64,
    pub units: u64,
    /// The shortest and the longest run time of a rank: the figures of merit of paper 003.
    pub min_run_ns: u64,
    pub max_run_ns: u64,
}

/// The position of one core in one run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Index of the run.
    pub run: u32,
    pub rank: u32,
    /// Number of the node in its run.
    pub node: u32,
    pub host: String,
    pub cpu: u32,
}

/// Counts of lengths in log-linear buckets: lengths below 128 ns have one each, longer ones 64 in each power of two, so
/// a bucket is at most 1/64 of its lengths wide. The sum of two histograms is the histogram of both sets of samples.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram(BTreeMap<u16, u64>);

/// The number of buckets for all lengths of 64 bits.
pub const BUCKETS: u16 = 3776;

impl Histogram {
    pub fn add(&mut self, bucket: u16, count: u64) {
        if count > 0 {
            *self.0.entry(bucket).or_default() += count;
        }
    }

    pub fn merge(&mut self, other: &Histogram) {
        other.0.iter().for_each(|(bucket, count)| self.add(*bucket, *count));
    }

    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// The buckets that are not empty, in order, with their counts.
    pub fn counts(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.0.iter().map(|(bucket, count)| (*bucket, *count))
    }

    /// Whether every bucket exists and the sum of the counts fits in 64 bits.
    pub fn is_sound(&self) -> bool {
        self.0.keys().all(|bucket| *bucket < BUCKETS)
            && self.0.values().try_fold(0u64, |a, b| a.checked_add(*b)).is_some()
    }
}

/// The bucket of a length.
pub fn bucket_of(length_ns: u64) -> u16 {
    let shift = 57u32.saturating_sub(length_ns.leading_zeros());
    // At most 57 * 64 + 127.
    (shift * 64) as u16 + (length_ns >> shift) as u16
}

/// The least and the greatest length of a bucket.
pub fn bounds_of(bucket: u16) -> (u64, u64) {
    let bucket = bucket.min(BUCKETS - 1);
    let shift = (bucket / 64).saturating_sub(1);
    let first = u64::from(bucket - shift * 64) << shift;
    (first, first + ((1 << shift) - 1))
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::StartSync => "StartSync",
            Mode::StepSync => "StepSync",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_partition_all_lengths() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let (first, last) = bounds_of(bucket);
            assert_eq!((first, bucket_of(first), bucket_of(last)), (next, bucket, bucket));
            assert!(last - first < 1 || (last - first + 1) * 64 <= first);
            next = last.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends with the last number");
    }

    proptest! {
        #[test]
        fn a_sum_is_the_histogram_of_both(a in prop::collection::vec(any::<u64>(), 0..200), b in prop::collection::vec(0u64..5000, 0..200)) {
            let of = |lengths: &[u64]| {
                let mut histogram = Histogram::default();
                lengths.iter().for_each(|length| histogram.add(bucket_of(*length), 1));
                histogram
            };
            let mut sum = of(&a);
            sum.merge(&of(&b));
            prop_assert_eq!(&sum, &of(&[a, b].concat()));
            prop_assert!(sum.is_sound());
        }
    }
}
