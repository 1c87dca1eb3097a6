// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A histogram of one CPU as samples. The parsers of rtla and cyclictest call it.

use super::{OfCpu, SAMPLES_LIMIT};

/// Counts by length, and what lay beyond them.
#[derive(Debug, Default)]
pub struct Histogram {
    pub cpu: u32,
    /// Length in nanoseconds, and how often.
    pub counts: Vec<(u64, u64)>,
    /// Samples longer than the last length.
    pub beyond: u64,
    /// The longest of all.
    pub max_ns: Option<u64>,
}

impl Histogram {
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| *count).fold(self.beyond, u64::saturating_add)
    }

    /// The latencies, shortest first, and without times: each begins at 0. Here a length of 0 is a sample too.
    pub fn latencies(&self, measured_ns: f64) -> Result<OfCpu, String> {
        let detours = self.lengths()?.into_iter().map(|length| (0, length)).collect();
        Ok(OfCpu { cpu: self.cpu, measured_ns, detours, ..OfCpu::default() })
    }

    /// The samples, spread evenly over the measured time, with the lengths mixed evenly too. Of those beyond the last
    /// length one is the longest, the others are as long as the last: the least that they can be. Samples of length 0
    /// are no detours.
    pub fn spread(&self, measured_ns: f64) -> Result<OfCpu, String> {
        let (total, lengths) = (self.total(), self.lengths()?);
        let distance = measured_ns / total.max(1) as f64;
        // A stride without a common divisor visits each sample once.
        let stride = stride(total);
        let at = |index: u64| ((u128::from(index) * u128::from(stride)) % u128::from(total.max(1))) as usize;
        let detours = (0..total).map(|index| ((index as f64 * distance) as u64, lengths[at(index)]));
        Ok(OfCpu {
            cpu: self.cpu,
            measured_ns,
            detours: detours.filter(|(_, length)| *length > 0).collect(),
            ..OfCpu::default()
        })
    }

    fn lengths(&self) -> Result<Vec<u64>, String> {
        let total = self.total();
        if total > SAMPLES_LIMIT {
            return Err(format!("{total} samples of cpu {}: at most {SAMPLES_LIMIT}", self.cpu));
        }
        let last = self.counts.last().map_or(0, |(length, _)| *length);
        let longest = self.max_ns.unwrap_or(last).max(last);
        let beyond = [(last, self.beyond.saturating_sub(1)), (longest, self.beyond.min(1))];
        let mut lengths = Vec::with_capacity(total as usize);
        for (length, count) in self.counts.iter().chain(&beyond) {
            lengths.extend(std::iter::repeat_n(*length, *count as usize));
        }
        Ok(lengths)
    }
}

/// About 0.62 of `total`, without a common divisor.
fn stride(total: u64) -> u64 {
    let gcd = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let first = (total as f64 * 0.618) as u64;
    (first.max(1)..).find(|stride| gcd(*stride, total.max(1)) == 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sample_is_there_once() {
        let histogram = Histogram { cpu: 3, counts: vec![(0, 2), (1000, 5), (2000, 3)], beyond: 2, max_ns: Some(9000) };
        let found = histogram.spread(12e6).expect("samples");
        let mut lengths: Vec<u64> = found.detours.iter().map(|(_, length)| *length).collect();
        lengths.sort_unstable();
        assert_eq!(lengths, [[1000; 5].as_slice(), &[2000; 4], &[9000]].concat());
        assert!(
            found.detours.is_sorted_by(|a, b| a.0 < b.0) && found.detours.iter().all(|(start, _)| *start < 12_000_000)
        );
        assert!(Histogram { counts: vec![(1, u64::MAX)], ..histogram }.spread(1.0).is_err());
        assert!(Histogram::default().spread(0.0).is_ok_and(|none| none.detours.is_empty()));
    }
}
