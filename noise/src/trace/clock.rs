// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Converts between two clocks. The kernel reports times of its monotonic clock; the measuring loops read the time
//! source directly. Several times a second both are read together, and times between two such points are interpolated:
//! time protocols change the rate of the monotonic clock, but only slowly.

use nix::time::{ClockId, clock_gettime};

use crate::Result;
use crate::measure::sampling;

/// One moment on both clocks.
#[derive(Debug, Clone, Copy)]
struct Point {
    monotonic_ns: u64,
    ticks: u64,
}

/// Points in order of time.
#[derive(Debug, Default)]
pub struct Clock(Vec<Point>);

impl Clock {
    /// Adds a point: the fastest of several readings.
    pub fn note(&mut self) -> Result<()> {
        let mut best: Option<(u64, Point)> = None;
        for _ in 0..8 {
            let before = sampling::ticks();
            let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
            let took = sampling::ticks() - before;
            let monotonic_ns = now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64;
            if best.is_none_or(|(shortest, _)| took < shortest) {
                best = Some((took, Point { monotonic_ns, ticks: before + took / 2 }));
            }
        }
        self.0.extend(best.map(|(_, point)| point));
        Ok(())
    }

    /// The time source's reading at a time of the kernel: interpolated between the two nearest points, or extrapolated
    /// from the first or last two.
    pub fn ticks(&self, monotonic_ns: u64) -> i64 {
        let after = self.0.partition_point(|point| point.monotonic_ns <= monotonic_ns);
        let second = after.clamp(1, self.0.len().saturating_sub(1).max(1));
        let (Some(first), Some(second)) = (self.0.get(second - 1), self.0.get(second)) else {
            return self.0.first().map_or(0, |only| only.ticks as i64);
        };
        let rate = (second.ticks - first.ticks) as f64 / (second.monotonic_ns - first.monotonic_ns).max(1) as f64;
        first.ticks as i64 + ((monotonic_ns as f64 - first.monotonic_ns as f64) * rate) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_and_beyond_points() {
        let point = |monotonic_ns, ticks| Point { monotonic_ns, ticks };
        let clock = Clock(vec![point(1000, 5000), point(2000, 7000), point(3000, 10_000)]);
        let expected = [(1000, 5000), (1500, 6000), (2000, 7000), (2500, 8500), (4000, 13_000), (500, 4000)];
        for (monotonic_ns, ticks) in expected {
            assert_eq!(clock.ticks(monotonic_ns), ticks, "{monotonic_ns}");
        }
        assert_eq!(Clock(vec![point(1, 9)]).ticks(100), 9);
    }

    #[test]
    fn points_are_in_order() {
        let mut clock = Clock::default();
        clock.note().and_then(|()| clock.note()).expect("two points");
        assert!(clock.0[0].ticks < clock.0[1].ticks && clock.0[0].monotonic_ns < clock.0[1].monotonic_ns);
    }
}
