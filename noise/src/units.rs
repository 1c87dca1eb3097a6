// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Durations, and noise described by durations, in the form in which a person writes and reads them.

use std::fmt;
use std::str::FromStr;

/// A duration in nanoseconds: `250us`, `6.5ms`, `1h`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Nanoseconds(pub f64);

const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

impl Nanoseconds {
    pub fn seconds(self) -> f64 {
        self.0 / 1e9
    }

    /// As a whole number, at least 1.
    pub fn whole(self) -> u64 {
        (self.0.round() as u64).max(1)
    }
}

/// A rate or a probability: at most four digits that count, with an exponent below 0.01.
pub fn rate(value: f64) -> String {
    digits(value, -2..4)
}

/// A number with at most four digits that count, in the form that is shorter to read.
pub fn four_digits(value: f64) -> String {
    digits(value, -4..4)
}

/// With an exponent unless it is one of `plain`.
fn digits(value: f64, plain: std::ops::Range<i32>) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    // Rounded first: 999.97 has the exponent of 1000.
    let rounded = format!("{value:.3e}");
    let exponent: i32 = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if !plain.contains(&exponent) {
        let (digits, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
        return format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let text = format!("{value:.places$}", places = (3 - exponent) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A duration as a word for `--duration`, rounded up: `302s`, `15min`, `84h`.
pub fn rounded_up(ns: f64) -> String {
    let (unit, scale) = match ns {
        ns if ns <= 600e9 => ("s", 1e9),
        ns if ns <= 36_000e9 => ("min", 60e9),
        _ => ("h", 3600e9),
    };
    // Less than rounding of the numbers behind it does not add a whole unit.
    format!("{}{unit}", (ns / scale - 1e-9).ceil().max(1.0))
}

impl FromStr for Nanoseconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        tacet_words::values::nanoseconds(text).map(Nanoseconds)
    }
}

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = UNITS.iter().rev().find(|(_, scale)| self.0.abs() >= *scale).unwrap_or(&UNITS[0]);
        let value = self.0 / at.1;
        // Whole numbers of a unit stay what they are, whatever their digits.
        let text = if value.abs() >= 1000.0 { format!("{value:.0}") } else { four_digits(value) };
        write!(f, "{text} {}", at.0)
    }
}

/// Noise of one length that occurs once per interval on each thread: `1ms@500s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recurring {
    pub length: Nanoseconds,
    pub interval: Nanoseconds,
}

impl FromStr for Recurring {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (length, interval) =
            text.split_once('@').ok_or_else(|| format!("`{text}` is not LENGTH@INTERVAL, for example 1ms@500s"))?;
        let noise = Recurring { length: length.parse()?, interval: interval.parse()? };
        if noise.length.0 >= noise.interval.0 {
            return Err(format!(
                "`{text}`: noise of {} cannot begin every {}: the length must be shorter than the interval",
                noise.length, noise.interval
            ));
        }
        Ok(noise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed() {
        for (text, ns) in
            [("250us", 250e3), ("6.5ms", 6.5e6), ("1ns", 1.0), ("2µs", 2e3), ("1h", 3600e9), ("3min", 180e9)]
        {
            assert_eq!(text.parse(), Ok(Nanoseconds(ns)), "{text}");
        }
        for text in ["", "5", "ms", "-1ms", "0s", "1 ms", "1e999s", "nans", "infs"] {
            assert!(text.parse::<Nanoseconds>().is_err_and(|error| error.contains(text)), "{text}");
        }
    }

    #[test]
    fn durations_are_readable() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (999.0, "999 ns"),
            (50_440.0, "50.44 us"),
            (6.5e6, "6.5 ms"),
            (123_456.0, "123.5 us"),
            (72e12, "72000 s"),
        ] {
            assert_eq!(Nanoseconds(ns).to_string(), text);
        }
    }

    #[test]
    fn a_rate_has_an_exponent_below_a_hundredth() {
        assert_eq!([0.0, 1.0, 4.7832, 0.01681, 0.001, 1e-5].map(rate), ["0", "1", "4.783", "0.01681", "1e-3", "1e-5"]);
    }

    #[test]
    fn no_more_digits_than_four() {
        for (value, text) in [
            (0.0, "0"),
            (19.508_46, "19.51"),
            (0.000_123_456, "0.0001235"),
            (0.000_012, "1.2e-5"),
            (999.97, "1000"),
            (9999.6, "1e4"),
            (12_345.678, "1.235e4"),
            (100.0, "100"),
            (-2.5, "-2.5"),
            (1e-300, "1e-300"),
        ] {
            assert_eq!(four_digits(value), text);
        }
    }

    #[test]
    fn words_for_a_duration() {
        for (ns, word) in [(1.0, "1s"), (2e9, "2s"), (300.2e9, "301s"), (601e9, "11min"), (1e6 * 3600e9, "1000000h")] {
            assert_eq!(rounded_up(ns), word);
            assert!(word.parse::<Nanoseconds>().is_ok_and(|parsed| parsed.0 >= ns));
        }
    }

    #[test]
    fn recurring_noise() {
        let noise: Recurring = "1ms@500s".parse().expect("the paper's example");
        assert_eq!((noise.length.0, noise.interval.0), (1e6, 500e9));
        assert!("1ms".parse::<Recurring>().is_err() && "1ms@".parse::<Recurring>().is_err());
        for text in ["500s@1ms", "1ms@1000us"] {
            assert!(
                text.parse::<Recurring>().is_err_and(|error| error.contains("shorter than the interval")),
                "{text}"
            );
        }
    }
}
