// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cliff's delta of two sets of noise lengths, with its interval and the p of Mann-Whitney's U. Assumes nothing about
//! the distribution; takes samples as independent of each other.
//!
//! `compare` calls it with samples or with the counts of a histogram. It never sees records or units.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, Normal};

/// Stands for all smaller probabilities too: beyond it the normal approximation means nothing, and 0 is never true.
pub const P_LEAST: f64 = 1e-300;
/// 95 % of the normal distribution, both sides together.
const NORMAL: f64 = 1.959_964;

/// Values with their counts, in order.
pub type Counts = BTreeMap<u64, u64>;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dominance {
    /// (pairs with a > b less pairs with a < b) over all pairs.
    pub delta: f64,
    /// The interval of delta, 95 %, by Cliff's consistent estimate of its variance (1993); `None` with one value on a side.
    pub interval: Option<(f64, f64)>,
    /// Two-sided, normal approximation with ties and correction for continuity; `None` if all values are equal.
    pub p: Option<f64>,
}

/// `None` if a side is empty.
pub fn dominance(here: &Counts, there: &Counts) -> Option<Dominance> {
    let sum = |side: &Counts| side.values().map(|count| *count as f64).sum::<f64>();
    let (n, m) = (sum(here), sum(there));
    if n == 0.0 || m == 0.0 {
        return None;
    }
    let mut values: Vec<u64> = here.keys().chain(there.keys()).copied().collect();
    values.sort_unstable();
    values.dedup();
    // Of each value: the share of the other side below it, less the share above.
    let (mut below_here, mut below_there, mut score, mut equal, mut ties) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let (mut squares_here, mut squares_there) = (0.0, 0.0);
    for value in values {
        let of = |side: &Counts| side.get(&value).map_or(0.0, |count| *count as f64);
        let (a, b) = (of(here), of(there));
        let (wins, losses) = (below_there - (m - below_there - b), below_here - (n - below_here - a));
        score += a * wins;
        squares_here += a * (wins / m).powi(2);
        squares_there += b * (losses / n).powi(2);
        equal += a * b;
        below_here += a;
        below_there += b;
        ties += (a + b).powi(3) - (a + b);
    }
    let (pairs, all) = (n * m, n + m);
    let delta = score / pairs;
    let spread = (pairs / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)))).sqrt();
    // U - n m / 2 is half the score.
    let z = ((score / 2.0).abs() - 0.5).max(0.0) / spread;
    let p = Normal::standard().sf(z) * 2.0;
    // Sums of squared distances from delta: of the rows, of the columns, of all pairs.
    let (rows, columns) = (squares_here - n * delta * delta, squares_there - m * delta * delta);
    let each = (pairs - equal) - pairs * delta * delta;
    let variance =
        ((m - 1.0) * rows / (n - 1.0) + (n - 1.0) * columns / (m - 1.0) + each / ((n - 1.0) * (m - 1.0))) / pairs;
    // Sides that do not overlap have none; their interval is still not a point.
    let variance = variance.max((1.0 - delta * delta).max(1.0 / pairs) / (pairs - 1.0));
    Some(Dominance {
        delta,
        interval: (n > 1.0 && m > 1.0).then(|| {
            let half = NORMAL * variance.sqrt();
            ((delta - half).max(-1.0), (delta + half).min(1.0))
        }),
        p: Some(p).filter(|p| p.is_finite()).map(|p| p.clamp(P_LEAST, 1.0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::stats_tests::Alternative;
    use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

    fn counts(values: &[u64]) -> Counts {
        let mut counts = Counts::new();
        values.iter().for_each(|value| *counts.entry(*value).or_default() += 1);
        counts
    }

    fn delta(a: &[u64], b: &[u64]) -> Option<f64> {
        dominance(&counts(a), &counts(b)).map(|found| found.delta)
    }

    #[test]
    fn by_hand() {
        // 1, 2, 3 against 2, 2: pairs above 2, below 2, equal 2.
        assert_eq!(delta(&[1, 2, 3], &[2, 2]), Some(0.0));
        assert_eq!(delta(&[3, 4], &[1, 2]), Some(1.0));
        assert_eq!(delta(&[1, 5], &[2, 2, 6]), Some((0.0 + 2.0 - 3.0 - 1.0) / 6.0));
        assert_eq!(delta(&[], &[1]), None);
        assert_eq!(dominance(&counts(&[4]), &counts(&[4])).and_then(|found| found.p), None);
    }

    /// A hundred each of 1, 3, 5 against 2, 4, 6: rows of -1, -1/3 and 1/3, delta -1/3.
    #[test]
    fn the_interval_by_hand() {
        let (here, there) =
            (Counts::from([1, 3, 5].map(|value| (value, 100))), Counts::from([2, 4, 6].map(|value| (value, 100))));
        let found = dominance(&here, &there).expect("both sides");
        let (rows, columns, each) = (100.0 * 8.0 / 9.0, 100.0 * 8.0 / 9.0, 90_000.0 * 8.0 / 9.0);
        let half = NORMAL * ((rows + columns + each / (299.0 * 299.0)) / 90_000.0f64).sqrt();
        let (low, high) = found.interval.expect("an interval");
        assert!(
            (low - (-1.0 / 3.0 - half)).abs() < 1e-12 && (high - (-1.0 / 3.0 + half)).abs() < 1e-12,
            "{low} {high}"
        );
        assert!(dominance(&Counts::from([(1, 1)]), &there).is_some_and(|found| found.interval.is_none()));
    }

    /// However far apart they are, the probability is a number above 0.
    #[test]
    fn a_probability_is_never_zero() {
        let (quiet, loud) = (Counts::from([(1, 5_000_000)]), Counts::from([(2, 5_000_000)]));
        let found = dominance(&loud, &quiet).expect("both sides");
        assert_eq!((found.p, found.delta), (Some(P_LEAST), 1.0));
        assert!(found.interval.is_some_and(|(low, high)| low > 0.99 && low < 1.0 && high == 1.0));
    }

    proptest! {
        #[test]
        fn swapping_the_sides_changes_the_sign(a in prop::collection::vec(0u64..9, 2..50), b in prop::collection::vec(0u64..9, 2..50)) {
            let (one, other) = (dominance(&counts(&a), &counts(&b)).unwrap(), dominance(&counts(&b), &counts(&a)).unwrap());
            prop_assert!((one.delta + other.delta).abs() < 1e-12 && one.delta.abs() <= 1.0);
            let ((low, high), (other_low, other_high)) = (one.interval.unwrap(), other.interval.unwrap());
            prop_assert!((low + other_high).abs() < 1e-9 && (high + other_low).abs() < 1e-9);
            prop_assert!(low <= one.delta && one.delta <= high);
        }

        /// The p of an independent implementation.
        #[test]
        fn as_the_library_says(a in prop::collection::vec(0u64..9, 2..50), b in prop::collection::vec(0u64..9, 2..50)) {
            let floats = |values: &[u64]| values.iter().map(|value| *value as f64).collect::<Vec<_>>();
            let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
            let theirs = mannwhitneyu(&floats(&a), &floats(&b), method, Alternative::TwoSided);
            let theirs = theirs.ok().map(|(_, p)| p).filter(|p| p.is_finite());
            let ours = dominance(&counts(&a), &counts(&b)).unwrap().p;
            prop_assert_eq!(ours.is_some(), theirs.is_some());
            prop_assert!(ours.zip(theirs).is_none_or(|(ours, theirs)| (ours - theirs).abs() < 1e-9));
        }
    }
}
