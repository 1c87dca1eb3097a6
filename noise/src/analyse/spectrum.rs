// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The spectrum of fixed-time samples: periodic noise by its frequency.

use realfft::RealFftPlanner;
use serde::Serialize;

use crate::record::Record;

/// A bin is a peak if it has this many times the power of its surroundings.
const PROMINENCE: f64 = 25.0;
/// Bins on each side that count as its surroundings.
const SURROUNDINGS: usize = 64;
const PEAKS_LIMIT: usize = 12;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Peak {
    pub cpu: u32,
    pub hz: f64,
    /// Noise of this component in a period, as a share of an interval.
    pub amplitude: f64,
}

/// All frequencies of one CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    pub cpu: u32,
    /// The time of all its samples: the nth frequency is n / `span_s`.
    pub span_s: f64,
    /// Amplitude of each frequency, corrected for the window's mean of one half.
    pub amplitudes: Vec<f64>,
    powers: Vec<f64>,
}

/// The spectrum of each CPU's noise.
pub fn spectra(record: &Record) -> Vec<Spectrum> {
    let interval_s = record.about.quantum_ns / 1e9;
    let samples = &record.samples;
    let one = |(cpu, rows): (u32, std::ops::Range<usize>)| {
        let work = &samples.work_units[rows];
        let most = work.iter().copied().max().unwrap_or(0).max(1) as f64;
        let missing: Vec<f64> = work.iter().map(|done| 1.0 - *done as f64 / most).collect();
        let powers = powers(&missing);
        let length = 2.0 * powers.len().saturating_sub(1) as f64;
        // Twice for the window's mean of one half, twice for the negative frequency, which the last bin does not have.
        let times = |bin| if bin + 1 == powers.len() { 2.0 } else { 4.0 };
        let amplitudes = powers.iter().enumerate().map(|(bin, power)| times(bin) * power.sqrt() / length).collect();
        Spectrum { cpu, span_s: length * interval_s, amplitudes, powers }
    };
    samples.by_cpu().into_iter().map(one).filter(|spectrum| !spectrum.powers.is_empty()).collect()
}

/// The periodic components of each CPU's noise, strongest first.
pub fn spectrum(record: &Record) -> Vec<Peak> {
    let named = |one: &Spectrum| {
        let peak = |bin: usize| Peak { cpu: one.cpu, hz: bin as f64 / one.span_s, amplitude: one.amplitudes[bin] };
        peaks(&one.powers).into_iter().map(peak).collect::<Vec<_>>()
    };
    let mut found: Vec<Peak> = spectra(record).iter().flat_map(named).collect();
    found.sort_by(|a, b| b.amplitude.total_cmp(&a.amplitude));
    found.truncate(PEAKS_LIMIT);
    found
}

/// The power of each frequency, under a Hann window, mean removed.
fn powers(values: &[f64]) -> Vec<f64> {
    let length = values.len() & !1;
    if length < 4 {
        return Vec::new();
    }
    let mean = values[..length].iter().sum::<f64>() / length as f64;
    let mut windowed: Vec<f64> = (0..length)
        .map(|i| {
            let phase = std::f64::consts::TAU * i as f64 / length as f64;
            (values[i] - mean) * (0.5 - 0.5 * phase.cos())
        })
        .collect();
    let transform = RealFftPlanner::<f64>::new().plan_fft_forward(length);
    let mut out = transform.make_output_vec();
    match transform.process(&mut windowed, &mut out) {
        Ok(()) => out.iter().map(|value| value.norm_sqr()).collect(),
        Err(_) => Vec::new(),
    }
}

/// Bins with much more power than the median of their surroundings, and more than their neighbours.
fn peaks(powers: &[f64]) -> Vec<usize> {
    // The window spreads the mean over the first two bins.
    let stands_out = |&bin: &usize| {
        let power = powers[bin];
        let around = &powers[bin.saturating_sub(SURROUNDINGS).max(2)..(bin + SURROUNDINGS).min(powers.len())];
        let mut sorted = around.to_vec();
        sorted.sort_by(f64::total_cmp);
        let top = power >= powers[bin - 1] && powers.get(bin + 1).is_none_or(|next| power > *next);
        top && power > 1e-12 && power > PROMINENCE * sorted[sorted.len() / 2]
    };
    let mut found: Vec<usize> = (3..powers.len()).filter(stands_out).collect();
    found.sort_by(|a, b| powers[*b].total_cmp(&powers[*a]));
    found.truncate(PEAKS_LIMIT);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::examples::about;
    use crate::record::{Method, Samples};

    /// Intervals of 1 ms; every fourth one loses a tenth of its work: 250 Hz and its harmonic, nothing else.
    #[test]
    fn a_tick_has_its_frequency() {
        let count = 4096;
        let work: Vec<u64> = (0..count).map(|i| if i % 4 == 0 { 900 } else { 1000 }).collect();
        let samples = Samples {
            cpu: vec![5; count],
            start_ns: (0..count as u64).map(|i| i * 1_000_000).collect(),
            length_ns: vec![1_000_000; count],
            work_units: work,
        };
        let found = spectrum(&Record { about: about(Method::Ftq, 4_096_000_000), samples });
        let hz: Vec<f64> = found.iter().map(|peak| peak.hz).collect();
        assert_eq!(hz.len(), 2, "{found:?}");
        assert!(hz.contains(&250.0) && hz.contains(&500.0) && found[0].cpu == 5);
        // A pulse of height 0.1 once in four is 0.025 + 0.05 cos(w t) + 0.025 cos(2 w t).
        for peak in &found {
            assert!((peak.amplitude - if peak.hz == 250.0 { 0.05 } else { 0.025 }).abs() < 0.001, "{found:?}");
        }
    }

    #[test]
    fn quiet_and_short_records_have_no_peaks() {
        for count in [0, 1, 3, 4, 1000] {
            let samples = Samples {
                cpu: vec![0; count],
                start_ns: vec![0; count],
                length_ns: vec![1_000_000; count],
                work_units: vec![1000; count],
            };
            assert!(spectrum(&Record { about: about(Method::Ftq, 1), samples }).is_empty());
        }
    }
}
