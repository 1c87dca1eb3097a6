// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The longest noise, where a sample cannot hold it.
//!
//! An interval of fixed time loses at most itself. Noise that is longer takes whole intervals, one after the other, and
//! a part of those before and after: all of that together is its length, never one interval. `summary` calls this file.

use std::ops::Range;

use crate::record::{Method, Record};

/// Intervals of fixed time without any work.
pub fn saturated(record: &Record) -> u64 {
    let none = |work: &&u64| **work == 0;
    match record.about.method {
        Method::Ftq => record.samples.work_units.iter().filter(none).count() as u64,
        _ => 0,
    }
}

/// The longest noise of one CPU, whose samples are `rows` and have the noise `lengths_ns`.
pub(super) fn longest_ns(record: &Record, rows: Range<usize>, lengths_ns: &[f64]) -> f64 {
    let single = lengths_ns.iter().copied().fold(0.0, f64::max);
    if record.about.method != Method::Ftq {
        return single;
    }
    let work = &record.samples.work_units[rows];
    let (mut longest, mut at) = (single, 0);
    for run in work.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
        let end = at + run.len();
        if run[0] == 0 {
            let around = at.saturating_sub(1)..(end + 1).min(work.len());
            longest = longest.max(lengths_ns[around].iter().sum());
        }
        at = end;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Samples;
    use crate::record::examples::{about, fixed_work};

    fn fixed_time(work: &[u64]) -> Record {
        let samples = Samples {
            cpu: vec![0; work.len()],
            start_ns: (0..work.len() as u64).map(|index| index * 1000).collect(),
            length_ns: vec![1000; work.len()],
            work_units: work.to_vec(),
        };
        Record { about: about(Method::Ftq, work.len() as u64 * 1000), samples }
    }

    /// Intervals of 1,000 ns that hold 10 units: two whole ones, half of one before and a fifth of one after.
    #[test]
    fn noise_over_several_intervals_is_one() {
        let summary = fixed_time(&[10, 5, 0, 0, 8, 10, 1]).summary(1.0);
        assert_eq!((summary.max_noise_ns.round(), summary.saturated), (2700.0, 2));
        assert_eq!(summary.per_cpu[0].max_noise_ns.round(), 2700.0);
        let none_lost = fixed_time(&[10, 5, 2, 10]).summary(1.0);
        assert_eq!((none_lost.max_noise_ns.round(), none_lost.saturated), (800.0, 0));
        assert_eq!(fixed_time(&[0, 0, 10, 0]).summary(1.0).max_noise_ns, 2000.0);
        assert_eq!(fixed_work(&[100, 200]).summary(1.0).saturated, 0);
    }
}
