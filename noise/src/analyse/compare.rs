// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compares two records: is the noise of one longer than that of the other? Assumes nothing about the distribution.

use serde::Serialize;
use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

use crate::record::Record;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub label: String,
    pub against: String,
    pub max_noise_ratio: Option<f64>,
    pub noise_rate_ratio: Option<f64>,
    /// Mann-Whitney U, two-sided, normal approximation with ties.
    pub p_value: Option<f64>,
    /// Cliff's delta, -1 to 1: the probability that a sample of `label` is noisier than one of `against`, less that of
    /// the contrary.
    pub effect_size: Option<f64>,
    /// In words, by the usual thresholds (0.147, 0.33, 0.474).
    pub effect: &'static str,
}

/// Compares `record` with `base`. A field is `None` if its divisor is 0 or if there are no samples.
pub fn compare(record: &Record, base: &Record) -> Comparison {
    if record.about.across.is_some() || base.about.across.is_some() {
        return super::across::compare(record, base);
    }
    let (here, there) = (record.noise(), base.noise());
    let longest = |lengths: &[f64]| lengths.iter().copied().fold(0.0, f64::max);
    let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
    let test = mannwhitneyu(
        &here.length_ns,
        &there.length_ns,
        MannWhitneyUMethod::AsymptoticInclContinuityCorrection,
        Alternative::TwoSided,
    );
    let effect_size = cliffs_delta(&here.length_ns, &there.length_ns);
    Comparison {
        label: record.about.label.clone(),
        against: base.about.label.clone(),
        max_noise_ratio: ratio(longest(&here.length_ns), longest(&there.length_ns)),
        noise_rate_ratio: ratio(here.rate, there.rate),
        p_value: test.ok().map(|(_, p)| p).filter(|p| p.is_finite()),
        effect_size,
        effect: effect(effect_size),
    }
}

pub(super) fn effect(size: Option<f64>) -> &'static str {
    match size.map(f64::abs) {
        None => "none: a record is empty",
        Some(size) if size < 0.147 => "negligible",
        Some(size) if size < 0.33 => "small",
        Some(size) if size < 0.474 => "medium",
        Some(_) => "large",
    }
}

/// (pairs with a > b less pairs with a < b) over all pairs.
fn cliffs_delta(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let mut sorted = b.to_vec();
    sorted.sort_by(f64::total_cmp);
    let score: f64 = a
        .iter()
        .map(|value| {
            let less = sorted.partition_point(|other| other < value);
            let not_more = sorted.partition_point(|other| other <= value);
            less as f64 - (sorted.len() - not_more) as f64
        })
        .sum();
    Some(score / (a.len() as f64 * b.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::examples::fixed_work;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        // 1, 2, 3 against 2, 2: pairs above 2, below 2, equal 2.
        assert_eq!(cliffs_delta(&[1.0, 2.0, 3.0], &[2.0, 2.0]), Some(0.0));
        assert_eq!(cliffs_delta(&[3.0, 4.0], &[1.0, 2.0]), Some(1.0));
        assert_eq!(cliffs_delta(&[1.0, 5.0], &[2.0, 2.0, 6.0]), Some((0.0 + 2.0 - 3.0 - 1.0) / 6.0));
        assert_eq!(cliffs_delta(&[], &[1.0]), None);
    }

    #[test]
    fn a_noisier_record_is_recognised() {
        let quiet = fixed_work(&[100, 101, 100, 101, 102, 100, 101, 100, 102, 101]);
        let loud = fixed_work(&[100, 190, 180, 170, 195, 160, 200, 180, 170, 150]);
        let comparison = compare(&loud, &quiet);
        assert_eq!(comparison.max_noise_ratio, Some(50.0));
        assert!(comparison.p_value.expect("a test") < 0.01 && comparison.effect == "large");
        let same = compare(&quiet, &quiet);
        assert!(same.p_value.expect("a test") > 0.9 && same.effect_size == Some(0.0));
    }

    proptest! {
        #[test]
        fn swapping_the_records_changes_the_sign(a in prop::collection::vec(0.0f64..9.0, 1..50), b in prop::collection::vec(0.0f64..9.0, 1..50)) {
            let (one, other) = (cliffs_delta(&a, &b).unwrap(), cliffs_delta(&b, &a).unwrap());
            prop_assert!((one + other).abs() < 1e-12 && one.abs() <= 1.0);
        }
    }
}
