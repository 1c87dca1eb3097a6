// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a measurement has found so far, for a person who watches it.
//!
//! The loops publish nothing for this: their samples, which they store in order, are read by another thread, which runs
//! on a CPU that is not measured. Only the record's summary is exact. Here the shortest quantum is the shortest so far,
//! and a detour has the whole distance between two readings.

use std::sync::atomic::{AtomicU64, Ordering};

use super::pages::EMPTY;
use crate::record::Method;

/// The most numbers of one CPU that one look reads. Samples that come faster are counted later, or not before the end.
const AT_ONCE: usize = 1 << 16;
/// Half decades from 1 ns to 1000 s.
const BUCKETS: usize = 25;

/// The samples of one CPU, in the loop's own form.
pub struct Stored<'a> {
    pub cpu: u32,
    pub numbers: &'a [AtomicU64],
}

/// What the loops' numbers mean.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub method: Method,
    pub ns_per_tick: f64,
    /// The interval of fixed time.
    pub interval_ns: f64,
}

/// Counts since the beginning.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    threshold_ns: f64,
    pub samples: u64,
    pub detours: u64,
    /// The longest noise, and its CPU.
    pub largest: Option<(f64, u32)>,
    buckets: [u64; BUCKETS],
    cursors: Vec<Cursor>,
}

/// How far the samples of one CPU were read.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    next: usize,
    /// The shortest quantum, or the most work of an interval.
    best: Option<u64>,
}

impl Tally {
    /// Noise of `threshold_ns` or more is a detour.
    pub fn new(threshold_ns: f64) -> Tally {
        Tally { threshold_ns, ..Tally::default() }
    }

    /// Reads what was stored since the last look. The same CPUs in the same order each time.
    pub fn look(&mut self, scale: Scale, stored: &[Stored]) {
        self.cursors.resize(stored.len(), Cursor::default());
        for (index, of) in stored.iter().enumerate() {
            let mut cursor = self.cursors[index];
            let end = cursor.next + AT_ONCE;
            while cursor.next < end {
                let Some((value, next)) = sample(scale.method, of.numbers, cursor.next) else { break };
                cursor.next = next;
                self.add(cursor.noise_ns(scale, value), of.cpu);
            }
            self.cursors[index] = cursor;
        }
    }

    fn add(&mut self, noise_ns: f64, cpu: u32) {
        self.samples += 1;
        if self.largest.is_none_or(|(largest, _)| noise_ns > largest) {
            self.largest = Some((noise_ns, cpu));
        }
        if noise_ns >= self.threshold_ns {
            self.detours += 1;
            let half_decades = (2.0 * noise_ns.max(1.0).log10()).floor() as usize;
            self.buckets[half_decades.min(BUCKETS - 1)] += 1;
        }
    }

    /// The detours by length: each bucket's least length and its count, from the first one that has any to the last.
    pub fn histogram(&self) -> Vec<(f64, u64)> {
        let all = self.buckets.iter().enumerate().map(|(index, count)| (least_ns(index), *count));
        let first = self.buckets.iter().position(|count| *count > 0).unwrap_or(BUCKETS);
        let last = self.buckets.iter().rposition(|count| *count > 0).unwrap_or(0);
        all.skip(first).take((last + 1).saturating_sub(first)).collect()
    }
}

impl Cursor {
    fn noise_ns(&mut self, scale: Scale, value: u64) -> f64 {
        let best = match scale.method {
            Method::Ftq => self.best.unwrap_or(0).max(value),
            _ => self.best.unwrap_or(u64::MAX).min(value),
        };
        self.best = Some(best);
        match scale.method {
            Method::Fwq => (value - best) as f64 * scale.ns_per_tick,
            Method::Ftq => (best - value) as f64 / best.max(1) as f64 * scale.interval_ns,
            Method::Selfish | Method::Latency => value as f64 * scale.ns_per_tick,
        }
    }
}

/// The sample at this place, if the loop has stored it whole, and the next one's place. Quanta are given by their
/// beginning and their end, detours by a time and a length.
fn sample(method: Method, numbers: &[AtomicU64], at: usize) -> Option<(u64, usize)> {
    let value = |index: usize| Some(numbers.get(index)?.load(Ordering::Relaxed)).filter(|value| *value != EMPTY);
    match method {
        Method::Fwq => Some((value(at + 1)?.saturating_sub(value(at)?), at + 1)),
        Method::Ftq => Some((value(at)?, at + 1)),
        Method::Selfish | Method::Latency => Some((value(at + 1)?, at + 2)),
    }
}

/// 1, 3, 10, 30 and so on: people read them more easily than the roots of ten.
fn least_ns(half_decades: usize) -> f64 {
    10f64.powi(half_decades as i32 / 2) * if half_decades.is_multiple_of(2) { 1.0 } else { 3.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(values: &[u64]) -> Vec<AtomicU64> {
        values.iter().map(|value| AtomicU64::new(*value)).collect()
    }

    fn scale(method: Method) -> Scale {
        Scale { method, ns_per_tick: 0.5, interval_ns: 1e6 }
    }

    /// The loop stores between two looks; nothing is counted twice, and nothing that is not there yet.
    #[test]
    fn what_was_stored_since_the_last_look() {
        let times = cells(&[0, 2000, 4000, EMPTY, EMPTY, EMPTY]);
        let mut tally = Tally::new(1000.0);
        let look = |tally: &mut Tally| tally.look(scale(Method::Fwq), &[Stored { cpu: 7, numbers: &times }]);
        look(&mut tally);
        assert_eq!((tally.samples, tally.detours, tally.largest), (2, 0, Some((0.0, 7))));
        times[3].store(4000 + 2000 + 8000, Ordering::Relaxed);
        times[4].store(4000 + 2000 + 8000 + 4000, Ordering::Relaxed);
        look(&mut tally);
        look(&mut tally);
        assert_eq!((tally.samples, tally.detours, tally.largest), (4, 2, Some((4000.0, 7))));
        assert_eq!(tally.histogram(), [(1000.0, 1), (3000.0, 1)]);
    }

    #[test]
    fn each_method_has_its_own_numbers() {
        let (counts, pairs) = (cells(&[100, 0, 50, EMPTY]), cells(&[5, 4000, 9, EMPTY, EMPTY, EMPTY]));
        let mut tally = Tally::new(1000.0);
        tally.look(scale(Method::Ftq), &[Stored { cpu: 1, numbers: &counts }]);
        assert_eq!((tally.samples, tally.detours, tally.largest), (3, 2, Some((1e6, 1))));
        let mut tally = Tally::new(1000.0);
        tally.look(scale(Method::Selfish), &[Stored { cpu: 1, numbers: &[] }, Stored { cpu: 2, numbers: &pairs }]);
        assert_eq!((tally.samples, tally.detours, tally.largest), (1, 1, Some((2000.0, 2))));
    }

    /// A look ends although a loop is faster than its reader.
    #[test]
    fn a_look_is_bounded() {
        let counts = cells(&vec![1; AT_ONCE + 5]);
        let mut tally = Tally::new(1000.0);
        let look = |tally: &mut Tally| tally.look(scale(Method::Ftq), &[Stored { cpu: 0, numbers: &counts }]);
        look(&mut tally);
        assert_eq!(tally.samples as usize, AT_ONCE);
        look(&mut tally);
        assert_eq!(tally.samples as usize, AT_ONCE + 5);
    }

    #[test]
    fn every_length_has_a_bucket() {
        let mut tally = Tally::new(0.0);
        for ns in [0.0, 1.0, 3.2, 9.9, 10.0, 1e13, f64::MAX] {
            tally.add(ns, 0);
        }
        let histogram = tally.histogram();
        assert_eq!((histogram.len(), histogram[0], histogram[2]), (BUCKETS, (1.0, 2), (10.0, 1)));
        assert_eq!(histogram.iter().map(|(_, count)| count).sum::<u64>(), tally.detours);
        assert!(Tally::new(1.0).histogram().is_empty());
    }
}
