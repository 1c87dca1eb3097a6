// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compares two records: is the noise of one longer than that of the other? Assumes nothing about the distribution.
//! The judgement itself is `tacet_words::verdict`; this file finds out what the body and the tail say.

use serde::Serialize;
use tacet_words::verdict::{LONGEST_TOLD, Part, Parts, Verdict, judge};

use super::alike::alike;
use super::dominance::{Counts, Dominance, dominance};
use super::exceedance::exceedance;
use crate::Result;
use crate::record::across::{bounds_of, bucket_of};
use crate::record::{Method, Record};
use crate::units::{Nanoseconds, four_digits};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub label: String,
    pub against: String,
    /// The differences between the measurements, and the steps that made them comparable.
    pub notes: Vec<String>,
    /// `noise` or `latency`; latencies have no rate.
    pub quantity: &'static str,
    pub verdict: Verdict,
    /// What most samples say: the interval of the effect lies above 0, below 0 or includes it.
    pub body: Part,
    /// What the longest noises say: the same of `tail_ratio` and 1.
    pub tail: Part,
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
    /// The tail: noises from this length.
    pub tail_from_ns: Option<f64>,
    /// How often a sample of `label` is in the tail, over the same of `against`; `None` also if none of `against` is.
    pub tail_ratio: Option<f64>,
    /// The ends of its interval, 99 %; the upper is `None` if it has none.
    pub tail_ratio_low: Option<f64>,
    pub tail_ratio_high: Option<f64>,
}

/// Compares `record` with `base`. A field is `None` if its divisor is 0 or if there are no samples. Refuses records that
/// cannot be compared.
pub fn compare(record: &Record, base: &Record) -> Result<Comparison> {
    let (here, there, mut notes) = alike(record, base)?;
    let (this, that) = (record.summary(1.0), base.summary(1.0));
    let of_nodes = record.about.across.is_some() || base.about.across.is_some();
    // By buckets, so that both have the same resolution.
    let (of_here, of_there) = match of_nodes {
        true => (buckets(record), buckets(base)),
        false => (counts(&here.lengths), counts(&there.lengths)),
    };
    let (test, tail) = (dominance(&of_here, &of_there), exceedance(&of_here, &of_there));
    let (max, rate) = match of_nodes {
        true => ((this.max_noise_ns, that.max_noise_ns), (this.noise_rate, that.noise_rate)),
        false => ((here.longest, there.longest), (here.rate, there.rate)),
    };
    let ratio = |(a, b): (f64, f64)| (b > 0.0).then(|| a / b);
    let interval = test.and_then(|test| test.interval);
    let enough = this.evidence.not_enough.is_none() && that.evidence.not_enough.is_none();
    let (body, of_tail) = match enough {
        true => (
            Part::of_interval(interval, 0.0),
            tail.map_or(Part::Same, |tail| Part::of_interval(Some(tail.interval), 1.0)),
        ),
        false => (Part::Unknown, Part::Unknown),
    };
    let (rate_ratio, longest_ratio) = (ratio(rate), ratio(max));
    let verdict = judge(&Parts { body: Some(body), tail: Some(of_tail), rate_ratio, longest_ratio });
    notes.extend(few(verdict, longest_ratio, of_tail));
    let from = tail.map(|tail| match of_nodes {
        true => u16::try_from(tail.from).map_or(0.0, |bucket| bounds_of(bucket).0 as f64),
        false => tail.from as f64 / COUNTED,
    });
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    Ok(Comparison {
        label: record.about.label.clone(),
        against: base.about.label.clone(),
        notes,
        quantity: if record.about.method == Method::Latency { "latency" } else { "noise" },
        verdict,
        body,
        tail: of_tail,
        max_noise_ratio: longest_ratio,
        noise_rate_ratio: rate_ratio,
        p_value: test.and_then(|test| test.p),
        effect_size: test.map(|test| test.delta),
        effect_size_low: interval.map(|(low, _)| low),
        effect_size_high: interval.map(|(_, high)| high),
        effect: effect(test),
        tail_from_ns: from,
        tail_ratio: tail.and_then(|tail| finite(tail.ratio)),
        tail_ratio_low: tail.map(|tail| tail.interval.0),
        tail_ratio_high: tail.and_then(|tail| finite(tail.interval.1)),
    })
}

/// The longest noise may be one event. If it alone differs, the reader has to know how little is behind it.
fn few(verdict: Verdict, longest: Option<f64>, tail: Part) -> Option<String> {
    let told = longest.filter(|ratio| !(1.0 / LONGEST_TOLD..LONGEST_TOLD).contains(ratio))?;
    (tail == Part::Same && verdict != Verdict::NotEnough).then(|| {
        let told = four_digits(told);
        format!("the longest noise is x {told}, but long noises together do not differ: few events are not a rate")
    })
}

impl Comparison {
    /// What the body and the tail say, for a verdict that is mixed.
    pub fn parts(&self) -> String {
        let body = match self.body {
            Part::More => "its samples are mostly longer",
            Part::Less => "its samples are mostly shorter",
            Part::Same | Part::Unknown => "its samples do not differ for the most part",
        };
        let times = |name: &str, ratio: Option<f64>| ratio.map(|ratio| format!("{name} x {}", four_digits(ratio)));
        let long = match (self.tail_from_ns, self.tail_ratio) {
            (Some(ns), Some(_)) => times(&format!("noises of {} or more come", Nanoseconds(ns)), self.tail_ratio)
                .map(|text| text + " as often"),
            (Some(ns), None) => Some(format!("noises of {} or more come only here", Nanoseconds(ns))),
            (None, _) => None,
        };
        let rest = [times("noise rate", self.noise_rate_ratio), times("longest noise", self.max_noise_ratio), long];
        [Some(body.to_owned())].into_iter().chain(rest).flatten().collect::<Vec<_>>().join("; ")
    }
}

/// Steps of a nanosecond in which lengths are counted: no clock has a finer one.
const COUNTED: f64 = 10.0;

fn counts(lengths: &[f64]) -> Counts {
    let mut counts = Counts::new();
    lengths.iter().for_each(|ns| *counts.entry((ns * COUNTED).round() as u64).or_default() += 1);
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
        assert_eq!(comparison.verdict, Verdict::NotEnough, "ten samples");
        let same = compared(&quiet, &quiet);
        assert!(same.p_value.expect("a test") > 0.9 && same.effect_size == Some(0.0));
    }

    /// A thousandth of the samples is long, the others have steps of `usual`.
    fn spiky(usual: u64, long: &[u64]) -> Record {
        let length = |index: usize| match long.get(index / 40) {
            Some(long) if index % 40 == 9 => *long,
            _ => index as u64 % 7 * usual,
        };
        fixed_work(&(0..4000).map(|index| 1_000_000 + length(index)).collect::<Vec<_>>())
    }

    #[test]
    fn a_better_body_with_a_worse_tail_is_mixed() {
        let (before, after) = (spiky(20, &[131_000; 40]), spiky(10, &[748_000; 40]));
        let found = compared(&after, &before);
        assert_eq!((found.verdict, found.body, found.tail), (Verdict::Mixed, Part::Less, Part::More));
        let said = found.parts();
        assert!(said.starts_with("its samples are mostly shorter; noise rate x 5."), "{said}");
        assert!(said.contains("longest noise x 5.71; noises of 748 us or more come only here"), "{said}");
        let back = compared(&before, &after);
        assert_eq!((back.verdict, back.body, back.tail), (Verdict::Mixed, Part::More, Part::Less));
    }

    /// One event of 748 us among thousands of better samples.
    #[test]
    fn one_event_is_not_a_rate_and_never_quieter() {
        let before = spiky(20, &[131_000; 40]);
        let one = [&[131_000; 39][..], &[748_000]].concat();
        let found = compared(&spiky(10, &one), &before);
        assert_eq!((found.verdict, found.body, found.tail), (Verdict::Mixed, Part::Less, Part::Same));
        assert!(found.notes.iter().any(|note| note.contains("few events are not a rate")), "{:?}", found.notes);
        let same = compared(&spiky(20, &one), &before);
        assert_eq!((same.verdict, same.tail), (Verdict::NoDifferenceShown, Part::Same));
        assert!(same.notes.iter().any(|note| note.contains("x 5.71")), "{:?}", same.notes);
    }

    #[test]
    fn a_worse_tail_is_noisier_if_the_body_is_the_same() {
        let found = compared(&spiky(20, &[748_000; 40]), &spiky(20, &[131_000; 40]));
        assert_eq!((found.verdict, found.tail), (Verdict::Noisier, Part::More));
        let back = compared(&spiky(20, &[131_000; 40]), &spiky(20, &[748_000; 40]));
        assert_eq!((back.verdict, back.tail), (Verdict::Quieter, Part::Less));
    }

    /// Latencies have no rate, and are compared with latencies only.
    #[test]
    fn latencies_are_another_quantity() {
        let latencies = |step: u64| {
            let mut record = fixed_work(&(0..400).map(|index| 2000 + index % 7 * step).collect::<Vec<_>>());
            record.about.method = Method::Latency;
            record.samples.start_ns.fill(0);
            record
        };
        let noise = fixed_work(&[1_000_000; 3000]);
        for (here, there) in [(&noise, &latencies(9)), (&latencies(9), &noise)] {
            let refused = compare(here, there).map(|_| ()).expect_err("refused").to_string();
            assert!(refused.contains("different quantities"), "{refused}");
        }
        let found = compared(&latencies(90), &latencies(9));
        assert_eq!((found.verdict, found.quantity, found.noise_rate_ratio), (Verdict::Noisier, "latency", None));
        assert!(crate::show::verdict(&found).contains("longer latencies"));
        assert!(latencies(9).must_be_noise("").is_err() && noise.must_be_noise("").is_ok());
        let said = crate::show::summaries(&[latencies(9).summary(1000.0)]);
        assert!(
            said.contains("longest latency 2.054 us") && !said.contains("noise rate") && !said.contains("NaN"),
            "{said}"
        );
    }

    #[test]
    fn a_verdict_has_a_direction_and_an_interval() {
        let record = |step: u64| fixed_work(&(0..3000).map(|index| 1_000_000 + index % 7 * step).collect::<Vec<_>>());
        let (quiet, loud) = (record(10), record(20));
        for (here, there, verdict, sign) in [
            (&loud, &quiet, Verdict::Noisier, 1.0),
            (&quiet, &loud, Verdict::Quieter, -1.0),
            (&quiet, &quiet, Verdict::NoDifferenceShown, 0.0),
        ] {
            let found = compared(here, there);
            let (low, high) = (found.effect_size_low.expect("low"), found.effect_size_high.expect("high"));
            assert_eq!(found.verdict, verdict);
            assert!(low < high && (low + high) / 2.0 * sign >= 0.0, "{low} {high}");
            assert!(found.p_value.is_some_and(|p| p > 0.0));
        }
    }
}
