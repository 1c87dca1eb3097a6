// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The distribution's tail: the noise length that a given share of samples does not exceed.

use serde::Serialize;

/// Shares of samples.
pub const QUANTILES: [f64; 8] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 1.0];

/// One row for each of [`QUANTILES`] for which there are enough samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tail(pub Vec<(f64, f64)>);

/// For each share the smallest length such that at least this share of samples is not longer (the inverse of the
/// empirical CDF).
pub fn tail(lengths_ns: &[f64]) -> Tail {
    let mut sorted = lengths_ns.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let told = QUANTILES.iter().filter(|share| **share == 1.0 || count as f64 * (1.0 - **share) >= 1.0);
    Tail(told.filter_map(|share| Some((*share, *sorted.get(rank(*share, count)?)?))).collect())
}

/// The index of the quantile among `count` sorted values. Tolerates rounding: decimal shares are not exact in binary.
pub(super) fn rank(share: f64, count: usize) -> Option<usize> {
    ((share * count as f64 - 1e-6).ceil() as usize).max(1).checked_sub(1).filter(|rank| *rank < count)
}

/// Points of the CDF for a picture: about `most` pairs of (length, share of samples that are not longer), with the
/// longest lengths.
pub fn distribution(lengths_ns: &[f64], most: usize) -> Vec<(f64, f64)> {
    let mut sorted = lengths_ns.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    // The points become denser towards the end: the tail matters most.
    let mut ranks: Vec<usize> = (0..=most)
        .map(|step| count as f64 * (1.0 - (1.0 / count.max(1) as f64).powf(step as f64 / most.max(1) as f64)))
        .map(|rank| (rank as usize).min(count.saturating_sub(1)))
        .collect();
    ranks.dedup();
    ranks.into_iter().filter_map(|rank| Some((*sorted.get(rank)?, (rank + 1) as f64 / count as f64))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        let lengths: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
        assert_eq!(tail(&lengths).0, [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1000.0)]);
        assert_eq!(tail(&[3.0]).0, [(1.0, 3.0)]);
        assert!(tail(&[]).0.is_empty());
    }

    proptest! {
        #[test]
        fn a_quantile_matches_its_share(lengths in prop::collection::vec(0.0f64..1e9, 1..3000)) {
            for (share, value) in tail(&lengths).0 {
                let not_longer = lengths.iter().filter(|length| **length <= value).count() as f64;
                let shorter = lengths.iter().filter(|length| **length < value).count() as f64;
                let wanted = share * lengths.len() as f64;
                prop_assert!(not_longer >= wanted - 1e-6 && shorter < wanted);
            }
        }

        #[test]
        fn a_distribution_rises_to_one(lengths in prop::collection::vec(0.0f64..1e9, 1..3000)) {
            let points = distribution(&lengths, 100);
            prop_assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1) && points.len() <= 101);
            let longest = lengths.iter().copied().fold(0.0, f64::max);
            prop_assert_eq!(points.last(), Some(&(longest, 1.0)));
        }
    }
}
