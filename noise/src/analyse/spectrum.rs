// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The spectrum of fixed-time samples: periodic noise by its frequency.
//!
//! Owns what counts as a line, as a hump and as the limit. A *line* is one frequency that stands out. A *hump* is a
//! range of frequencies with more noise than those below and above it: noise that comes about every so often. At the
//! *limit*, half as many hertz as there are intervals in a second, anything faster looks as if it were there (it is
//! aliased), so a component there has no known frequency.

use realfft::RealFftPlanner;
use serde::Serialize;

use crate::record::Record;

/// A bin is a peak if it has this many times the power of its surroundings.
const PROMINENCE: f64 = 25.0;
/// Bins on each side that count as its surroundings.
const SURROUNDINGS: usize = 64;
const PEAKS_LIMIT: usize = 12;
/// Bins below the last one into which the window spreads a component of the limit.
const LIMIT_BINS: usize = 2;

/// A band is at least as many bins wide: their mean power then varies by a quarter.
const BAND_LEAST: usize = 16;
/// A band is this part of its frequency wide.
const BAND_PART: usize = 8;
/// Bands are compared with the median of all up to this factor below and above.
const BAND_REACH: f64 = 4.0;
/// A band is a part of a hump if it has this many times the power of that median.
const HUMP: f64 = 4.0;

/// What stands out in a spectrum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    Line,
    Hump,
    Limit,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Peak {
    pub cpu: u32,
    pub shape: Shape,
    /// The frequency of a line, the strongest of a hump; `None` at the limit, where it is unknown.
    pub hz: Option<f64>,
    /// The ends of a hump; for the limit the lowest frequency that it may have.
    pub low_hz: Option<f64>,
    pub high_hz: Option<f64>,
    /// Noise of this component in a period, as a share of an interval: for a hump that of one frequency with the same
    /// power.
    pub amplitude: f64,
}

impl Peak {
    /// In words.
    pub fn name(&self) -> String {
        let hertz = |hz: Option<f64>| hz.map_or_else(|| "?".into(), |hz| format!("{hz:.1}"));
        match self.shape {
            Shape::Line => format!("{} Hz", hertz(self.hz)),
            Shape::Hump => format!("{} to {} Hz (broad)", hertz(self.low_hz), hertz(self.high_hz)),
            Shape::Limit => format!("{} Hz or faster (take a shorter --quantum)", hertz(self.low_hz)),
        }
    }
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

/// The components of each CPU's noise that stand out, strongest first.
pub fn spectrum(record: &Record) -> Vec<Peak> {
    let mut found: Vec<Peak> = spectra(record).iter().flat_map(components).collect();
    found.sort_by(|a, b| b.amplitude.total_cmp(&a.amplitude));
    found.truncate(PEAKS_LIMIT);
    found
}

fn components(one: &Spectrum) -> Vec<Peak> {
    let hz = |bin: usize| Some(bin as f64 / one.span_s);
    let last = one.powers.len() - 1;
    let lines = peaks(&one.powers);
    let line = |&bin: &usize| {
        let (shape, hz, low_hz) = match bin + LIMIT_BINS < last {
            true => (Shape::Line, hz(bin), None),
            false => (Shape::Limit, None, hz(last)),
        };
        Peak { cpu: one.cpu, shape, hz, low_hz, high_hz: None, amplitude: one.amplitudes[bin] }
    };
    let hump = |(first, end): (usize, usize)| {
        let bins = first..end;
        let strongest = bins.clone().max_by(|a, b| one.powers[*a].total_cmp(&one.powers[*b]));
        // Twice for the negative frequencies; the mean square of the window is 3/8, that of a sine 1/2.
        let length = 2.0 * last as f64;
        let square = 2.0 * bins.map(|bin| one.powers[bin]).sum::<f64>() / (length * length) / 0.375;
        let (low_hz, high_hz) = (hz(first), hz(end - 1));
        let amplitude = (2.0 * square).sqrt();
        Peak { cpu: one.cpu, shape: Shape::Hump, hz: strongest.and_then(hz), low_hz, high_hz, amplitude }
    };
    lines.iter().map(line).chain(humps(&one.powers, &lines).into_iter().map(hump)).collect()
}

/// Ranges of bins with more power than the bands below and above them, without what lines put there.
fn humps(powers: &[f64], lines: &[usize]) -> Vec<(usize, usize)> {
    let last = powers.len().saturating_sub(1 + LIMIT_BINS);
    let of_a_line = |bin: usize| lines.iter().any(|line| line.abs_diff(bin) <= LIMIT_BINS);
    let mut bands: Vec<(usize, usize, f64)> = Vec::new();
    let mut first = 3;
    loop {
        let end = first + BAND_LEAST.max(first / BAND_PART);
        if end > last {
            break;
        }
        let quiet: Vec<f64> = (first..end).filter(|bin| !of_a_line(*bin)).map(|bin| powers[bin]).collect();
        if !quiet.is_empty() {
            bands.push((first, end, quiet.iter().sum::<f64>() / quiet.len() as f64));
        }
        first = end;
    }
    let stands_out = |&(first, end, power): &(usize, usize, f64)| {
        let near = |other: &&(usize, usize, f64)| {
            (other.1 as f64) * BAND_REACH > first as f64 && (other.0 as f64) < end as f64 * BAND_REACH
        };
        let mut around: Vec<f64> = bands.iter().filter(near).map(|band| band.2).collect();
        around.sort_by(f64::total_cmp);
        power > 1e-12 && power > HUMP * around[around.len() / 2]
    };
    let mut found: Vec<(usize, usize)> = Vec::new();
    for band in bands.iter().filter(|band| stands_out(band)) {
        match found.last_mut() {
            Some(before) if before.1 == band.0 => before.1 = band.1,
            _ => found.push((band.0, band.1)),
        }
    }
    // A range that begins with the first band has nothing below it: slow drift, not a hump.
    found.retain(|range| range.0 > 3);
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

    /// Intervals of 1 ms with this much work in each.
    fn record(work: impl Iterator<Item = u64>) -> Record {
        let work_units: Vec<u64> = work.collect();
        let count = work_units.len();
        let samples = Samples {
            cpu: vec![5; count],
            start_ns: (0..count as u64).map(|i| i * 1_000_000).collect(),
            length_ns: vec![1_000_000; count],
            work_units,
        };
        Record { about: about(Method::Ftq, count as u64 * 1_000_000), samples }
    }

    /// Every eighth loses a tenth of its work: 125 Hz and its harmonics. That of 500 Hz is at the limit.
    #[test]
    fn a_tick_has_its_frequency() {
        let found = spectrum(&record((0..4096).map(|i| if i % 8 == 0 { 900 } else { 1000 })));
        assert_eq!(found.len(), 4, "{found:?}");
        // A pulse of height 0.1 once in eight is 0.0125 + 0.025 cos(w t) + ... + 0.0125 cos(4 w t).
        for peak in &found {
            let limit = peak.shape == Shape::Limit;
            assert!((peak.amplitude - if limit { 0.0125 } else { 0.025 }).abs() < 0.001, "{found:?}");
            assert_eq!((peak.hz.is_none(), peak.low_hz), (limit, limit.then_some(500.0)));
            assert!(peak.hz.is_none_or(|hz| [125.0, 250.0, 375.0].contains(&hz)) && peak.cpu == 5);
        }
        assert_eq!(found.iter().filter(|peak| peak.shape == Shape::Limit).count(), 1);
    }

    /// Noise in every other interval may come 500 times a second, or 1,500 times, or as often as it likes.
    #[test]
    fn the_limit_has_no_frequency() {
        let found = spectrum(&record((0..4096).map(|i| if i % 2 == 0 { 900 } else { 1000 })));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].shape, found[0].hz), (Shape::Limit, None));
        assert_eq!(found[0].name(), "500.0 Hz or faster (take a shorter --quantum)");
    }

    /// A number that looks random, the same each time.
    fn noise(index: u64) -> u64 {
        let mixed = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
    }

    /// Noise each 8 to 12 ms over weak random noise is a hump around 100 Hz. Random noise alone is nothing.
    #[test]
    fn noise_that_comes_about_every_so_often_is_a_hump() {
        let weak = |i: u64| 1000 - noise(i) % 3;
        assert_eq!(spectrum(&record((0..16_384).map(weak))), []);
        let (mut next, mut hits) = (0, vec![false; 16_384]);
        while let Some(hit) = hits.get_mut(next) {
            *hit = true;
            next += 8 + noise(next as u64 + 99_999) as usize % 5;
        }
        let found = spectrum(&record((0..16_384).map(|i| weak(i) - if hits[i as usize] { 100 } else { 0 })));
        let hump = found.iter().find(|peak| peak.shape == Shape::Hump).expect("a hump");
        let ends = hump.low_hz.zip(hump.high_hz).expect("both ends");
        assert!(ends.0 > 60.0 && ends.0 < 100.0 && ends.1 > 100.0 && ends.1 < 140.0, "{found:?}");
        assert!(hump.amplitude > 0.005 && hump.amplitude < 0.05 && hump.name().ends_with("(broad)"), "{hump:?}");
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
