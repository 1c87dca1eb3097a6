// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which of two sides has more long noises: of the longest noises of both together, how many are on each side.
//!
//! Owns what the tail of a comparison is: the longest thousandth, but at least [`LEAST`] samples. `compare` calls it. It
//! takes samples as independent of each other, and never sees records or units.

use super::dominance::Counts;

/// So few events can show a difference, if all are on one side.
pub const LEAST: u64 = 20;
/// Of the samples of both sides together.
const SHARE: u64 = 1000;
/// 99 % of the normal distribution, both sides together: noise comes in bursts, so the samples are worth less.
const NORMAL: f64 = 2.575_829;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exceedance {
    /// The least length of the tail.
    pub from: u64,
    /// How often a sample of this side is in the tail, over the same of the other side; infinite if none of the other is.
    pub ratio: f64,
    /// Its interval (Wilson's, of the share of the tail that is on this side).
    pub interval: (f64, f64),
}

/// `None` if a side is empty, if there are too few samples, or if there is no noise.
pub fn exceedance(here: &Counts, there: &Counts) -> Option<Exceedance> {
    let total = |side: &Counts| side.values().sum::<u64>();
    let (n, m) = (total(here), total(there));
    let wanted = LEAST.max((n + m) / SHARE);
    if n == 0 || m == 0 || n + m < 2 * wanted {
        return None;
    }
    let mut values: Vec<u64> = here.keys().chain(there.keys()).copied().collect();
    values.sort_unstable_by(|a, b| b.cmp(a));
    values.dedup();
    let (mut of_here, mut of_there, mut from) = (0u64, 0u64, 0);
    for value in values.into_iter().take_while(|value| *value > 0) {
        if of_here + of_there >= wanted {
            break;
        }
        of_here += here.get(&value).copied().unwrap_or(0);
        of_there += there.get(&value).copied().unwrap_or(0);
        from = value;
    }
    if of_here + of_there == 0 {
        return None;
    }
    let share = |part: f64| if part >= 1.0 { f64::INFINITY } else { part / (1.0 - part) * (m as f64 / n as f64) };
    let count = (of_here + of_there) as f64;
    let (low, high) = wilson(of_here as f64 / count, count);
    Some(Exceedance { from, ratio: share(of_here as f64 / count), interval: (share(low), share(high)) })
}

fn wilson(share: f64, count: f64) -> (f64, f64) {
    let square = NORMAL * NORMAL / count;
    let middle = (share + square / 2.0) / (1.0 + square);
    let half = NORMAL / (1.0 + square) * (share * (1.0 - share) / count + square / (4.0 * count)).sqrt();
    ((middle - half).max(0.0), if share >= 1.0 { 1.0 } else { (middle + half).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // 1,000 samples each; the 20 longest are 15 here and 5 there.
        let here = Counts::from([(1, 985), (90, 15)]);
        let there = Counts::from([(2, 995), (80, 5)]);
        let found = exceedance(&here, &there).expect("a tail");
        assert_eq!((found.from, found.ratio), (80, 3.0));
        // Wilson: z^2 / n = 0.33174, middle 0.68772, half 0.22491.
        assert!((found.interval.0 - 0.8615).abs() < 1e-3 && (found.interval.1 - 10.446).abs() < 0.01, "{found:?}");
        let all = exceedance(&Counts::from([(1, 980), (90, 20)]), &Counts::from([(2, 1000)])).expect("a tail");
        assert!(all.ratio.is_infinite() && all.interval.0 > 2.9 && all.interval.1.is_infinite(), "{all:?}");
    }

    /// Twice as many samples have twice as many in the tail.
    #[test]
    fn a_longer_record_is_not_a_noisier_one() {
        let (long, short) = (Counts::from([(1, 1960), (90, 40)]), Counts::from([(1, 980), (90, 20)]));
        let found = exceedance(&long, &short).expect("a tail");
        assert!((found.ratio - 1.0).abs() < 1e-12 && found.interval.0 < 1.0 && found.interval.1 > 1.0);
    }

    #[test]
    fn little_shows_nothing() {
        assert_eq!(exceedance(&Counts::new(), &Counts::from([(1, 100)])), None);
        assert_eq!(exceedance(&Counts::from([(1, 10)]), &Counts::from([(9, 10)])), None);
        assert_eq!(exceedance(&Counts::from([(0, 100)]), &Counts::from([(0, 100)])), None);
        let one = exceedance(&Counts::from([(1, 999), (748_000, 1)]), &Counts::from([(1, 1000)])).expect("a tail");
        assert!(one.interval.0 < 1.0 && one.interval.1 > 1.0, "one event is not a rate: {one:?}");
    }
}
