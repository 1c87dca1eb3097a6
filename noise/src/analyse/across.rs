// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Statistics of a record from many nodes. They come from the histogram of all cores: the samples are only those of the
//! worst nodes and would make the machine look worse than it is.

use serde::Serialize;

use super::groups::counted_groups;
use super::tail::rank;
use super::{QUANTILES, Summary, Tail};
use crate::predict::Noise;
use crate::record::across::{Across, Mode, Place, Run, bounds_of};

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
        long.map(|(length_ns, count)| Noise { length_ns, interval_ns: measured_ns / count as f64, count: Some(count) })
            .collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::compare;
    use crate::record::Record;
    use crate::record::across::{Histogram, bucket_of};
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
        let compare = |here: &Record, there: &Record| compare(here, there).expect("comparable");
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
