// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Simulates a bulk-synchronous program under noise, interval by interval.
//!
//! With global synchronisation all wait for the slowest of N threads: an interval takes one draw of the longest of N
//! (order statistics), for any N. In a stencil each thread waits only for its two neighbours, so every thread is
//! simulated. Each piece of the work has its own stream of random numbers: a seed gives the same result on any machine.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use serde::Serialize;

use super::interval::IntervalNoise;
use crate::Result;

/// Intervals or threads in one piece of the work.
const PIECE: u64 = 1 << 14;
/// The most threads of a stencil: each one takes memory.
const STENCIL_LIMIT: u64 = 1 << 24;

/// How threads wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Synchronisation {
    /// All wait for all, in one step
    Barrier,
    /// All wait for all, in log2(N) steps of the network's latency; noise delays these steps too
    Allreduce,
    /// Each waits for its two neighbours on a ring
    Stencil,
}

/// The program and the machine.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    pub threads: u64,
    pub interval_ns: f64,
    pub intervals: u64,
    pub synchronisation: Synchronisation,
    /// Latency of one step of an allreduce.
    pub latency_ns: f64,
    /// Noise comes to all threads at once.
    pub co_scheduled: bool,
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Simulation {
    pub synchronisation: Synchronisation,
    pub co_scheduled: bool,
    pub seed: u64,
    pub intervals: u64,
    /// Delay over the program's own time.
    pub slowdown: f64,
    /// The slowdown computed from the distribution, without random draws; global synchronisation only.
    pub slowdown_expected: Option<f64>,
    /// Pairs of a share of intervals and the delay that they do not exceed; global synchronisation only.
    pub delay_ns: Vec<(f64, f64)>,
}

impl Program {
    /// The part of an interval in which noise counts: it includes the steps of an allreduce.
    pub fn exposed_ns(&self) -> f64 {
        let steps = (u64::BITS - self.threads.saturating_sub(1).leading_zeros()) as f64;
        self.interval_ns
            + if self.synchronisation == Synchronisation::Allreduce { steps * self.latency_ns } else { 0.0 }
    }

    /// Calls `progress`, from any thread, with the share of the work that was done since the last call.
    pub fn simulate(&self, noise: &IntervalNoise, progress: impl Fn(f64) + Sync) -> Result<Simulation> {
        match self.synchronisation {
            Synchronisation::Stencil if !self.co_scheduled => self.stencil(noise, progress),
            _ => Ok(self.global(noise, progress)),
        }
    }

    /// Noise that hits all threads at once is simulated as the noise of one thread.
    fn global(&self, noise: &IntervalNoise, progress: impl Fn(f64) + Sync) -> Simulation {
        let threads = if self.co_scheduled { 1 } else { self.threads };
        let pieces = self.intervals.div_ceil(PIECE);
        let piece = |index: u64| {
            let mut random = self.random(index);
            let mut delays = vec![0u64; noise.bins() + 1];
            for _ in 0..PIECE.min(self.intervals - index * PIECE) {
                delays[longest(noise, threads, &mut random)] += 1;
            }
            progress(1.0 / pieces as f64);
            delays
        };
        let sum = |mut all: Vec<u64>, one: Vec<u64>| {
            all.iter_mut().zip(one).for_each(|(all, one)| *all += one);
            all
        };
        let delays = (0..pieces).into_par_iter().map(piece).reduce(|| vec![0; noise.bins() + 1], sum);
        let total: f64 = delays.iter().enumerate().map(|(bin, count)| bin as f64 * *count as f64).sum();
        Simulation {
            slowdown: total * noise.bin_ns() / (self.intervals as f64 * self.interval_ns),
            slowdown_expected: Some(noise.expected_longest_ns(threads) / self.interval_ns),
            delay_ns: quantiles(&delays, self.intervals, noise.bin_ns()),
            ..self.nothing()
        }
    }

    fn stencil(&self, noise: &IntervalNoise, progress: impl Fn(f64) + Sync) -> Result<Simulation> {
        if self.threads > STENCIL_LIMIT {
            return Err(format!(
                "a stencil of {} threads: at most {STENCIL_LIMIT}, since each one is simulated",
                self.threads
            )
            .into());
        }
        let count = self.threads as usize;
        let (mut before, mut after) = (vec![0f64; count], vec![0f64; count]);
        let pieces = self.threads.div_ceil(PIECE);
        let mut randoms: Vec<ChaCha8Rng> = (0..pieces).map(|index| self.random(index)).collect();
        for step in 0..self.intervals {
            let chunks = after.par_chunks_mut(PIECE as usize).zip(&mut randoms).enumerate();
            chunks.for_each(|(index, (chunk, random))| {
                let first = index * PIECE as usize;
                for (offset, delay) in chunk.iter_mut().enumerate() {
                    let at = first + offset;
                    let left = before[if at == 0 { count - 1 } else { at - 1 }];
                    let right = before[if at + 1 == count { 0 } else { at + 1 }];
                    *delay = before[at].max(left).max(right);
                }
                hit(chunk, noise, random);
            });
            std::mem::swap(&mut before, &mut after);
            if step % 64 == 63 {
                progress(64.0 / self.intervals as f64);
            }
        }
        let last = before.iter().copied().fold(0.0, f64::max);
        Ok(Simulation { slowdown: last / (self.intervals as f64 * self.interval_ns), ..self.nothing() })
    }

    fn nothing(&self) -> Simulation {
        Simulation {
            synchronisation: self.synchronisation,
            co_scheduled: self.co_scheduled,
            seed: self.seed,
            intervals: self.intervals,
            slowdown: 0.0,
            slowdown_expected: None,
            delay_ns: Vec::new(),
        }
    }

    fn random(&self, piece: u64) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(piece);
        random
    }
}

/// A uniform number in (0, 1), without both ends.
fn uniform(random: &mut ChaCha8Rng) -> f64 {
    ((random.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
}

/// Draws the longest noise of `threads`, in bins: the least x with F(x)^N >= u, that is with P(> x) <= 1 - u^(1/N).
fn longest(noise: &IntervalNoise, threads: u64, random: &mut ChaCha8Rng) -> usize {
    noise.exceeded_with(-(uniform(random).ln() / threads as f64).exp_m1())
}

/// Adds noise to the threads that meet any. The distance from one to the next is geometric, so quiet threads take no
/// time.
fn hit(delays: &mut [f64], noise: &IntervalNoise, random: &mut ChaCha8Rng) {
    let any = noise.any();
    if any <= 0.0 {
        return;
    }
    let silence = (-any).ln_1p();
    let mut at = 0usize;
    loop {
        at = at.saturating_add((uniform(random).ln() / silence) as usize);
        let Some(delay) = delays.get_mut(at) else { return };
        *delay += noise.exceeded_with(uniform(random) * any) as f64 * noise.bin_ns();
        at += 1;
    }
}

fn quantiles(delays: &[u64], intervals: u64, bin_ns: f64) -> Vec<(f64, f64)> {
    let of = |share: f64| {
        let wanted = ((share * intervals as f64).ceil() as u64).max(1);
        let mut seen = 0;
        delays.iter().position(|count| {
            seen += count;
            seen >= wanted
        })
    };
    let told =
        crate::analyse::QUANTILES.iter().filter(|share| **share == 1.0 || (1.0 - **share) * intervals as f64 >= 1.0);
    told.filter_map(|share| Some((*share, of(*share)? as f64 * bin_ns))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::Noise;

    const NOISE: [Noise; 3] = [
        Noise { length_ns: 5e4, interval_ns: 1e8, count: None },
        Noise { length_ns: 2e3, interval_ns: 4e6, count: None },
        Noise { length_ns: 1e6, interval_ns: 1e10, count: None },
    ];

    fn program(threads: u64, synchronisation: Synchronisation) -> Program {
        Program {
            threads,
            interval_ns: 1e6,
            intervals: 4000,
            synchronisation,
            latency_ns: 1e3,
            co_scheduled: false,
            seed: 7,
        }
    }

    fn slowdown(program: Program) -> f64 {
        let noise = IntervalNoise::new(&NOISE, program.exposed_ns()).expect("a distribution");
        program.simulate(&noise, |_| ()).expect("a simulation").slowdown
    }

    /// Simulates every thread in every interval, as the definition says.
    fn direct(program: Program, noise: &IntervalNoise) -> f64 {
        let mut random = program.random(1 << 40);
        let mut delays = vec![0.0; program.threads as usize];
        let mut total = 0.0;
        for _ in 0..program.intervals {
            delays.fill(0.0);
            hit(&mut delays, noise, &mut random);
            total += delays.iter().copied().fold(0.0, f64::max);
        }
        total / (program.intervals as f64 * program.interval_ns)
    }

    #[test]
    fn order_statistics_agree_with_direct_simulation() {
        for threads in [100, 1000, 100_000] {
            let intervals = (40_000_000 / threads).min(4000);
            let program = Program { intervals, ..program(threads, Synchronisation::Barrier) };
            let noise = IntervalNoise::new(&NOISE, program.exposed_ns()).expect("a distribution");
            let expected = noise.expected_longest_ns(threads) / program.interval_ns;
            let (drawn, directly) = (slowdown(program), direct(program, &noise));
            assert!((drawn / expected - 1.0).abs() < 0.1, "{threads}: drawn {drawn}, expected {expected}");
            assert!((directly / expected - 1.0).abs() < 0.1, "{threads}: directly {directly}, expected {expected}");
        }
    }

    #[test]
    fn a_seed_gives_one_result() {
        for synchronisation in [Synchronisation::Barrier, Synchronisation::Stencil] {
            let one = Program { intervals: 60, ..program(40_000, synchronisation) };
            let with_one_cpu = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
            assert_eq!(slowdown(one), with_one_cpu.install(|| slowdown(one)));
            assert_ne!(slowdown(one), slowdown(Program { seed: 8, ..one }));
        }
    }

    /// Waiting for neighbours costs less than waiting for all, and more than the noise of one thread. Co-scheduled
    /// noise costs about as much as the noise of one thread. An allreduce is exposed to noise for longer than a
    /// barrier.
    #[test]
    fn kinds_of_synchronisation_differ() {
        let stencil = slowdown(Program { intervals: 1000, ..program(5000, Synchronisation::Stencil) });
        let barrier = slowdown(Program { intervals: 1000, ..program(5000, Synchronisation::Barrier) });
        let own = IntervalNoise::new(&NOISE, 1e6).expect("a distribution").expected_longest_ns(1) / 1e6;
        assert!(own < stencil && stencil < barrier, "{own} {stencil} {barrier}");
        let together = slowdown(Program { co_scheduled: true, ..program(5000, Synchronisation::Stencil) });
        assert!(together < 2.0 * own, "{together} {own}");
        let allreduce = program(5000, Synchronisation::Allreduce);
        assert_eq!(allreduce.exposed_ns(), 1e6 + 13.0 * 1e3);
        let exposed = IntervalNoise::new(&NOISE, allreduce.exposed_ns()).expect("a distribution");
        let barrier = IntervalNoise::new(&NOISE, 1e6).expect("a distribution");
        assert!(exposed.expected_longest_ns(5000) > barrier.expected_longest_ns(5000));
    }

    /// Resonance (Petrini et al., SC '03): the same noise costs a program with fine synchronisation much more than one
    /// with coarse synchronisation.
    #[test]
    fn fine_noise_hurts_fine_synchronisation() {
        let share = |length: f64, interval_ns: f64, threads| {
            let noise = [Noise { length_ns: length, interval_ns: length * 1000.0, count: None }];
            IntervalNoise::new(&noise, interval_ns).expect("a distribution").expected_longest_ns(threads) / interval_ns
        };
        // A tenth of a percent of each CPU's time; 1,000 threads.
        let (fine, coarse) = (share(1e4, 1e5, 1000), share(1e4, 1e8, 1000));
        assert!(fine > 10.0 * coarse && fine > 0.05, "{fine} {coarse}");
    }

    #[test]
    fn without_noise_there_is_no_delay() {
        let silent = IntervalNoise::new(&[], 1e6).expect("nothing");
        for synchronisation in [Synchronisation::Barrier, Synchronisation::Stencil] {
            let program = Program { intervals: 100, ..program(1000, synchronisation) };
            assert_eq!(program.simulate(&silent, |_| ()).expect("a simulation").slowdown, 0.0);
        }
        let many = program(1 << 30, Synchronisation::Stencil);
        assert!(many.simulate(&silent, |_| ()).is_err_and(|error| error.to_string().contains("at most")));
    }
}
