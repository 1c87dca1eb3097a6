// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lines that a person sees while a measurement runs.

use std::fmt::Write;
use std::time::Duration;

use super::ns;
use crate::measure::live::Tally;

/// The most rows of the histogram, so that the view fits on a small terminal; the longest detours have the last row.
const ROWS: usize = 10;
const WIDTH: u64 = 30;

/// The time left, the counts, and the histogram.
pub fn live(tally: &Tally, left: Duration) -> String {
    let mut text = format!("{} s left, {} samples, {} detours", left.as_secs(), tally.samples, tally.detours);
    if let Some((largest, cpu)) = tally.largest {
        let _ = write!(text, ", the largest {} on CPU {cpu}", ns(largest));
    }
    let mut rows = tally.histogram();
    let rest: u64 = rows.iter().skip(ROWS).map(|(_, count)| count).sum();
    rows.truncate(ROWS);
    if let Some((_, count)) = rows.last_mut() {
        *count += rest;
    }
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    for (least, count) in rows {
        // the smallest count is seen, too
        let bar = "#".repeat((count * WIDTH).div_ceil(most) as usize);
        let _ = write!(text, "\n{:>9} and more {bar:<30} {count}", ns(least));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::measure::live::{Scale, Stored};
    use crate::record::Method;

    /// Quanta of these lengths on CPU 3, in nanoseconds.
    fn tally(lengths: &[u64]) -> Tally {
        let mut now = 0;
        let ends = lengths.iter().map(|length| {
            now += length;
            AtomicU64::new(now)
        });
        let times: Vec<AtomicU64> = std::iter::once(AtomicU64::new(0)).chain(ends).collect();
        let mut tally = Tally::new(1000.0);
        let scale = Scale { method: Method::Fwq, ns_per_tick: 1.0, interval_ns: 0.0 };
        tally.look(scale, &[Stored { cpu: 3, numbers: &times }]);
        tally
    }

    #[test]
    fn by_hand() {
        assert_eq!(live(&Tally::new(1000.0), Duration::from_millis(9900)), "9 s left, 0 samples, 0 detours");
        let lengths = [500, 1500, 1600, 1700, 500, 14_500];
        let expected = "2 s left, 6 samples, 4 detours, the largest 14 us on CPU 3\n     \
                        1 us and more ############################## 3\n     \
                        3 us and more                                0\n    \
                        10 us and more ##########                     1";
        assert_eq!(live(&tally(&lengths), Duration::from_secs(2)), expected);
    }

    #[test]
    fn few_lines_whatever_the_lengths() {
        let lengths: Vec<u64> = std::iter::once(1).chain((3..12).map(|power| 10u64.pow(power) * 5)).collect();
        let text = live(&tally(&lengths), Duration::ZERO);
        assert_eq!(text.lines().count(), 1 + ROWS);
        assert!(text.ends_with(" 4"), "the last row has the rest: {text}");
    }
}
