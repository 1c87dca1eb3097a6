// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compares two records: is the noise of one longer than that of the other? Assumes nothing about the distribution.

use serde::Serialize;

use super::alike::alike;
use super::dominance::{Counts, Dominance, dominance};
use crate::Result;
use crate::record::Record;
use crate::record::across::bucket_of;
use crate::units::four_digits;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub label: String,
    pub against: String,
    /// The differences between the measurements, and the steps that made them comparable.
    pub notes: Vec<String>,
    pub verdict: Direction,
    pub max_noise_ratio: Option<f64>,
    pub noise_rate_ratio: Option<f64>,
    /// Mann-Whitney U, two-sided, normal approximation with ties. 1e-300 stands for all smaller values too.
    pub p_value: Option<f64>,
    /// Cliff's delta, -1 to 1: the probability that a sample of `label` is noisier than one of `against`, less that of
    /// the contrary.
    pub effect_size: Option<f64>,
    /// The ends of its interval, 95 %.
    pub effect_size_low: Option<f64>,
    pub effect_size_high: Option<f64>,
    /// In words, by the usual thresholds (0.147, 0.33, 0.474).
    pub effect: &'static str,
}

/// The direction of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The interval of the effect lies above 0.
    Noisier,
    /// The interval of the effect lies below 0.
    Quieter,
    /// The interval of the effect includes 0.
    NoDifferenceShown,
    /// A record has too little evidence (see `evidence`).
    NotEnough,
}

/// Compares `record` with `base`. A field is `None` if its divisor is 0 or if there are no samples. Refuses records that
/// cannot be compared.
pub fn compare(record: &Record, base: &Record) -> Result<Comparison> {
    let (here, there, mut notes) = alike(record, base)?;
    let (this, that) = (record.summary(1.0), base.summary(1.0));
    let of_nodes = record.about.across.is_some() || base.about.across.is_some();
    let test = match of_nodes {
        // By buckets, so that both have the same resolution.
        true => dominance(&buckets(record), &buckets(base)),
        false => dominance(&counts(&here.lengths), &counts(&there.lengths)),
    };
    let (max, rate) = match of_nodes {
        true => ((this.max_noise_ns, that.max_noise_ns), (this.noise_rate, that.noise_rate)),
        false => ((here.longest, there.longest), (here.rate, there.rate)),
    };
    let ratio = |(a, b): (f64, f64)| (b > 0.0).then(|| a / b);
    let interval = test.and_then(|test| test.interval);
    let enough = this.evidence.not_enough.is_none() && that.evidence.not_enough.is_none();
    let verdict = if enough { direction(interval) } else { Direction::NotEnough };
    notes.extend(contrary(verdict, ratio(rate), ratio(max)));
    Ok(Comparison {
        label: record.about.label.clone(),
        against: base.about.label.clone(),
        notes,
        verdict,
        max_noise_ratio: ratio(max),
        noise_rate_ratio: ratio(rate),
        p_value: test.and_then(|test| test.p),
        effect_size: test.map(|test| test.delta),
        effect_size_low: interval.map(|(low, _)| low),
        effect_size_high: interval.map(|(_, high)| high),
        effect: effect(test),
    })
}

fn direction(interval: Option<(f64, f64)>) -> Direction {
    match interval {
        Some((low, _)) if low > 0.0 => Direction::Noisier,
        Some((_, high)) if high < 0.0 => Direction::Quieter,
        Some(_) => Direction::NoDifferenceShown,
        None => Direction::NotEnough,
    }
}

/// The verdict weighs each sample alike. Few long ones may say the contrary, and may be what counts.
fn contrary(verdict: Direction, rate: Option<f64>, max: Option<f64>) -> Option<String> {
    let (is_contrary, typical): (fn(&f64) -> bool, _) = match verdict {
        Direction::Noisier => (|ratio| *ratio < 1.0, "longer"),
        Direction::Quieter => (|ratio| *ratio > 1.0, "shorter"),
        Direction::NoDifferenceShown | Direction::NotEnough => return None,
    };
    let told = |name: &str, ratio: Option<f64>| {
        ratio.filter(is_contrary).map(|ratio| format!("{name} is x {}", four_digits(ratio)))
    };
    let against: Vec<String> = [told("noise rate", rate), told("longest noise", max)].into_iter().flatten().collect();
    let against = against.join(" and its ");
    (!against.is_empty()).then(|| format!("its samples are mostly {typical}, but its {against}"))
}

/// In tenths of a nanosecond: no clock has a finer step.
fn counts(lengths: &[f64]) -> Counts {
    let mut counts = Counts::new();
    lengths.iter().for_each(|ns| *counts.entry((ns * 10.0).round() as u64).or_default() += 1);
    counts
}

fn buckets(record: &Record) -> Counts {
    let mut counts = Counts::new();
    match &record.about.across {
        Some(across) => counts.extend(across.histogram.counts().map(|(bucket, count)| (u64::from(bucket), count))),
        None => {
            let bucket = |ns: &f64| u64::from(bucket_of(ns.round() as u64));
            record.noise().length_ns.iter().for_each(|ns| *counts.entry(bucket(ns)).or_default() += 1);
        }
    }
    counts
}

fn effect(test: Option<Dominance>) -> &'static str {
    match test.map(|test| test.delta.abs()) {
        None => "none: a record is empty",
        Some(size) if size < 0.147 => "negligible",
        Some(size) if size < 0.33 => "small",
        Some(size) if size < 0.474 => "medium",
        Some(_) => "large",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::examples::fixed_work;

    fn compared(record: &Record, base: &Record) -> Comparison {
        compare(record, base).expect("comparable")
    }

    #[test]
    fn a_noisier_record_is_recognised() {
        let quiet = fixed_work(&[100, 101, 100, 101, 102, 100, 101, 100, 102, 101]);
        let loud = fixed_work(&[100, 190, 180, 170, 195, 160, 200, 180, 170, 150]);
        let comparison = compared(&loud, &quiet);
        assert_eq!(comparison.max_noise_ratio, Some(50.0));
        assert!(comparison.p_value.expect("a test") < 0.01 && comparison.effect == "large");
        assert_eq!(comparison.verdict, Direction::NotEnough, "ten samples");
        let same = compared(&quiet, &quiet);
        assert!(same.p_value.expect("a test") > 0.9 && same.effect_size == Some(0.0));
    }

    #[test]
    fn few_long_samples_that_say_the_contrary_are_told() {
        let record = |usual: u64, long: u64| {
            let times = (0..3000).map(|index| 1_000_000 + if index % 1000 == 9 { long } else { index % 7 * usual });
            fixed_work(&times.collect::<Vec<_>>())
        };
        let (spiky, steady) = (record(10, 900_000), record(20, 100));
        let found = compared(&steady, &spiky);
        assert_eq!(found.verdict, Direction::Noisier);
        let note = found.notes.last().expect("a note");
        assert!(note.starts_with("its samples are mostly longer, but its noise rate is x 0."), "{note}");
        assert!(note.contains(" and its longest noise is x 0."), "{note}");
        let note = compared(&spiky, &steady).notes.pop().expect("a note");
        assert!(note.starts_with("its samples are mostly shorter, but its noise rate is x "), "{note}");
        assert!(compared(&record(20, 0), &record(10, 0)).notes.is_empty());
    }

    #[test]
    fn a_verdict_has_a_direction_and_an_interval() {
        let record = |step: u64| fixed_work(&(0..3000).map(|index| 1_000_000 + index % 7 * step).collect::<Vec<_>>());
        let (quiet, loud) = (record(10), record(20));
        for (here, there, verdict, sign) in [
            (&loud, &quiet, Direction::Noisier, 1.0),
            (&quiet, &loud, Direction::Quieter, -1.0),
            (&quiet, &quiet, Direction::NoDifferenceShown, 0.0),
        ] {
            let found = compared(here, there);
            let (low, high) = (found.effect_size_low.expect("low"), found.effect_size_high.expect("high"));
            assert_eq!(found.verdict, verdict);
            assert!(low < high && (low + high) / 2.0 * sign >= 0.0, "{low} {high}");
            assert!(found.p_value.is_some_and(|p| p > 0.0));
        }
    }
}
