// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Statistics of a record from many nodes. They come from the histogram of all cores: the samples are only those of the
//! worst nodes and would make the machine look worse than it is.

use std::collections::BTreeMap;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use super::compare::{Comparison, effect};
use super::groups::counted_groups;
use super::tail::rank;
use super::{QUANTILES, Summary, Tail};
use crate::predict::Noise;
use crate::record::Record;
use crate::record::across::{Across, Mode, Place, Run, bounds_of, bucket_of};

/// The origin of the numbers in the summary of such a record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfAll {
    pub mode: Mode,
    pub runs: Vec<Run>,
    pub ranks: u64,
    pub nodes: u64,
    /// The number of worst nodes, whose samples are stored.
    pub stored_nodes: u64,
    /// The core with the longest noise.
    pub worst: Place,
    /// Names of fields: `max_noise_ns`, `noise_rate`, `samples`, `detours`, `tail` and `groups`.
    pub from_histogram_of_all_cores: Vec<&'static str>,
    /// Names of fields: `cpus` and `per_cpu`. Pictures over time use these samples too.
    pub from_samples_of_worst_nodes: Vec<&'static str>,
}

impl Across {
    /// A length for each bucket, with its count: the middle of the bucket, but never more than the longest noise.
    fn lengths(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.histogram.counts().map(|(bucket, count)| {
            let (first, last) = bounds_of(bucket);
            (((first as f64 + last as f64) / 2.0).min(self.max_noise_ns as f64), count)
        })
    }

    /// The standard deviation of the noise of one sample, as a share of the shortest quantum.
    pub(super) fn rate_deviation(&self) -> f64 {
        let total = self.histogram.total().max(1) as f64;
        let moment = |power: i32| self.lengths().map(|(ns, count)| ns.powi(power) * count as f64).sum::<f64>() / total;
        (moment(2) - moment(1).powi(2)).max(0.0).sqrt() / self.shortest_ns.max(1) as f64
    }

    /// As [`super::tail`]. A length is the end of its bucket, so no more samples exceed it than its share allows.
    fn tail(&self) -> Tail {
        let total = self.histogram.total();
        let told = QUANTILES.iter().filter(|share| **share == 1.0 || total as f64 * (1.0 - **share) >= 1.0);
        let length = |share: f64| {
            let wanted = rank(share, usize::try_from(total).ok()?)? as u64;
            let mut seen = 0;
            let mut counts = self.histogram.counts();
            let (bucket, _) = counts.find(|(_, count)| {
                seen += count;
                seen > wanted
            })?;
            Some(bounds_of(bucket).1.min(self.max_noise_ns) as f64)
        };
        Tail(told.filter_map(|share| Some((*share, length(*share)?))).collect())
    }

    /// The noise of one thread: for each bucket its length, and the time of all cores over its count.
    pub fn recurring(&self, threshold_ns: f64) -> Vec<Noise> {
        let long = self.lengths().filter(|(length, _)| *length >= threshold_ns);
        let measured_ns = self.measured_ns as f64;
        long.map(|(length_ns, count)| Noise { length_ns, interval_ns: measured_ns / count as f64 }).collect()
    }

    /// Replaces numbers in the summary of the samples by those of all cores.
    pub(super) fn complete(&self, samples: Summary) -> Summary {
        let threshold_ns = samples.detour_threshold_ns;
        let mut cpus: Vec<u32> = self.places.iter().map(|place| place.cpu).collect();
        cpus.sort_unstable();
        cpus.dedup();
        Summary {
            cpus,
            samples: self.histogram.total(),
            shortest_ns: Some(self.shortest_ns),
            max_noise_ns: self.max_noise_ns as f64,
            noise_rate: self.noise_rate,
            detours: self.lengths().filter(|(length, _)| *length >= threshold_ns).map(|(_, count)| count).sum(),
            tail: self.tail(),
            groups: counted_groups(self.lengths(), threshold_ns, self.measured_ns as f64),
            across: Some(OfAll {
                mode: self.mode,
                runs: self.runs.clone(),
                ranks: self.runs.iter().map(|run| run.ranks).sum(),
                nodes: self.runs.iter().map(|run| run.nodes).sum(),
                stored_nodes: self.runs.iter().map(|run| run.stored_nodes).sum(),
                worst: self.worst.clone(),
                from_histogram_of_all_cores: vec!["samples", "max_noise_ns", "noise_rate", "detours", "tail", "groups"],
                from_samples_of_worst_nodes: vec!["cpus", "per_cpu"],
            }),
            ..samples
        }
    }
}

/// Compares two records, at least one of them from many nodes, by buckets, so that both have the same resolution.
pub(super) fn compare(record: &Record, base: &Record) -> Comparison {
    let (here, there) = (counts(record), counts(base));
    let (this, that) = (record.summary(1.0), base.summary(1.0));
    let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
    let test = mann_whitney(&here, &there);
    Comparison {
        label: record.about.label.clone(),
        against: base.about.label.clone(),
        max_noise_ratio: ratio(this.max_noise_ns, that.max_noise_ns),
        noise_rate_ratio: ratio(this.noise_rate, that.noise_rate),
        p_value: test.and_then(|(_, p)| p),
        effect_size: test.map(|(delta, _)| delta),
        effect: effect(test.map(|(delta, _)| delta)),
    }
}

fn counts(record: &Record) -> BTreeMap<u16, u64> {
    let mut counts = BTreeMap::new();
    match &record.about.across {
        Some(across) => counts.extend(across.histogram.counts()),
        None => {
            record.noise().length_ns.iter().for_each(|ns| *counts.entry(bucket_of(ns.round() as u64)).or_default() += 1)
        }
    }
    counts
}

/// Cliff's delta, and the two-sided p of Mann-Whitney's U by the normal approximation with ties and the correction for
/// continuity. `None` if a side is empty; the p is `None` if all values are equal.
fn mann_whitney(here: &BTreeMap<u16, u64>, there: &BTreeMap<u16, u64>) -> Option<(f64, Option<f64>)> {
    let sum = |side: &BTreeMap<u16, u64>| side.values().map(|count| *count as f64).sum::<f64>();
    let (n, m) = (sum(here), sum(there));
    if n == 0.0 || m == 0.0 {
        return None;
    }
    let (mut below, mut score, mut ties) = (0.0, 0.0, 0.0);
    let mut buckets: Vec<u16> = here.keys().chain(there.keys()).copied().collect();
    buckets.sort_unstable();
    buckets.dedup();
    for bucket in buckets {
        let of = |side: &BTreeMap<u16, u64>| side.get(&bucket).map_or(0.0, |count| *count as f64);
        let (a, b) = (of(here), of(there));
        score += a * (below - (m - below - b));
        below += b;
        ties += (a + b).powi(3) - (a + b);
    }
    let all = n + m;
    let spread = (n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)))).sqrt();
    // U - n m / 2 is half the score.
    let z = ((score / 2.0).abs() - 0.5).max(0.0) / spread;
    let p = Normal::standard().sf(z) * 2.0;
    Some((score / (n * m), Some(p.min(1.0)).filter(|p| p.is_finite())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::compare;
    use crate::record::across::Histogram;
    use crate::record::examples::fixed_work;

    /// A record without samples whose cores had these noise lengths in one second, summed over all cores.
    fn of_all(lengths: &[(u64, u64)]) -> Record {
        let mut histogram = Histogram::default();
        lengths.iter().for_each(|(length, count)| histogram.add(bucket_of(*length), *count));
        let mut record = fixed_work(&[]);
        record.about.across = Some(Across {
            mode: Mode::StepSync,
            runs: Vec::new(),
            places: Vec::new(),
            max_noise_ns: lengths.iter().map(|(length, _)| *length).max().unwrap_or(0),
            worst: Place::default(),
            noise_rate: 0.25,
            shortest_ns: 100,
            measured_ns: 1_000_000_000,
            histogram,
        });
        record
    }

    /// 19,990 samples without noise, nine of 10 us and one of 1 ms; 10 us lies from 9,984 to 10,111 ns.
    #[test]
    fn by_hand() {
        let record = of_all(&[(0, 19_990), (10_000, 9), (1_000_000, 1)]);
        let summary = record.summary(1000.0);
        assert_eq!((summary.samples, summary.detours, summary.max_noise_ns), (20_000, 10, 1e6));
        assert_eq!(summary.tail.0[3..], [(0.999, 0.0), (0.9999, 10_111.0), (1.0, 1e6)]);
        assert_eq!((summary.groups.len(), summary.groups[0].count, summary.groups[1].count), (2, 1, 9));
        assert_eq!(summary.groups[1].mean_ns, 10_047.5);
        assert_eq!(summary.groups[1].interval_ns, 1e9 / 9.0);
        let noise = record.about.across.as_ref().map(|across| across.recurring(1000.0)).expect("many nodes");
        assert_eq!(noise.iter().map(|noise| noise.interval_ns).collect::<Vec<_>>(), [1e9 / 9.0, 1e9]);
    }

    /// Below 128 ns a bucket is one length: the same as sample by sample.
    #[test]
    fn buckets_compare_as_samples_do() {
        let (quiet, loud) = ([100, 101, 100, 101, 102, 100, 101], [100, 190, 101, 170, 195, 160, 102]);
        let noise = |lengths: &[u64]| lengths.iter().map(|length| (length - 100, 1)).collect::<Vec<_>>();
        let samples = compare(&fixed_work(&loud), &fixed_work(&quiet));
        for (here, there) in [
            (of_all(&noise(&loud)), of_all(&noise(&quiet))),
            (fixed_work(&loud), of_all(&noise(&quiet))),
            (of_all(&noise(&loud)), fixed_work(&quiet)),
        ] {
            let buckets = compare(&here, &there);
            assert_eq!((buckets.effect_size, buckets.max_noise_ratio), (samples.effect_size, samples.max_noise_ratio));
            let (one, other) = (buckets.p_value.expect("a test"), samples.p_value.expect("a test"));
            assert!((one - other).abs() < 1e-9, "{one} {other}");
        }
        assert_eq!(compare(&of_all(&[]), &of_all(&[(1, 1)])).effect_size, None);
    }
}
