// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Axes: the position of a value, the ticks and their labels.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

use crate::units::Nanoseconds;

/// One axis of a figure.
#[derive(Debug, Clone)]
pub struct Axis {
    pub title: &'static str,
    low: f64,
    high: f64,
    logarithmic: bool,
    ticks: Vec<f64>,
    label: fn(f64) -> String,
}

impl Axis {
    /// Powers of ten from at most `low` to at least `high`; at least one decade, at most `most` of them labelled.
    pub fn decades(title: &'static str, (low, high): (f64, f64), most: usize, label: fn(f64) -> String) -> Axis {
        // Tolerates rounding: a value just off a power of ten counts as that power.
        let first = (low.log10() + 1e-9).floor() as i32;
        let last = ((high.log10() - 1e-9).ceil() as i32).max(first + 1);
        let step = (last - first + 1).unsigned_abs().div_ceil(most.max(1) as u32) as usize;
        let ticks = (first..=last).step_by(step).map(|power| 10f64.powi(power)).collect();
        Axis { title, low: 10f64.powi(first), high: 10f64.powi(last), logarithmic: true, ticks, label }
    }

    /// From 0 to `high`, with at most `most` ticks at round numbers after the first.
    pub fn linear(title: &'static str, high: f64, most: usize, label: fn(f64) -> String) -> Axis {
        let high = if high > 0.0 { high } else { 1.0 };
        let rough = high / most.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(rough);
        let ticks = (0..=(high / step + 1e-9) as usize).map(|tick| tick as f64 * step).collect();
        Axis { title, low: 0.0, high, logarithmic: false, ticks, label }
    }

    pub fn low(&self) -> f64 {
        self.low
    }

    pub fn high(&self) -> f64 {
        self.high
    }

    /// Position between the two ends, 0 to 1; a value beyond an end is drawn at that end.
    fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        if self.logarithmic {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    pub fn label(&self, value: f64) -> String {
        (self.label)(value)
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        // `last` is a unit too. Without it, columns of whole pixels would drift by one unit from the first to the last:
        // half of them would lie between two pixels, and look paler.
        let units = f64::from(last - first + (last - first).signum());
        (first + (self.at(*value) * units).round() as i32).clamp(first.min(last), first.max(last))
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

/// The range of positive values, if there are any.
pub fn positive_range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite() && *value > 0.0).fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

pub fn duration(ns: f64) -> String {
    if ns == 0.0 { "0".into() } else { Nanoseconds(ns).to_string() }
}

/// 1, 10 k, 7.6 M.
pub fn count(value: f64) -> String {
    let (scaled, unit) = match value {
        value if value >= 0.9995e6 => (value / 1e6, " M"),
        value if value >= 0.9995e3 => (value / 1e3, " k"),
        value => (value, ""),
    };
    format!("{}{unit}", (scaled * 10.0).round() / 10.0)
}

/// A share as `1 in N`: 0.001 is `1 in 1 k`.
pub fn one_in(share: f64) -> String {
    if share > 0.9995 { "all".into() } else { format!("1 in {}", count(1.0 / share)) }
}

/// Three significant digits, without trailing zeros.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 999.5 {
        return format!("{} %", count(percent));
    }
    let digits = if percent > 0.0 { (2.0 - percent.log10().floor()).clamp(0.0, 12.0) as usize } else { 0 };
    let text = format!("{percent:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// In percent, or as a multiple for large slowdowns.
pub fn slower(slowdown: f64) -> String {
    if slowdown < 9.995 {
        format!("{} slower", percent(slowdown))
    } else {
        format!("{} times as long", count(1.0 + slowdown))
    }
}

pub fn hertz(value: f64) -> String {
    if value >= 9999.5 { format!("{} kHz", value / 1e3) } else { format!("{value} Hz") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().map(|value| axis.label(*value)).collect()
    }

    /// Columns as wide as a pixel, which is two units: each has its middle at an odd unit, in both directions.
    #[test]
    fn columns_do_not_drift() {
        for count in [2, 7, 866] {
            let axis = Axis::linear("time", 12.5, 5, duration);
            let middle = |column: i32| 12.5 * (f64::from(column) + 0.5) / f64::from(count);
            let (right, left) = ((192, 191 + 2 * count), (191 + 2 * count, 192));
            let positions: Vec<i32> = (0..count).map(|column| axis.map(&middle(column), right)).collect();
            assert_eq!(positions, (0..count).map(|column| 193 + 2 * column).collect::<Vec<_>>());
            let positions: Vec<i32> = (0..count).map(|column| axis.map(&middle(column), left)).collect();
            assert!(positions.windows(2).all(|pair| pair[0] - pair[1] == 2), "{positions:?}");
            assert_eq!((axis.map(&0.0, right), axis.map(&99.0, right)), (192, 191 + 2 * count));
        }
    }

    #[test]
    fn decades_hold_their_values() {
        let axis = Axis::decades("noise", (1000.0, 2.5e5), 8, duration);
        assert_eq!(labels(&axis), ["1 us", "10 us", "100 us", "1 ms"]);
        assert_eq!([0.0, 1.0, 1e4, 1e99].map(|value| axis.map(&value, (900, 0))), [900, 900, 600, 0]);
        assert_eq!(
            labels(&Axis::decades("share", (1e-6, 1.0), 4, one_in)),
            ["1 in 1 M", "1 in 10 k", "1 in 100", "all"]
        );
        assert_eq!(labels(&Axis::decades("slower", (1e-4, 2e-2), 9, percent)), ["0.01 %", "0.1 %", "1 %", "10 %"]);
        assert_eq!(Axis::decades("one value", (10.0, 10.0), 8, count).range(), 10.0..100.0);
    }

    #[test]
    fn round_steps() {
        assert_eq!(labels(&Axis::linear("time", 20e9, 5, duration)), ["0", "5 s", "10 s", "15 s", "20 s"]);
        assert_eq!(labels(&Axis::linear("frequency", 500.0, 5, hertz)).len(), 6);
        assert_eq!(Axis::linear("nothing", 0.0, 5, duration).range(), 0.0..1.0);
    }

    #[test]
    fn ranges_are_of_positive_values() {
        assert_eq!(positive_range([0.0, 3.0, -1.0, f64::NAN, 2.0].into_iter()), Some((2.0, 3.0)));
        assert_eq!(positive_range([0.0].into_iter()), None);
        assert_eq!(
            [0.0, 1.234e-6, 0.1951, 3.944, 99.0].map(percent),
            ["0 %", "0.000123 %", "19.5 %", "394 %", "9.9 k %"]
        );
        assert_eq!([slower(0.1951), slower(8424.0)], ["19.5 % slower", "8.4 k times as long"]);
        assert_eq!([count(7_630_848.0), count(1e6), count(512.0)], ["7.6 M", "1 M", "512"]);
    }
}
