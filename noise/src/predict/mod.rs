// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Predicts the slowdown of a bulk-synchronous program at scale from its noise.

pub mod equation;
pub mod interval;
pub mod simulate;

use serde::Serialize;

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
    /// The noise that causes it, as an index into `noise`.
    pub due_to: Option<usize>,
    pub noise: Vec<Noise>,
    pub by_threads: Vec<(u64, f64)>,
    /// Pairs of an interval in nanoseconds and the slowdown.
    pub by_interval: Vec<(f64, f64)>,
    pub simulation: Option<Simulation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Noise {
    pub length_ns: f64,
    pub interval_ns: f64,
}

impl From<Recurring> for Noise {
    fn from(noise: Recurring) -> Noise {
        Noise { length_ns: noise.length.0, interval_ns: noise.interval.0 }
    }
}

/// A measured group becomes noise of its mean length: Eq. 1 has one length for a group.
impl From<&Group> for Noise {
    fn from(group: &Group) -> Noise {
        Noise { length_ns: group.mean_ns, interval_ns: group.interval_ns }
    }
}

/// Eq. 1 of paper 000.
pub fn predict(noise: &[Noise], threads: u64, interval: Nanoseconds) -> Prediction {
    let total = |threads, interval_ns| slowdown(noise, threads, interval_ns).0;
    let (slowdown, due_to) = slowdown(noise, threads, interval.0);
    let by_threads = (0..=23).map(|power| 1u64 << power).filter(|count| *count < threads).chain([threads]);
    let scales = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
    Prediction {
        method: "equation 1 of Gerofi et al., SC '21: independent noise, global synchronisation",
        threads,
        interval_ns: interval.0,
        slowdown,
        due_to,
        noise: noise.to_vec(),
        by_threads: by_threads.map(|threads| (threads, total(threads, interval.0))).collect(),
        simulation: None,
        by_interval: scales.map(|scale| (interval.0 * scale, total(threads, interval.0 * scale))).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_end_at_the_requested_size() {
        let noise = [Noise { length_ns: 1e6, interval_ns: 500e9 }];
        let prediction = predict(&noise, 100_000, Nanoseconds(250e3));
        assert_eq!(prediction.by_threads.last(), Some(&(100_000, prediction.slowdown)));
        assert!(prediction.by_threads.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        assert!(prediction.by_interval.contains(&(250e3, prediction.slowdown)));
        assert_eq!(predict(&noise, 1, Nanoseconds(1.0)).by_threads.len(), 1);
    }
}
