// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The noise that one thread meets in one synchronisation interval, as a distribution.
//!
//! Noises come independently of each other (a Poisson process) with given or measured lengths; their sum in an interval
//! is compound Poisson. It is computed on a grid by Panjer's recursion (ASTIN Bulletin 12, 1981). All terms of the
//! recursion are positive, so even tiny probabilities keep their precision; with millions of threads these matter most.

use super::Noise;
use crate::Result;

const BINS: usize = 16384;
/// Noise beyond the grid has less than this probability in one interval of one thread.
const BEYOND: f64 = 1e-16;
/// The recursion begins with exp(-count), so an interval with more noises than this is computed by doubling a shorter
/// one.
const COUNT_LIMIT: f64 = 500.0;
const DOUBLINGS_LIMIT: u32 = 12;

/// The distribution of the sum of noise in an interval, in whole bins.
#[derive(Debug, Clone)]
pub struct IntervalNoise {
    bin_ns: f64,
    /// By number of bins: the probability of more.
    above: Vec<f64>,
}

impl IntervalNoise {
    /// The distribution for an interval of program time.
    pub fn new(noise: &[Noise], interval_ns: f64) -> Result<IntervalNoise> {
        let count: f64 = noise.iter().map(|noise| interval_ns / noise.interval_ns).sum();
        let bin_ns = reach(noise, interval_ns, count) / (BINS - 1) as f64;
        if count <= 0.0 || bin_ns <= 0.0 {
            return Ok(IntervalNoise { bin_ns: 1.0, above: vec![0.0] });
        }
        let doublings = (count / COUNT_LIMIT).log2().ceil().max(0.0) as u32;
        if doublings > DOUBLINGS_LIMIT {
            return Err(format!(
                "{count:.0} noises in an interval on each thread: too many, choose a shorter interval"
            )
            .into());
        }
        let lengths = spread(noise, interval_ns, bin_ns);
        let mut probability = panjer(&lengths, 1.0 / f64::from(1u32 << doublings));
        for _ in 0..doublings {
            probability = doubled(&probability);
        }
        // Sums from the end, where the terms are small, so the tail keeps its precision.
        let mut above = vec![0.0; BINS];
        for bin in (0..BINS - 1).rev() {
            above[bin] = above[bin + 1] + probability[bin + 1];
        }
        Ok(IntervalNoise { bin_ns, above: above.into_iter().map(|above| above.min(1.0)).collect() })
    }

    pub fn bin_ns(&self) -> f64 {
        self.bin_ns
    }

    pub fn bins(&self) -> usize {
        self.above.len()
    }

    /// The probability of any noise at all.
    pub fn any(&self) -> f64 {
        self.above.first().copied().unwrap_or(0.0)
    }

    /// The smallest number of bins that is exceeded with at most this probability.
    pub fn exceeded_with(&self, probability: f64) -> usize {
        self.above.partition_point(|above| *above > probability)
    }

    /// The mean of the longest noise of `threads` independent threads: the sum over x of 1 - F(x)^N.
    pub fn expected_longest_ns(&self, threads: u64) -> f64 {
        let exceeded = |above: &f64| -(threads as f64 * (-above).ln_1p()).exp_m1();
        self.bin_ns * self.above.iter().map(exceeded).sum::<f64>()
    }
}

/// A sum that is exceeded with less than [`BEYOND`]: Chernoff's bound, ln P(X > x) <= sum of c (e^(t l) - 1) - t x for
/// all t, solved for x and minimised over t.
fn reach(noise: &[Noise], interval_ns: f64, count: f64) -> f64 {
    let longest = noise.iter().map(|noise| noise.length_ns).fold(0.0, f64::max);
    let bound = |tilt: f64| {
        let growth = |noise: &Noise| interval_ns / noise.interval_ns * (tilt * noise.length_ns / longest).exp_m1();
        (noise.iter().map(growth).sum::<f64>() - BEYOND.ln()) / tilt
    };
    let tilts = (-60..=60).map(|power| 10f64.powf(f64::from(power) / 20.0));
    let least = tilts.map(bound).filter(|bound| bound.is_finite()).fold(f64::INFINITY, f64::min);
    if count > 0.0 && least.is_finite() { longest * least.max(1.0) } else { 0.0 }
}

/// The average number of noises in an interval by their length in bins. Keeps the mean length.
fn spread(noise: &[Noise], interval_ns: f64, bin_ns: f64) -> Vec<f64> {
    let mut counts = vec![0.0; BINS];
    for noise in noise {
        let (count, at) = (interval_ns / noise.interval_ns, noise.length_ns / bin_ns);
        let bin = (at as usize).min(BINS - 2);
        let part = (at - bin as f64).clamp(0.0, 1.0);
        counts[bin] += count * (1.0 - part);
        counts[bin + 1] += count * part;
    }
    counts
}

/// P(sum = n) from the mean counts of each length, each multiplied by `scale`.
fn panjer(counts: &[f64], scale: f64) -> Vec<f64> {
    let lengths: Vec<(usize, f64)> = counts
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, count)| **count > 0.0)
        .map(|(bin, count)| (bin, bin as f64 * count * scale))
        .collect();
    let total: f64 = counts.iter().skip(1).sum::<f64>() * scale;
    let mut probability = vec![0.0; BINS];
    probability[0] = (-total).exp();
    for n in 1..BINS {
        let reachable = lengths.iter().take_while(|(bin, _)| *bin <= n);
        probability[n] = reachable.map(|(bin, weight)| weight * probability[n - bin]).sum::<f64>() / n as f64;
    }
    probability
}

/// The distribution of the sum of two independent values.
fn doubled(one: &[f64]) -> Vec<f64> {
    let used: Vec<(usize, f64)> = one.iter().copied().enumerate().filter(|(_, p)| *p > 1e-300).collect();
    let mut both = vec![0.0; one.len()];
    for (at, p) in &used {
        for (other, q) in used.iter().take_while(|(other, _)| at + other < one.len()) {
            both[at + other] += p * q;
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::equation::slowdown;

    fn once(length_ns: f64, interval_ns: f64) -> Noise {
        Noise { length_ns, interval_ns, count: None }
    }

    /// Poisson: sums of noises of one length are multiples of it with exp(-c) c^k / k!.
    #[test]
    fn one_length_is_poisson() {
        let noise = IntervalNoise::new(&[once(1000.0, 1e6)], 1e6).expect("a distribution");
        assert!((noise.any() - (1.0 - (-1f64).exp())).abs() < 1e-12);
        let more_than_two = 1.0 - (-1f64).exp() * (1.0 + 1.0 + 0.5);
        // Between two multiples; a bin may lie on either side of one.
        let bins = (2500.0 / noise.bin_ns) as usize;
        assert!((noise.above[bins] - more_than_two).abs() < 1e-9, "{} {more_than_two}", noise.above[bins]);
        assert!((noise.expected_longest_ns(1) - 1000.0).abs() < 1e-6);
    }

    /// The mean does not depend on how many noises there are, up to the doublings.
    #[test]
    fn the_mean_is_kept() {
        for (noise, mean) in [
            (vec![once(1e6, 500e9)], 1e6 * 250e3 / 500e9),
            (vec![once(1e3, 1e6), once(5e4, 1e8), once(7.0, 1e4)], 250e3 * (1e-3 + 5e-4 + 7e-4)),
            (vec![once(10.0, 100.0)], 25e3),
        ] {
            let expected = IntervalNoise::new(&noise, 250e3).expect("a distribution").expected_longest_ns(1);
            assert!((expected / mean - 1.0).abs() < 1e-6, "{expected} {mean}");
        }
        let silent = IntervalNoise::new(&[], 1e6).expect("nothing");
        assert_eq!((silent.any(), silent.expected_longest_ns(1 << 40)), (0.0, 0.0));
        assert!(IntervalNoise::new(&[once(1.0, 1.0)], 1e12).is_err());
    }

    /// Eq. 1 is exact if two noises never fall into one interval.
    #[test]
    fn rare_noise_is_equation_1() {
        let noise = [once(1e6, 500e9)];
        for threads in [1, 100, 100_000] {
            let by_equation = slowdown(&noise, threads, 250e3).0;
            let expected =
                IntervalNoise::new(&noise, 250e3).expect("a distribution").expected_longest_ns(threads) / 250e3;
            assert!((expected / by_equation - 1.0).abs() < 1e-5, "{threads}: {expected} {by_equation}");
        }
    }

    /// Closed form: the longest of N exponential lengths has the mean H_N = 1 + 1/2 + ... + 1/N. Lengths are a fine
    /// sample of the exponential; one interval in a thousand has one, so N intervals have N / 1000.
    #[test]
    fn the_longest_of_many_exponentials() {
        let (count, mean) = (20_000, 1e4);
        let lengths = (0..count).map(|i| -mean * (1.0 - (f64::from(i) + 0.5) / f64::from(count)).ln());
        let noise: Vec<Noise> = lengths.map(|length| once(length, 1e9 * f64::from(count))).collect();
        let distribution = IntervalNoise::new(&noise, 1e6).expect("a distribution");
        // The number of noises is Poisson with mean 40: the mean of H_n under this distribution.
        let (mut expected, mut probability, mut harmonic) = (0.0, (-40f64).exp(), 0.0);
        for n in 1..200 {
            harmonic += 1.0 / f64::from(n);
            probability *= 40.0 / f64::from(n);
            expected += probability * harmonic * mean;
        }
        let found = distribution.expected_longest_ns(40_000);
        assert!((found / expected - 1.0).abs() < 0.005, "{found} {expected}");
    }
}
