// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The words for sizes, times, counts and CPUs, the same in every command.
//!
//! Called as value parsers of flags, and for the configuration file. An error names the text and a right one. Nothing
//! here may round a size or a count.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::time::Duration;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};

/// More than any kernel is built for.
const LARGEST_CPU: u32 = 8191;
const SIZES: [(&str, u32); 5] = [("", 0), ("K", 10), ("M", 20), ("G", 30), ("T", 40)];
/// The longest units first: `ms` is not `m` and a rest.
const TIMES: [(&str, f64); 9] = [
    ("min", 60e9),
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
];

/// Any word; these are what help and completions offer. For flags whose other words are read later.
#[derive(Clone)]
pub struct Offering(pub &'static [&'static str]);

impl TypedValueParser for Offering {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

/// Bytes: `4096`, `512M`, `1G`, `1Gi`, `1GiB`; units are powers of 1024.
pub fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let fail = |cause: &str| format!("size `{text}`: {cause}; write it like 512M, 1G or 2MiB");
    let (number, unit) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    if number.is_empty() {
        return Err(fail("it does not start with a whole number"));
    }
    let number: u64 = number.parse().map_err(|_| fail("the number is too large"))?;
    let shift = size_shift(unit).ok_or_else(|| fail("unknown unit"))?;
    number.checked_mul(1 << shift).ok_or_else(|| fail("the number is too large"))
}

/// `M`, `m`, `MB`, `Mi` and `MiB` are the same; `B` alone is bytes.
fn size_shift(unit: &str) -> Option<u32> {
    let upper = unit.to_ascii_uppercase();
    let base = match upper.strip_suffix('B').unwrap_or(&upper) {
        "I" => return None,
        base => base.strip_suffix('I').unwrap_or(base),
    };
    SIZES.iter().find(|(name, _)| *name == base).map(|(_, shift)| *shift)
}

/// Nanoseconds, more than 0: `250us`, `6.5ms`, `5m` or `5min`, `1h30m`.
pub fn nanoseconds(text: &str) -> Result<f64, String> {
    let wrong =
        || format!("`{text}` is not a duration: write it as 250us, 6.5ms, 5m or 1h30m (ns, us, ms, s, m, h, d)");
    let (mut sum, mut rest, mut shortest) = (0.0, text, f64::INFINITY);
    while !rest.is_empty() {
        let (number, unit) = rest.split_at(rest.bytes().take_while(|c| c.is_ascii_digit() || *c == b'.').count());
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let (name, scale) = TIMES.iter().find(|(name, _)| unit.starts_with(name)).ok_or_else(wrong)?;
        // `1m30m` is a slip
        if *scale >= shortest {
            return Err(wrong());
        }
        (sum, rest, shortest) = (sum + number * scale, &unit[name.len()..], *scale);
    }
    if sum > 0.0 && sum.is_finite() { Ok(sum) } else { Err(wrong()) }
}

pub fn duration(text: &str) -> Result<Duration, String> {
    let ns = nanoseconds(text)?;
    Duration::try_from_secs_f64(ns / 1e9).map_err(|_| format!("`{text}` is too long"))
}

/// As `duration`; a number alone is seconds, as these flags had it before.
pub fn duration_or_seconds(text: &str) -> Result<Duration, String> {
    let alone = text.bytes().all(|c| c.is_ascii_digit());
    duration(&if alone { format!("{text}s") } else { text.to_owned() })
}

/// At least 1: `100000` or `1e5`.
pub fn count(text: &str) -> Result<u64, String> {
    let wanted = || format!("`{text}` is not a count: write it as 100000 or 1e5, at least 1");
    if let Ok(count) = text.parse::<u64>() {
        return if count > 0 && !text.starts_with('+') { Ok(count) } else { Err(wanted()) };
    }
    let digits = |c: char| c.is_ascii_digit() || ".eE+".contains(c);
    let value: f64 = text.parse().map_err(|_| wanted())?;
    // Whole numbers up to here are exact.
    let whole = value.fract() == 0.0 && (1.0..=(1u64 << 53) as f64).contains(&value);
    if whole && text.chars().all(digits) { Ok(value as u64) } else { Err(wanted()) }
}

/// A count for a smaller number.
pub fn small_count<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    N::try_from(count(text)?).map_err(|_| format!("`{text}` is too many"))
}

/// CPUs: `2-3`, `1,4-6`, `8-14:2`; at least one.
pub fn cpus(text: &str) -> Result<BTreeSet<u32>, String> {
    let mut cpus = BTreeSet::new();
    let text = text.trim();
    for item in text.split(',') {
        let range =
            range(item).map_err(|cause| format!("CPU list `{text}`: {cause}; write it like 2-3 or 1,4-6,8-14:2"));
        let (first, last, step) = range?;
        cpus.extend((first..=last).step_by(step));
    }
    Ok(cpus)
}

fn range(item: &str) -> Result<(u32, u32, usize), String> {
    let (range, step) = match item.split_once(':') {
        Some((range, step)) => (range, number(step)?),
        None => (item, 1),
    };
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None if item.contains(':') => return Err(format!("`{item}` has a stride but no range")),
        None => (number(range)?, number(range)?),
    };
    if first > last {
        return Err(format!("the range `{range}` runs backwards"));
    }
    if step == 0 {
        return Err(format!("the stride of `{item}` is 0"));
    }
    if last > LARGEST_CPU {
        return Err(format!("CPU {last} is beyond the largest that a kernel has, {LARGEST_CPU}"));
    }
    Ok((first, last, step as usize))
}

fn number(text: &str) -> Result<u32, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = if digits { text.parse().ok() } else { None };
    value.ok_or_else(|| format!("`{text}` is not a CPU number"))
}

/// A value parser that checks the text and leaves it: for flags that are also keys of the configuration file.
pub fn checked<T>(check: fn(&str) -> Result<T, String>) -> impl Fn(&str) -> Result<String, String> + Clone {
    move |text| check(text).map(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("4096", 4096),
            ("4096B", 4096),
            ("1K", 1 << 10),
            ("512M", 512 << 20),
            ("1G", 1 << 30),
            ("1Gi", 1 << 30),
            ("1GiB", 1 << 30),
            ("2mb", 2 << 20),
            ("0", 0),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "-1G", "1.5G", "1Q", "1iB", "1i", "1 G", "99999999999999999999", "17179869184T"] {
            assert!(size(text).is_err_and(|error| error.starts_with("size `")), "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, ns) in [
            ("250us", 250e3),
            ("6.5ms", 6.5e6),
            ("2µs", 2e3),
            ("5m", 300e9),
            ("5min", 300e9),
            ("1h30m", 5400e9),
            ("1m30s", 90e9),
            ("1d", 86_400e9),
        ] {
            assert_eq!(nanoseconds(text), Ok(ns), "{text}");
        }
        for text in ["", "5", "ms", "-1ms", "0s", "1 ms", "nans", "1m1h", "1s1s", "1h30", "1..2s", "infs"] {
            assert!(nanoseconds(text).is_err_and(|error| error.contains("1h30m")), "{text}");
        }
        assert_eq!(duration_or_seconds("90"), duration("1m30s"));
    }

    #[test]
    fn counts() {
        for (text, value) in [("1", 1), ("100000", 100_000), ("1e5", 100_000), ("7.63e6", 7_630_000)] {
            assert_eq!(count(text), Ok(value), "{text}");
        }
        for text in ["", "0", "-1", "+1", "1.5", "1e20", "inf", "1e5x"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert!(small_count::<u16>("1e5").is_err() && small_count::<u32>("1e5") == Ok(100_000));
    }

    #[test]
    fn cpu_lists() {
        let list = |text: &str| cpus(text).map(|cpus| cpus.into_iter().collect::<Vec<u32>>());
        assert_eq!(list("3,1,1-2,8-14:3"), Ok(vec![1, 2, 3, 8, 11, 14]));
        for text in ["", "a", "1-", "-1", "3-2", "1,,2", "1;2", "99999", "0-4:0", "4:2", "+1"] {
            assert!(cpus(text).is_err_and(|error| error.starts_with("CPU list `")), "{text}");
        }
    }
}
