// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Statistics of a record. The comment of each function defines it; the tests check it on hand-computed records.

mod across;
mod alike;
mod compare;
mod dominance;
mod evidence;
mod exceedance;
mod groups;
mod saturation;
mod spectrum;
mod tail;

pub use across::OfAll;
pub use compare::{Comparison, compare};
pub use dominance::P_LEAST;
pub use evidence::{Evidence, least_ns};
pub use groups::{Group, groups};
pub use spectrum::{Peak, Shape, Spectrum, spectra, spectrum};
pub use tail::{QUANTILES, Tail, distribution, tail};

use serde::Serialize;

use crate::record::across::Place;
use crate::record::{Method, Record};

/// Noise of a record, sample by sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    /// L_i. Fixed work: T_i - T_min with the T_min of its CPU. Fixed time: the length of the interval times the share
    /// of work that is missing against the best interval of its CPU. Selfish detour: its length less the loop's own
    /// pace.
    pub length_ns: Vec<f64>,
    /// Fixed work: Eq. 2 of paper 000, the mean of (T_i - T_min) / T_min over all samples. Fixed time: the mean share
    /// of an interval. Selfish detour: the sum of detours over the measured time.
    pub rate: f64,
    /// Sum over all CPUs.
    pub measured_ns: f64,
}

/// The statistics of one record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub label: String,
    pub host: String,
    pub kernel_release: String,
    pub cpus: Vec<u32>,
    pub method: Method,
    pub samples: u64,
    /// Fixed work: the least T_min of a CPU.
    pub shortest_ns: Option<u64>,
    /// Fixed time: of one noise, also if it took several intervals (see `saturation`).
    pub max_noise_ns: f64,
    /// Fixed time: intervals that were lost whole. In `tail` and `groups` each of them is a noise of its own.
    pub saturated: u64,
    pub noise_rate: f64,
    /// Samples whose noise is at least the threshold. For latencies `max_noise_ns`, `detours` and `tail` are of these,
    /// `noise_rate` is not a number, and there are no groups.
    pub detours: u64,
    pub detour_threshold_ns: f64,
    pub tail: Tail,
    pub groups: Vec<Group>,
    /// Fixed time only.
    pub spectrum: Vec<Peak>,
    pub per_cpu: Vec<PerCpu>,
    /// Detours that were not stored for lack of room.
    pub lost: u64,
    /// What these numbers can show, and with which confidence.
    pub evidence: Evidence,
    /// What happened during the measurement, one sentence each.
    pub warnings: Vec<String>,
    /// Only for a record from many nodes: all fields above except `cpus` and `per_cpu` are then of all cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub across: Option<OfAll>,
}

/// The statistics of one CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PerCpu {
    pub cpu: u32,
    /// Only for a record from many nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    pub samples: u64,
    pub max_noise_ns: f64,
    pub noise_rate: f64,
    pub involuntary_switches: u64,
    pub page_faults: u64,
    pub migrations: Option<u64>,
    pub instructions: Option<u64>,
}

/// The noise of each sample in a range of rows, which must not be empty.
fn noise_of(record: &Record, rows: std::ops::Range<usize>) -> Vec<f64> {
    let samples = &record.samples;
    let (cpu, lengths) = (samples.cpu.get(rows.start).copied(), &samples.length_ns[rows.clone()]);
    match record.about.method {
        Method::Fwq => {
            let shortest = lengths.iter().copied().min().unwrap_or(0);
            lengths.iter().map(|length| (length - shortest) as f64).collect()
        }
        Method::Ftq => {
            let work = &samples.work_units[rows];
            let most = work.iter().copied().max().unwrap_or(0).max(1) as f64;
            work.iter().zip(lengths).map(|(done, length)| *length as f64 * (1.0 - *done as f64 / most)).collect()
        }
        Method::Selfish => {
            let counters = record.about.counters.iter().find(|counted| Some(counted.cpu) == cpu);
            let pace = counters.map_or(0, |counted| counted.shortest_ns);
            lengths.iter().map(|length| length.saturating_sub(pace) as f64).collect()
        }
        Method::Latency => lengths.iter().map(|length| *length as f64).collect(),
    }
}

/// The noise rate of one CPU's samples.
fn rate_of(record: &Record, rows: std::ops::Range<usize>, lengths: &[f64], measured_ns: f64) -> f64 {
    let mean = |sum: f64, count: usize| if count == 0 { 0.0 } else { sum / count as f64 };
    match record.about.method {
        Method::Fwq => {
            let shortest = record.samples.length_ns[rows].iter().copied().min().unwrap_or(1).max(1) as f64;
            mean(lengths.iter().map(|length| length / shortest).sum(), lengths.len())
        }
        Method::Ftq => {
            let intervals = &record.samples.length_ns[rows];
            let shares = lengths.iter().zip(intervals).map(|(length, interval)| length / (*interval).max(1) as f64);
            mean(shares.sum(), lengths.len())
        }
        Method::Selfish => lengths.iter().sum::<f64>() / measured_ns.max(1.0),
        // Not a number; JSON has null.
        Method::Latency => f64::NAN,
    }
}

fn measured_ns(record: &Record, cpu: u32) -> f64 {
    record.about.counters.iter().find(|counted| counted.cpu == cpu).map_or(0.0, |counted| counted.measured_ns as f64)
}

impl Record {
    /// The noise of every sample.
    pub fn noise(&self) -> Noise {
        let mut length_ns = Vec::with_capacity(self.samples.len());
        let (mut weighted, mut weights) = (0.0, 0.0);
        for (cpu, rows) in self.samples.by_cpu() {
            let lengths = noise_of(self, rows.clone());
            let measured = measured_ns(self, cpu);
            // A mean over samples, except for detours: their number says nothing about the time between them.
            let weight = if self.about.method == Method::Selfish { measured } else { lengths.len() as f64 };
            weighted += rate_of(self, rows, &lengths, measured) * weight;
            weights += weight;
            length_ns.extend(lengths);
        }
        let total: f64 = self.about.counters.iter().map(|counted| counted.measured_ns as f64).sum();
        if self.about.method == Method::Selfish {
            weights = total;
        }
        Noise { length_ns, rate: if weights > 0.0 { weighted / weights } else { 0.0 }, measured_ns: total }
    }

    /// All statistics. Noise of `threshold_ns` or more is a detour.
    pub fn summary(&self, threshold_ns: f64) -> Summary {
        let noise = self.noise();
        let fixed_time = self.about.method == Method::Ftq;
        let shortest = self.samples.length_ns.iter().copied().min();
        let lost = self.about.counters.iter().map(|counted| counted.lost).sum();
        let per_cpu: Vec<PerCpu> =
            self.samples.by_cpu().into_iter().map(|(cpu, rows)| self.per_cpu(cpu, rows)).collect();
        let summary = Summary {
            label: self.about.label.clone(),
            host: self.about.host.clone(),
            kernel_release: self.about.kernel_release.clone(),
            cpus: self.about.cpus.clone(),
            method: self.about.method,
            samples: self.samples.len() as u64,
            shortest_ns: shortest.filter(|_| self.about.method == Method::Fwq),
            max_noise_ns: per_cpu.iter().map(|cpu| cpu.max_noise_ns).fold(0.0, f64::max),
            saturated: saturation::saturated(self),
            noise_rate: noise.rate,
            detours: noise.length_ns.iter().filter(|length| **length >= threshold_ns).count() as u64,
            detour_threshold_ns: threshold_ns,
            tail: tail(&noise.length_ns),
            groups: match self.about.method {
                Method::Latency => Vec::new(),
                _ => groups(&noise.length_ns, threshold_ns, noise.measured_ns),
            },
            spectrum: if fixed_time { spectrum(self) } else { Vec::new() },
            per_cpu,
            evidence: self.evidence(self.about.across.as_ref().map_or(noise.rate, |across| across.noise_rate), lost),
            lost,
            warnings: self.about.warnings.clone(),
            across: None,
        };
        match &self.about.across {
            Some(across) => across.complete(summary),
            None => summary,
        }
    }

    fn per_cpu(&self, cpu: u32, rows: std::ops::Range<usize>) -> PerCpu {
        let lengths = noise_of(self, rows.clone());
        let counted = self.about.counters.iter().find(|counted| counted.cpu == cpu).cloned().unwrap_or_default();
        let place = self.about.across.as_ref().and_then(|across| across.places.get(cpu as usize)).cloned();
        PerCpu {
            cpu: place.as_ref().map_or(cpu, |place| place.cpu),
            place,
            samples: lengths.len() as u64,
            max_noise_ns: saturation::longest_ns(self, rows.clone(), &lengths),
            noise_rate: rate_of(self, rows, &lengths, counted.measured_ns as f64),
            involuntary_switches: counted.involuntary_switches,
            page_faults: counted.minor_faults + counted.major_faults,
            migrations: counted.migrations,
            instructions: counted.instructions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::examples::{about, fixed_work};
    use crate::record::{Counters, Record, Samples};
    use proptest::prelude::*;

    /// T = 100, 100, 150, 120 ns: L = 0, 0, 50, 20; rate = (0 + 0 + 0.5 + 0.2) / 4.
    #[test]
    fn fixed_work_by_hand() {
        let noise = fixed_work(&[100, 100, 150, 120]).noise();
        assert_eq!(noise.length_ns, [0.0, 0.0, 50.0, 20.0]);
        assert!((noise.rate - 0.175).abs() < 1e-15 && noise.measured_ns == 470.0);
        let summary = fixed_work(&[100, 100, 150, 120]).summary(20.0);
        assert_eq!((summary.max_noise_ns, summary.detours, summary.shortest_ns), (50.0, 2, Some(100)));
    }

    /// Each CPU has its own T_min: a slower CPU is not a noisy one.
    #[test]
    fn each_cpu_has_its_own_shortest_quantum() {
        let mut record = fixed_work(&[100, 110]);
        record.samples.cpu.extend([4, 4]);
        record.samples.start_ns.extend([0, 200]);
        record.samples.length_ns.extend([200, 210]);
        record.samples.work_units.extend([7, 7]);
        record.about.cpus.push(4);
        record.about.counters.push(Counters { cpu: 4, measured_ns: 410, ..Counters::default() });
        let noise = record.noise();
        assert_eq!(noise.length_ns, [0.0, 10.0, 0.0, 10.0]);
        assert!((noise.rate - (0.1 + 0.05) / 4.0).abs() < 1e-15);
        let per_cpu = record.summary(1.0).per_cpu;
        assert!((per_cpu[1].noise_rate - 0.025).abs() < 1e-15 && per_cpu[1].cpu == 4);
    }

    /// Intervals of 1,000 ns with 10, 5 and 0 of at most 10 units: 0, 500 and 1,000 ns are missing.
    #[test]
    fn fixed_time_by_hand() {
        let samples = Samples {
            cpu: vec![0; 3],
            start_ns: vec![0, 1000, 2000],
            length_ns: vec![1000; 3],
            work_units: vec![10, 5, 0],
        };
        let noise = Record { about: about(Method::Ftq, 3000), samples }.noise();
        assert_eq!((noise.length_ns, noise.rate), (vec![0.0, 500.0, 1000.0], 0.5));
    }

    /// Two detours of 1,020 and 520 ns in 10 us, where two readings are 20 ns apart.
    #[test]
    fn detours_by_hand() {
        let samples =
            Samples { cpu: vec![0; 2], start_ns: vec![0, 5000], length_ns: vec![1020, 520], work_units: vec![0; 2] };
        let mut about = about(Method::Selfish, 10_000);
        about.counters[0].shortest_ns = 20;
        let noise = Record { about, samples }.noise();
        assert_eq!(noise.length_ns, [1000.0, 500.0]);
        assert!((noise.rate - 0.15).abs() < 1e-15);
    }

    #[test]
    fn an_empty_record_has_no_noise() {
        let summary = fixed_work(&[]).summary(1.0);
        assert_eq!((summary.max_noise_ns, summary.noise_rate, summary.samples), (0.0, 0.0, 0));
    }

    proptest! {
        /// Noise does not depend on the order of samples, nor on a longer quantum; it grows with the unit.
        #[test]
        fn order_and_quantum_do_not_change_noise(mut lengths in prop::collection::vec(1u64..1 << 40, 1..200), more in 0u64..1 << 30) {
            let before = fixed_work(&lengths).noise();
            let longest = before.length_ns.iter().copied().fold(0.0, f64::max);
            prop_assert_eq!(longest, (lengths.iter().max().unwrap() - lengths.iter().min().unwrap()) as f64);
            prop_assert!(before.rate >= 0.0 && before.length_ns.contains(&0.0));
            let shifted: Vec<u64> = lengths.iter().map(|length| length + more).collect();
            prop_assert_eq!(&fixed_work(&shifted).noise().length_ns, &before.length_ns);
            prop_assert!(fixed_work(&shifted).noise().rate <= before.rate * (1.0 + 1e-12));
            lengths.reverse();
            let mut reversed = fixed_work(&lengths).noise().length_ns;
            reversed.reverse();
            prop_assert_eq!(reversed, before.length_ns);
        }
    }
}
