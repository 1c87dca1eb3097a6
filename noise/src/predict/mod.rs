// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Predicts the slowdown of a bulk-synchronous program at scale from its noise.

pub mod equation;
pub mod interval;
pub mod simulate;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Gamma};

use crate::analyse::Group;
use crate::units::{Nanoseconds, Recurring};
use equation::slowdown;
use simulate::Simulation;

/// A prediction and how it changes with the number of threads and with the synchronisation interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    pub method: &'static str,
    pub threads: u64,
    pub interval_ns: f64,
    pub slowdown: f64,
    /// The ends of its interval, 95 %: so many events of each noise say how often it comes. `None` for noise that was
    /// not measured. Noise that the measurement did not see is in neither.
    pub slowdown_low: Option<f64>,
    pub slowdown_high: Option<f64>,
    /// The noise that causes it, as an index into `noise`.
    pub due_to: Option<usize>,
    pub noise: Vec<Noise>,
    pub by_threads: Vec<(u64, f64)>,
    /// The ends of the intervals of `by_threads`; empty for noise that was not measured.
    pub by_threads_between: Vec<(u64, f64, f64)>,
    /// Pairs of an interval in nanoseconds and the slowdown.
    pub by_interval: Vec<(f64, f64)>,
    pub simulation: Option<Simulation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Noise {
    pub length_ns: f64,
    pub interval_ns: f64,
    /// How often it was seen, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

impl From<Recurring> for Noise {
    fn from(noise: Recurring) -> Noise {
        Noise { length_ns: noise.length.0, interval_ns: noise.interval.0, count: None }
    }
}

/// A measured group becomes noise of its mean length: Eq. 1 has one length for a group.
impl From<&Group> for Noise {
    fn from(group: &Group) -> Noise {
        Noise { length_ns: group.mean_ns, interval_ns: group.interval_ns, count: Some(group.count) }
    }
}

/// Eq. 1 of paper 000.
pub fn predict(noise: &[Noise], threads: u64, interval: Nanoseconds) -> Prediction {
    let total = |threads, interval_ns| slowdown(noise, threads, interval_ns).0;
    let (slowdown, due_to) = slowdown(noise, threads, interval.0);
    let (rarer, oftener) = (at_end(noise, |(low, _)| low), at_end(noise, |(_, high)| high));
    let between = |threads, interval_ns| {
        let end = |noise: &Option<Vec<Noise>>| Some(equation::slowdown(noise.as_ref()?, threads, interval_ns).0);
        Some((end(&rarer)?, end(&oftener)?))
    };
    let by_threads = (0..=23).map(|power| 1u64 << power).filter(|count| *count < threads).chain([threads]);
    let by_threads_between = by_threads.clone();
    let scales = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
    Prediction {
        method: "equation 1 of Gerofi et al., SC '21: independent noise, global synchronisation",
        threads,
        interval_ns: interval.0,
        slowdown,
        slowdown_low: between(threads, interval.0).map(|(low, _)| low),
        slowdown_high: between(threads, interval.0).map(|(_, high)| high),
        due_to,
        noise: noise.to_vec(),
        by_threads: by_threads.map(|threads| (threads, total(threads, interval.0))).collect(),
        by_threads_between: by_threads_between
            .filter_map(|threads| between(threads, interval.0).map(|(low, high)| (threads, low, high)))
            .collect(),
        simulation: None,
        by_interval: scales.map(|scale| (interval.0 * scale, total(threads, interval.0 * scale))).to_vec(),
    }
}

/// The noise at one end of what its counts allow; `None` if one of them was not measured.
fn at_end(noise: &[Noise], end: impl Fn((f64, f64)) -> f64) -> Option<Vec<Noise>> {
    let one = |noise: &Noise| {
        let count = noise.count?;
        Some(Noise { interval_ns: noise.interval_ns * count as f64 / end(events(count)), ..*noise })
    };
    noise.iter().map(one).collect()
}

/// How many events to expect where this many were seen: 95 %, exact for Poisson's distribution (Garwood 1936).
fn events(count: u64) -> (f64, f64) {
    let seen = count as f64;
    if count > 1000 {
        return (seen - 1.96 * seen.sqrt(), seen + 1.96 * seen.sqrt());
    }
    let quantile = |shape: f64, share: f64| Gamma::new(shape, 1.0).map_or(shape, |of| of.inverse_cdf(share));
    (if count == 0 { 0.0 } else { quantile(seen, 0.025) }, quantile(seen + 1.0, 0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends from tables of Poisson's distribution.
    #[test]
    fn few_events_are_a_wide_interval() {
        for (count, low, high) in [(0, 0.0, 3.689), (1, 0.0253, 5.572), (10, 4.795, 18.39), (1000, 938.97, 1063.95)] {
            let found = events(count);
            assert!((found.0 - low).abs() < 2e-3 * low.max(0.1) && (found.1 - high).abs() < 2e-3 * high, "{found:?}");
        }
        assert!((events(1001).0 - events(1000).0).abs() < 3.0);
    }

    /// One event of 748 us in 20 s, for 2,000 threads that meet each 250 us.
    #[test]
    fn one_event_is_not_a_rate() {
        let one = Noise { length_ns: 748e3, interval_ns: 20e9, count: Some(1) };
        let found = predict(&[one], 2000, Nanoseconds(250e3));
        let (low, high) = (found.slowdown_low.expect("low"), found.slowdown_high.expect("high"));
        // The threads are hit with a probability of about 2,000 * 250 us / 20 s.
        let by_hand = |events: f64| (1.0 - (1.0 - events * 250e-6 / 20.0f64).powi(2000)) * 748.0 / 250.0;
        assert!((low - by_hand(0.0253)).abs() < 1e-4 && (high - by_hand(5.572)).abs() < 1e-4, "{low} {high}");
        assert!(low < found.slowdown / 30.0 && found.slowdown * 5.0 < high);
        assert_eq!(found.by_threads_between.last(), Some(&(2000, low, high)));
        let given = predict(&[Noise { count: None, ..one }], 2000, Nanoseconds(250e3));
        assert_eq!((given.slowdown_low, given.slowdown_high, given.by_threads_between.len()), (None, None, 0));
    }

    #[test]
    fn curves_end_at_the_requested_size() {
        let noise = [Noise { length_ns: 1e6, interval_ns: 500e9, count: None }];
        let prediction = predict(&noise, 100_000, Nanoseconds(250e3));
        assert_eq!(prediction.by_threads.last(), Some(&(100_000, prediction.slowdown)));
        assert!(prediction.by_threads.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        assert!(prediction.by_interval.contains(&(250e3, prediction.slowdown)));
        assert_eq!(predict(&noise, 1, Nanoseconds(1.0)).by_threads.len(), 1);
    }
}
