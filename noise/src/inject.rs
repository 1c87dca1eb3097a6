// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Deliberate noise: threads that repeatedly occupy CPUs for a short time.
//!
//! Changes no setting of the machine, only runs threads of this process: when the process ends in any way, the noise
//! ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;

use crate::Result;
use crate::measure::{be_realtime, is_bound, machine};

/// How lengths vary around their mean. Intervals do not vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// All have the same length
    Fixed,
    /// Lengths from 0 to twice the mean
    Uniform,
    /// Many short lengths, few long ones
    Exponential,
}

#[derive(Debug, Clone)]
pub struct Injection {
    pub cpus: Vec<u32>,
    pub length_ns: f64,
    pub interval_ns: f64,
    pub duration_ns: f64,
    pub distribution: Distribution,
    pub realtime_priority: Option<u8>,
    pub seed: u64,
    pub stop: Arc<Stop>,
}

/// Ends an injection early, at any moment of it but within a noise.
#[derive(Debug, Default)]
pub struct Stop {
    set: AtomicBool,
    /// They sleep until the next noise is due: no CPU is woken to look.
    sleeping: Mutex<Vec<Thread>>,
}

impl Stop {
    pub fn set(&self) {
        self.set.store(true, Ordering::Relaxed);
        self.sleeping.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Thread::unpark);
    }

    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Relaxed)
    }

    fn wakes_this_thread(&self) {
        self.sleeping.lock().unwrap_or_else(PoisonError::into_inner).push(thread::current());
    }

    /// False if it was set meanwhile.
    fn sleep_until(&self, due: Instant) -> bool {
        while !self.is_set() {
            match due.checked_duration_since(Instant::now()) {
                Some(wait) => thread::park_timeout(wait),
                None => return true,
            }
        }
        false
    }
}

/// The noise that was added to one CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Injected {
    pub cpu: u32,
    pub count: u64,
    /// Noises that began late because the one before had not ended in time.
    pub late: u64,
    /// The sum of the requested lengths.
    pub asked_ns: f64,
    /// The sum of the times from begin to end: longer than requested if other programs ran too.
    pub took_ns: u64,
    pub longest_ns: u64,
    /// Its thread may no longer run there (the CPU went offline, or left the cpuset): the noise ended then.
    pub left: bool,
    /// A signal ended it before all noises were added.
    pub ended_early: bool,
}

impl Injection {
    /// Returns when the last noise has ended.
    pub fn run(&self) -> Result<Vec<Injected>> {
        if self.length_ns > self.interval_ns {
            return Err("--noise: the length is longer than the interval".into());
        }
        let begin = Instant::now() + Duration::from_millis(20);
        thread::scope(|scope| {
            let threads: Vec<_> = self
                .cpus
                .iter()
                .map(|&cpu| scope.spawn(move || self.disturb(cpu, begin).map_err(|error| error.to_string())))
                .collect();
            let joined =
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a thread died".into())));
            Ok(joined.collect::<std::result::Result<Vec<_>, String>>()?)
        })
    }

    fn disturb(&self, cpu: u32, begin: Instant) -> Result<Injected> {
        machine::pin(&[cpu])?;
        if let Some(priority) = self.realtime_priority {
            be_realtime(priority)?;
        }
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(u64::from(cpu));
        let mut injected = Injected {
            cpu,
            count: 0,
            late: 0,
            asked_ns: 0.0,
            took_ns: 0,
            longest_ns: 0,
            left: false,
            ended_early: false,
        };
        self.stop.wakes_this_thread();
        for index in 0..self.count() {
            let due = begin + Duration::from_nanos((index as f64 * self.interval_ns) as u64);
            injected.late += u64::from(due <= Instant::now());
            if !self.stop.sleep_until(due) {
                injected.ended_early = true;
                break;
            }
            // elsewhere it would disturb a CPU that nobody named
            injected.left = !is_bound(0, cpu);
            if injected.left {
                break;
            }
            let length_ns = self.length(&mut random);
            let took = spin(Duration::from_nanos(length_ns as u64));
            injected.count += 1;
            injected.asked_ns += length_ns;
            injected.took_ns += took;
            injected.longest_ns = injected.longest_ns.max(took);
        }
        Ok(injected)
    }

    /// The number of noises on each CPU.
    fn count(&self) -> u64 {
        ((self.duration_ns / self.interval_ns) as u64).max(1)
    }

    fn length(&self, random: &mut ChaCha8Rng) -> f64 {
        let uniform = ((random.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64;
        self.length_ns
            * match self.distribution {
                Distribution::Fixed => 1.0,
                Distribution::Uniform => 2.0 * uniform,
                Distribution::Exponential => -uniform.ln(),
            }
    }
}

/// Computes for at least this long. Returns the time that it took in nanoseconds.
fn spin(length: Duration) -> u64 {
    let begin = Instant::now();
    while begin.elapsed() < length {
        std::hint::spin_loop();
    }
    begin.elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injection(distribution: Distribution) -> Injection {
        Injection {
            cpus: machine::allowed_cpus().expect("CPUs"),
            length_ns: 50e3,
            interval_ns: 1e6,
            duration_ns: 20.5e6,
            distribution,
            realtime_priority: None,
            seed: 3,
            stop: Arc::default(),
        }
    }

    #[test]
    fn count_and_lengths_are_as_requested() {
        let plan = injection(Distribution::Fixed);
        let injected = plan.run().expect("noise");
        assert_eq!(injected.iter().map(|one| one.cpu).collect::<Vec<_>>(), plan.cpus);
        for one in injected {
            assert_eq!((one.count, one.asked_ns), (20, 1e6));
            assert!(one.took_ns >= 1_000_000 && one.longest_ns >= 50_000);
        }
    }

    /// It sleeps for an hour between two noises.
    #[test]
    fn a_stop_ends_a_sleep_and_marks_the_result() {
        let plan = Injection { interval_ns: 3.6e12, duration_ns: 3.6e13, ..injection(Distribution::Fixed) };
        let stop = Arc::clone(&plan.stop);
        let injected = thread::scope(|scope| {
            let running = scope.spawn(|| plan.run().map_err(|error| error.to_string()));
            while stop.sleeping.lock().expect("whole").len() < plan.cpus.len() {
                thread::yield_now();
            }
            stop.set();
            running.join().expect("it ends").expect("noise")
        });
        assert!(injected.iter().all(|one| one.ended_early && one.count <= 1), "{injected:?}");
        let whole = injection(Distribution::Fixed).run().expect("noise");
        assert!(whole.iter().all(|one| !one.ended_early));
    }

    #[test]
    fn lengths_have_their_mean() {
        for distribution in [Distribution::Fixed, Distribution::Uniform, Distribution::Exponential] {
            let plan = injection(distribution);
            let mut random = ChaCha8Rng::seed_from_u64(1);
            let lengths: Vec<f64> = (0..20_000).map(|_| plan.length(&mut random)).collect();
            let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
            let over_twice = lengths.iter().filter(|length| **length > 2.0 * plan.length_ns).count();
            assert!((mean / plan.length_ns - 1.0).abs() < 0.03, "{distribution:?}: {mean}");
            // e^-2 of exponential lengths are longer than twice the mean, none of the others.
            let expected = if distribution == Distribution::Exponential { 2707.0 } else { 0.0 };
            assert!((over_twice as f64 - expected).abs() < 200.0, "{distribution:?}: {over_twice}");
        }
    }

    #[test]
    fn impossible_injections_are_refused() {
        let plan = Injection { length_ns: 2e6, ..injection(Distribution::Fixed) };
        assert!(plan.run().is_err_and(|error| error.to_string().starts_with("--noise")));
        let absent = Injection { cpus: vec![1023], ..injection(Distribution::Fixed) };
        assert!(absent.run().is_err_and(|error| error.to_string().contains("1023")));
    }
}
