// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How much a record can show: whether it suffices to call a machine quiet, and how long a measurement that suffices
//! would take.
//!
//! Owns the rule. A record answers only with at least [`SAMPLES_LEAST`] samples on each CPU, because the shortest
//! sample is the baseline of the others, and with [`STRETCHES`] stretches of [`STRETCH_NS`] or more. A noise rate has
//! an interval: Student's t over the rates of the stretches, to 95 % on each side; its upper end also has the noise
//! that may have come in no sample, [`UNSEEN_NS`] three times in the measured time (no event in n trials excludes, to
//! 95 %, rates above 3 / n). `check` and the summaries call this file; it never reads a clock.

use serde::Serialize;

use super::{noise_of, rate_of};
use crate::record::{Method, Record};

/// The fewest samples of a CPU.
pub const SAMPLES_LEAST: u64 = 100;
/// Number of stretches of equal length.
pub const STRETCHES: usize = 20;
/// The shortest stretch. All of them are two seconds: twice the period of the kernel's own statistics.
pub const STRETCH_NS: f64 = 100e6;
/// A noise that may have been missed: a time slice of the scheduler.
const UNSEEN_NS: f64 = 1e6;
/// The logarithm of 5 %: so many unseen events are excluded to 95 %.
const UNSEEN_EVENTS: f64 = 3.0;
/// The 95th percentile of Student's t with 19 degrees of freedom.
const STUDENT: f64 = 1.729_132_8;
/// The same of the normal distribution, for a histogram of very many samples.
const NORMAL: f64 = 1.644_853_6;
/// The clock may begin late or end early by this share.
const TOLERANCE: f64 = 0.99;

/// What a record can show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// Samples of the CPU with the fewest; `None` for selfish detour, whose samples are its result.
    pub samples_of_a_cpu: Option<u64>,
    /// Measured time of the CPU with the least.
    pub measured_ns: f64,
    /// Measured time of all CPUs together.
    pub cpu_time_ns: f64,
    pub noise_rate: f64,
    /// 95 % below and 95 % above; `None` without enough stretches.
    pub noise_rate_low: Option<f64>,
    pub noise_rate_high: Option<f64>,
    /// With 95 % confidence, noise longer than the longest comes to a CPU at most once in this time.
    pub longer_at_most_once_in_ns: f64,
    /// Why the record can call nothing quiet.
    pub not_enough: Option<String>,
    /// Length of a sample, for the time that enough samples take.
    #[serde(skip)]
    quantum_ns: f64,
}

impl Record {
    /// Judges the record by the rule of this file. `noise_rate` and `lost` are those of the whole record.
    pub(super) fn evidence(&self, noise_rate: f64, lost: u64) -> Evidence {
        let runs = self.samples.by_cpu();
        let of_cpu = |cpu: u32| runs.iter().find(|(of, _)| *of == cpu).map_or(0, |(_, rows)| rows.len() as u64);
        let measured = || self.about.counters.iter().map(|counted| counted.measured_ns as f64);
        let fewest = self.about.cpus.iter().map(|cpu| of_cpu(*cpu)).min().unwrap_or(0);
        let mut evidence = Evidence {
            samples_of_a_cpu: (self.about.method != Method::Selfish).then_some(fewest),
            measured_ns: measured().fold(f64::INFINITY, f64::min).min(1e300),
            cpu_time_ns: measured().sum(),
            noise_rate,
            noise_rate_low: None,
            noise_rate_high: None,
            longer_at_most_once_in_ns: 0.0,
            not_enough: None,
            quantum_ns: if self.about.method == Method::Selfish { 0.0 } else { self.about.quantum_ns },
        };
        let spread = match &self.about.across {
            Some(across) => {
                let cores: u64 = across.runs.iter().map(|run| run.ranks).sum();
                evidence.samples_of_a_cpu = across.runs.iter().map(|run| run.samples).min();
                evidence.cpu_time_ns = across.measured_ns as f64;
                evidence.measured_ns = evidence.cpu_time_ns / cores.max(1) as f64;
                let samples = across.histogram.total() as f64;
                Some(NORMAL * across.rate_deviation() / samples.max(1.0).sqrt())
            }
            None if self.about.method == Method::Latency => None,
            None => self.stretches().map(|rates| STUDENT * deviation(&rates) / (rates.len() as f64).sqrt()),
        };
        evidence.longer_at_most_once_in_ns = evidence.cpu_time_ns / UNSEEN_EVENTS;
        if self.about.method == Method::Latency {
            // They have no times: neither a rate nor "once in".
            evidence.longer_at_most_once_in_ns = f64::NAN;
            evidence.not_enough = evidence.few();
            return evidence;
        }
        if let Some(spread) = spread {
            evidence.noise_rate_low = Some((noise_rate - spread).max(0.0));
            evidence.noise_rate_high = Some(noise_rate + spread + evidence.unseen());
        }
        evidence.not_enough = evidence.lacks(lost);
        evidence
    }

    /// The noise rate of each stretch, over all CPUs; `None` if a CPU has fewer samples than stretches.
    fn stretches(&self) -> Option<Vec<f64>> {
        let mut sums = vec![0.0; STRETCHES];
        let runs = self.samples.by_cpu();
        if self.about.method == Method::Selfish {
            let all: f64 = self.about.counters.iter().map(|counted| counted.measured_ns as f64).sum();
            for (cpu, rows) in runs {
                let counted = self.about.counters.iter().find(|counted| counted.cpu == cpu)?;
                let starts = &self.samples.start_ns[rows.clone()];
                let lengths = noise_of(self, rows);
                for (start, length) in starts.iter().zip(lengths) {
                    let at = *start as f64 / counted.measured_ns.max(1) as f64 * STRETCHES as f64;
                    sums[(at as usize).min(STRETCHES - 1)] += length / (all / STRETCHES as f64).max(1.0);
                }
            }
            return (all > 0.0).then_some(sums);
        }
        let total = self.samples.len().max(1) as f64;
        for (cpu, rows) in &runs {
            let (lengths, count) = (noise_of(self, rows.clone()), rows.len());
            if count < STRETCHES {
                return None;
            }
            let measured = self.about.counters.iter().find(|counted| counted.cpu == *cpu)?.measured_ns as f64;
            // The rate has the whole CPU's baseline, so a stretch's share of it is its share of the lengths.
            let rate = rate_of(self, rows.clone(), &lengths, measured);
            let noise: f64 = lengths.iter().sum();
            for (index, sum) in sums.iter_mut().enumerate() {
                let part = index * count / STRETCHES..(index + 1) * count / STRETCHES;
                let mean = lengths[part.clone()].iter().sum::<f64>() / part.len() as f64;
                if noise > 0.0 {
                    *sum += rate * mean / (noise / count as f64) * (count as f64 / total);
                }
            }
        }
        (!runs.is_empty()).then_some(sums)
    }
}

/// The sample standard deviation.
fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0).max(1.0)).sqrt()
}

/// The shortest measurement with this quantum whose samples and stretches suffice.
pub fn least_ns(quantum_ns: f64) -> f64 {
    (STRETCHES as f64 * STRETCH_NS).max(SAMPLES_LEAST as f64 * quantum_ns)
}

impl Evidence {
    /// The rate of noise that may have been missed.
    fn unseen(&self) -> f64 {
        UNSEEN_EVENTS * UNSEEN_NS / self.cpu_time_ns.max(1.0)
    }

    fn few(&self) -> Option<String> {
        let count = self.samples_of_a_cpu.filter(|count| *count < SAMPLES_LEAST)?;
        let samples = if count == 1 { "sample" } else { "samples" };
        Some(format!("{count} {samples} on a CPU, at least {SAMPLES_LEAST} are needed"))
    }

    fn lacks(&self, lost: u64) -> Option<String> {
        if lost > 0 {
            return Some(format!("{lost} detours were counted but not stored"));
        }
        if let Some(few) = self.few() {
            return Some(few);
        }
        let least = STRETCHES as f64 * STRETCH_NS;
        (self.measured_ns < least * TOLERANCE).then(|| {
            let measured = crate::units::Nanoseconds(self.measured_ns);
            format!("{measured} on a CPU, at least {STRETCHES} stretches of 100 ms are needed")
        })
    }

    /// The shortest measurement whose samples and stretches suffice.
    pub fn least_ns(&self) -> f64 {
        least_ns(self.quantum_ns)
    }

    /// How long to measure until the interval of the rate lies on one side of `limit`, if the rate stays as it is: the
    /// spread of the stretches shrinks with the root of the time, the unseen noise with the time. `None` if no
    /// measurement can tell, because the rate is the limit.
    pub fn needed_ns(&self, limit: f64) -> Option<f64> {
        let spread = self
            .noise_rate_low
            .map_or(0.0, |_| self.noise_rate_high.unwrap_or(self.noise_rate) - self.noise_rate - self.unseen());
        let (gap, unseen) = (limit - self.noise_rate, self.unseen());
        if gap == 0.0 {
            return None;
        }
        let root = if gap > 0.0 {
            ((spread * spread + 4.0 * unseen * gap).sqrt() - spread) / (2.0 * unseen)
        } else {
            -gap / spread.max(f64::MIN_POSITIVE)
        };
        Some((self.measured_ns / (root * root)).max(self.least_ns()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::examples::{about, fixed_work};
    use crate::record::{Counters, Samples};

    /// 4,000 quanta of 1 ms; the first of each stretch has noise of 1 ms in the first ten stretches.
    fn ten_hits() -> Record {
        let length = |index: usize| if index.is_multiple_of(200) && index < 2000 { 2_000_000 } else { 1_000_000 };
        fixed_work(&(0..4000).map(length).collect::<Vec<_>>())
    }

    #[test]
    fn by_hand() {
        let evidence = ten_hits().summary(1.0).evidence;
        // Ten rates of 1/200 and ten of 0: mean 1/400, deviation 1/400 sqrt(20/19).
        let spread = STUDENT * (20.0f64 / 19.0).sqrt() / 400.0 / 20f64.sqrt();
        let unseen = 3.0 * 1e6 / 4.01e9;
        assert!((evidence.noise_rate - 0.0025).abs() < 1e-15);
        assert!((evidence.noise_rate_low.expect("low") - (0.0025 - spread)).abs() < 1e-12);
        assert!((evidence.noise_rate_high.expect("high") - (0.0025 + spread + unseen)).abs() < 1e-12);
        assert_eq!(evidence.longer_at_most_once_in_ns, 4.01e9 / 3.0);
        assert_eq!((evidence.not_enough, evidence.samples_of_a_cpu), (None, Some(4000)));
    }

    /// The constants are those of the distributions that they name.
    #[test]
    fn constants() {
        use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
        let student = StudentsT::new(0.0, 1.0, STRETCHES as f64 - 1.0).expect("a distribution").inverse_cdf(0.95);
        assert!((student - STUDENT).abs() < 1e-6 && (Normal::standard().inverse_cdf(0.95) - NORMAL).abs() < 1e-6);
        assert!((0.05f64.ln() + UNSEEN_EVENTS).abs() < 0.005);
    }

    /// A thousand silent samples of 1 ms exclude rates above 3e-3; 1e-5 takes 300 times as long.
    #[test]
    fn a_thousand_samples_cannot_confirm_one_in_a_hundred_thousand() {
        let evidence = fixed_work(&[1_000_000; 1000]).summary(1.0).evidence;
        assert!((evidence.noise_rate_high.expect("high") - 3e-3).abs() < 1e-15);
        assert!((evidence.needed_ns(1e-5).expect("a time") - 300e9).abs() < 1.0);
        assert_eq!(evidence.needed_ns(0.0), None);
        assert_eq!(evidence.needed_ns(0.5), Some(2e9), "no less than the rule demands");
    }

    /// At the time that is said, the shrunken interval ends at the limit, from below and from above.
    #[test]
    fn the_time_suffices() {
        let evidence = ten_hits().summary(1.0).evidence;
        let (rate, low) = (evidence.noise_rate, evidence.noise_rate_low.expect("low"));
        for limit in [0.003, 0.0026] {
            assert!(evidence.noise_rate_high.expect("high") > limit);
            let times = evidence.needed_ns(limit).expect("a time") / evidence.measured_ns;
            let high = rate + (rate - low) / times.sqrt() + evidence.unseen() / times;
            assert!(times > 1.0 && (high - limit).abs() < 1e-12, "{times}");
        }
        let times = evidence.needed_ns(0.002).expect("a time") / evidence.measured_ns;
        assert!(times > 1.0 && (rate - (rate - low) / times.sqrt() - 0.002).abs() < 1e-12);
    }

    #[test]
    fn too_little_is_said() {
        let lacks = |record: &Record| record.summary(1.0).evidence.not_enough.unwrap_or_default();
        assert!(lacks(&fixed_work(&[1_000_000])).starts_with("1 sample on a CPU, at least 100"));
        assert!(lacks(&fixed_work(&[1_000_000; 99])).starts_with("99 samples"));
        assert!(lacks(&fixed_work(&[1_000_000; 1000])).starts_with("1 s on a CPU, at least 20 stretches"));
        assert_eq!(lacks(&fixed_work(&[1_000_000; 2000])), "");
        let mut one_cpu_without = fixed_work(&[1_000_000; 4000]);
        one_cpu_without.about.cpus.push(1);
        one_cpu_without.about.counters.push(Counters { cpu: 1, ..Counters::default() });
        assert!(lacks(&one_cpu_without).starts_with("0 samples"));
    }

    /// Two detours of 1 us in the first and last of 20 stretches of 1 s; then some that were not stored.
    #[test]
    fn detours_by_hand() {
        let samples = Samples {
            cpu: vec![0; 2],
            start_ns: vec![0, 19_999_000_000],
            length_ns: vec![1000; 2],
            work_units: vec![0; 2],
        };
        let mut record = Record { about: about(Method::Selfish, 20_000_000_000), samples };
        let evidence = record.summary(1.0).evidence;
        // Two rates of 1e-6, 18 of 0.
        let spread = STUDENT * (2.0 * 0.9f64.powi(2) + 18.0 * 0.01).sqrt() / 19f64.sqrt() * 1e-6 / 20f64.sqrt();
        assert!((evidence.noise_rate_high.expect("high") - (1e-7 + spread + 1.5e-4)).abs() < 1e-15);
        assert_eq!((evidence.not_enough, evidence.samples_of_a_cpu), (None, None));
        record.about.counters[0].lost = 7;
        assert!(record.summary(1.0).evidence.not_enough.is_some_and(|why| why.starts_with("7 detours")));
    }
}
