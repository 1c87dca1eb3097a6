// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Durations, and noise described by durations, in the form in which a person writes and reads them.

use std::fmt;
use std::str::FromStr;

/// A duration in nanoseconds: `250us`, `6.5ms`, `1h`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Nanoseconds(pub f64);

const UNITS: [(&str, f64); 6] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];

impl Nanoseconds {
    pub fn seconds(self) -> f64 {
        self.0 / 1e9
    }

    /// As a whole number, at least 1.
    pub fn whole(self) -> u64 {
        (self.0.round() as u64).max(1)
    }
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
        let wanted = || format!("`{text}` is not a duration: write it as 250us, 6.5ms or 1h (ns, us, ms, s, min, h)");
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == 'µ');
        let unit = text.get(digits.len()..).unwrap_or_default().replace('µ', "u");
        let scale = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wanted)?.1;
        let number: f64 = digits.parse().map_err(|_| wanted())?;
        let value = number * scale;
        if value.is_finite() && value > 0.0 { Ok(Nanoseconds(value)) } else { Err(wanted()) }
    }
}

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = UNITS.iter().take(4).rev().find(|(_, scale)| self.0.abs() >= *scale).unwrap_or(&UNITS[0]);
        let value = self.0 / at.1;
        let digits = if value.abs() >= 100.0 { 0 } else { 3 };
        let text = format!("{value:.digits$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
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
        Ok(Recurring { length: length.parse()?, interval: interval.parse()? })
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
        for text in ["", "5", "ms", "-1ms", "0s", "1 ms", "1e999s", "nans", "1m", "infs"] {
            assert!(text.parse::<Nanoseconds>().is_err_and(|error| error.contains(text)), "{text}");
        }
    }

    #[test]
    fn durations_are_readable() {
        for (ns, text) in
            [(0.0, "0 ns"), (999.0, "999 ns"), (50_440.0, "50.44 us"), (6.5e6, "6.5 ms"), (180e9, "180 s")]
        {
            assert_eq!(Nanoseconds(ns).to_string(), text);
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
    }
}
