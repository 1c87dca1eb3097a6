// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Noise groups (paper 000, section 2): noises of about the same length, with their frequency and their share of all
//! noise.

use serde::Serialize;

/// Bins in an octave.
const PER_OCTAVE: f64 = 8.0;
/// Two peaks are two groups if the count between them falls below this share of the lower peak.
const VALLEY: f64 = 0.25;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    pub count: u64,
    pub shortest_ns: f64,
    pub mean_ns: f64,
    pub longest_ns: f64,
    /// On one CPU: the measured time over the count.
    pub interval_ns: f64,
    /// Share of the sum of all noise from the threshold.
    pub share: f64,
}

/// Groups the lengths from `threshold_ns`, longest group first. `measured_ns` is the sum over all CPUs.
pub fn groups(lengths_ns: &[f64], threshold_ns: f64, measured_ns: f64) -> Vec<Group> {
    counted_groups(lengths_ns.iter().map(|length| (*length, 1)), threshold_ns, measured_ns)
}

/// The same for pairs of a length and its count.
pub fn counted_groups(all: impl Iterator<Item = (f64, u64)>, threshold_ns: f64, measured_ns: f64) -> Vec<Group> {
    let least = threshold_ns.max(1.0);
    let mut lengths: Vec<(f64, u64)> = all.filter(|(length, _)| *length >= least).collect();
    lengths.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some((longest, _)) = lengths.last() else { return Vec::new() };
    let bin = |length: f64| ((length / least).log2() * PER_OCTAVE) as usize;
    let mut counts = vec![0u64; bin(*longest) + 1];
    lengths.iter().for_each(|(length, count)| counts[bin(*length)] += count);
    let bounds = split(&counts);
    let sum_of = |part: &[(f64, u64)]| part.iter().map(|(length, count)| length * *count as f64).sum::<f64>();
    let total = sum_of(&lengths);
    let mut found: Vec<Group> = lengths
        .chunk_by(|a, b| {
            bounds.partition_point(|bound| *bound <= bin(a.0)) == bounds.partition_point(|bound| *bound <= bin(b.0))
        })
        .map(|chunk| {
            let (sum, count) = (sum_of(chunk), chunk.iter().map(|(_, count)| count).sum::<u64>());
            Group {
                count,
                shortest_ns: chunk[0].0,
                mean_ns: sum / count as f64,
                longest_ns: chunk[chunk.len() - 1].0,
                interval_ns: measured_ns / count as f64,
                share: sum / total,
            }
        })
        .collect();
    found.reverse();
    found
}

/// The bins at which a new group begins: the lowest bin between two peaks, if it is low enough.
fn split(counts: &[u64]) -> Vec<usize> {
    let mut bounds = Vec::new();
    // The highest count of the current group, and the lowest bin since then.
    let (mut peak, mut valley) = (0u64, (u64::MAX, 0));
    for (bin, &count) in counts.iter().enumerate() {
        if count < valley.0 {
            valley = (count, bin);
        }
        let deep = |height: u64| (valley.0 as f64) < VALLEY * height as f64;
        if peak > 0 && count > valley.0 && deep(peak) && deep(count) {
            bounds.push(if valley.0 == 0 { bin } else { valley.1 });
            (peak, valley) = (count, (u64::MAX, bin));
        } else if count > peak {
            (peak, valley) = (count, (u64::MAX, bin));
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Ten noises of 10 us and two of 1 ms in 1 s.
    #[test]
    fn by_hand() {
        let mut lengths = vec![10_000.0; 10];
        lengths.extend([1e6; 2]);
        lengths.extend([5.0; 1000]);
        let found = groups(&lengths, 1000.0, 1e9);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].count, found[0].mean_ns, found[0].interval_ns), (2, 1e6, 5e8));
        assert_eq!((found[1].count, found[1].longest_ns, found[1].interval_ns), (10, 10_000.0, 1e8));
        assert!((found[0].share - 2e6 / 2.1e6).abs() < 1e-12);
        assert!(groups(&[1.0], 1000.0, 1e9).is_empty());
    }

    /// A hill is one group; two hills with a shallow valley are one group, with a deep valley two.
    #[test]
    fn valleys() {
        assert_eq!(split(&[1, 5, 9, 5, 1]), Vec::<usize>::new());
        assert_eq!(split(&[9, 5, 9]), Vec::<usize>::new());
        assert_eq!(split(&[9, 1, 9]), [1]);
        assert_eq!(split(&[9, 1, 2, 9, 0, 0, 1]), [1, 6]);
        assert_eq!(split(&[]), Vec::<usize>::new());
    }

    proptest! {
        #[test]
        fn groups_partition_the_lengths(lengths in prop::collection::vec(0.0f64..1e8, 0..500), threshold in 1.0f64..1e7) {
            let found = groups(&lengths, threshold, 1e9);
            let long: Vec<f64> = lengths.into_iter().filter(|length| *length >= threshold).collect();
            prop_assert_eq!(found.iter().map(|group| group.count).sum::<u64>(), long.len() as u64);
            prop_assert!(found.windows(2).all(|pair| pair[0].shortest_ns > pair[1].longest_ns));
            let shares: f64 = found.iter().map(|group| group.share).sum();
            prop_assert!(long.is_empty() || (shares - 1.0).abs() < 1e-9);
        }
    }
}
