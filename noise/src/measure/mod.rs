// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Measures with one thread on each CPU, all at the same time, and makes a record of their samples.
//!
//! If the process may use other CPUs, the caller's thread stays off the measured ones and reports progress.

mod counters;
mod departure;
pub mod live;
pub mod machine;
mod pages;
mod quota;
pub mod sampling;
mod worker;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::Duration;

use departure::Stay;
pub use departure::is_bound;
use live::{Scale, Stored};
use machine::Moment;
use pages::Pages;
use quota::Quotas;
pub use worker::be_realtime;
use worker::{Found, Work};

use crate::Result;
use crate::analyse::least_ns;
use crate::record::{About, Kernel, Method, Record, SCHEMA, Samples};
use crate::units::Nanoseconds;

/// Room for detours on each CPU; more are counted, not stored.
const DETOURS_LIMIT: usize = 1 << 20;
/// The most samples on one CPU: 18 hours of 1 ms quanta. With the record they take 4 GiB.
const SAMPLES_LIMIT: f64 = (1u64 << 26) as f64;

/// The fewest quanta in a duration: the shortest one is the baseline of the others.
const QUANTA_LEAST: f64 = 2.0;
/// Room for this many times the expected quanta, if other CPUs are faster than the first one.
const ROOM: f64 = 2.0;

/// Time for the processor to reach its clock frequency; a twentieth of the measurement if that is shorter.
const WARM_UP_NS: f64 = 1e9;

/// A description of the measurement.
#[derive(Debug, Clone)]
pub struct Plan {
    pub method: Method,
    pub kernel: Kernel,
    pub cpus: Vec<u32>,
    /// The quantum, the interval or the shortest detour.
    pub quantum: Nanoseconds,
    /// Units of work in a quantum, instead of calibrating them.
    pub units: Option<u64>,
    pub amount: Amount,
    pub realtime_priority: Option<u8>,
    pub label: String,
    /// Fixed work only: noise this long ends the measurement.
    pub until: Option<Nanoseconds>,
    /// Any thread may set it to end the measurement early and keep the samples so far.
    pub stop: Option<Arc<AtomicBool>>,
    /// Measure even if the time source is not known to be invariant.
    pub trust_clock: bool,
}

/// A record, and the reading of the time source at its beginning.
pub struct Measured {
    pub record: Record,
    pub origin_ticks: u64,
}

/// A progress report to the caller, on its own thread, while other threads measure.
pub struct Progress<'a> {
    /// The share of the measurement that is done.
    pub share: f64,
    /// Whether the caller's thread runs on a CPU that is not measured, so that it may draw.
    pub aside: bool,
    pub left: Duration,
    /// The samples that the loops have stored so far.
    pub stored: Vec<Stored<'a>>,
    pub scale: Scale,
}

/// How long to measure: a number of samples, or wall time from the first sample.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    Samples(usize),
    For(Nanoseconds),
}

impl Plan {
    fn duration(&self) -> Nanoseconds {
        match self.amount {
            Amount::For(duration) => duration,
            Amount::Samples(count) => Nanoseconds(count as f64 * self.quantum.0),
        }
    }

    /// Makes the record. Calls `progress` a few times a second.
    pub fn measure(&self, arguments: &[String], progress: &mut dyn FnMut(Progress)) -> Result<Measured> {
        let time_source = machine::time_source(self.trust_clock)?;
        let allowed = machine::allowed_cpus()?;
        machine::check_cpus(&self.cpus, &allowed)?;
        let spare = machine::spare_cpus(&self.cpus, &allowed);
        let began_unix_s = machine::unix_seconds();
        let rough = rough_rate()?;
        let work = self.work(rough)?;
        if !spare.is_empty() {
            machine::pin(&spare)?;
        }
        let (before, quotas) = (Moment::now()?, Quotas::now());
        let aside = !spare.is_empty();
        let scale = Scale { method: self.method, ns_per_tick: 1e9 / rough, interval_ns: self.quantum.0 };
        let found = run_all(&work, &self.cpus, rough, |share, left, stored| {
            progress(Progress { share, aside, left, stored, scale });
            self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
        });
        let rate = Moment::now()?.rate_since(before);
        let mut warnings = Quotas::now().since(&quotas);
        machine::pin(&allowed).or_else(|_| machine::pin(&machine::allowed_cpus()?))?;
        let found = found?;
        let origin_ticks = found.iter().map(|one| one.begin).min().unwrap_or(0);
        warnings.extend(found.iter().filter_map(|one| one.departure(origin_ticks, rate)));
        let stopped = self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        if stopped {
            let longest = found.iter().map(|one| one.end.saturating_sub(one.begin)).max().unwrap_or(0);
            let measured = Nanoseconds(longest as f64 * 1e9 / rate);
            warnings.push(format!("interrupted: measured for {measured} of {}", self.duration()));
        }
        let (samples, counters) = assemble(&found, origin_ticks, rate);
        let record = Record {
            about: About {
                schema: SCHEMA,
                version: env!("CARGO_PKG_VERSION").into(),
                label: self.label.clone(),
                host: machine::host(),
                kernel_release: machine::line_of("/proc/sys/kernel/osrelease"),
                kernel_arguments: machine::line_of("/proc/cmdline"),
                processor: machine::processor(),
                arguments: arguments.to_vec(),
                began_unix_s,
                method: self.method,
                kernel: self.kernel,
                cpus: self.cpus.clone(),
                quantum_ns: self.quantum.0,
                units: work.units,
                time_source,
                ticks_per_second: rate,
                memory_locked: found.iter().all(|one| one.memory_locked),
                huge_pages: found.iter().all(|one| one.huge_pages),
                realtime_priority: self.realtime_priority,
                counters,
                warnings,
                thieves: None,
                across: None,
            },
            samples,
        };
        Ok(Measured { record, origin_ticks })
    }

    /// Converts the plan to ticks. Calibrates on the first CPU, so that all CPUs do the same work.
    fn work(&self, ticks_per_second: f64) -> Result<Work> {
        let quantum_ticks = self.quantum.seconds() * ticks_per_second;
        let duration_ns = self.duration().0;
        let samples = match (self.method, self.amount) {
            (Method::Latency, _) => return Err("wake-up latencies are imported, not measured".into()),
            (Method::Selfish, Amount::Samples(_)) => {
                return Err("selfish detour: needs a --duration: the number of detours is its result".into());
            }
            (Method::Selfish, _) => DETOURS_LIMIT as f64,
            (_, Amount::Samples(count)) => count as f64,
            _ => (duration_ns / self.quantum.0).round().max(1.0),
        };
        if samples > SAMPLES_LIMIT {
            return Err(format!("{samples:.0} samples on each CPU are too many: at most {SAMPLES_LIMIT:.0}").into());
        }
        let timed = matches!(self.amount, Amount::For(_));
        if timed && self.method != Method::Selfish && duration_ns < QUANTA_LEAST * self.quantum.0 {
            return Err(format!(
                "--duration {}: not enough to say anything with a quantum of {}: measure for {} or longer, or with a \
                 shorter --quantum",
                self.duration(),
                self.quantum,
                Nanoseconds(least_ns(self.quantum.0))
            )
            .into());
        }
        let duration_ticks = (duration_ns / 1e9 * ticks_per_second) as u64;
        let mut work = Work {
            method: self.method,
            kernel: self.kernel,
            units: 0,
            ticks: (quantum_ticks.round() as u64).max(1),
            samples: samples as usize,
            duration_ticks,
            end_ticks: (timed && self.method == Method::Fwq).then_some(duration_ticks),
            warm_up_ticks: ((duration_ns / 20.0).min(WARM_UP_NS) / 1e9 * ticks_per_second) as u64,
            realtime_priority: self.realtime_priority,
            limit_ticks: None,
        };
        if self.method == Method::Fwq {
            machine::pin(&self.cpus[..1])?;
            work.units = self.units.unwrap_or_else(|| work.calibrate(quantum_ticks));
            let took = work.shortest_quantum(work.units).max(1) as f64;
            match work.end_ticks {
                Some(end) => work.samples = ((end as f64 / took).min(SAMPLES_LIMIT) * ROOM) as usize + 1,
                None => work.duration_ticks = (took * samples) as u64,
            }
            let limit = |until: Nanoseconds| {
                work.shortest_quantum(work.units) + (until.seconds() * ticks_per_second).round() as u64
            };
            work.limit_ticks = self.until.map(limit).or(self.stop.as_ref().map(|_| u64::MAX));
        } else if self.until.is_some() {
            return Err("--until: only fixed work (fwq) can end at a long noise".into());
        }
        Ok(work)
    }
}

/// Ticks in a second, precise enough to choose a quantum.
fn rough_rate() -> Result<f64> {
    let before = Moment::now()?;
    thread::sleep(Duration::from_millis(20));
    Ok(Moment::now()?.rate_since(before))
}

/// Runs the threads. `progress` returns whether to end now.
fn run_all(
    work: &Work,
    cpus: &[u32],
    rate: f64,
    mut progress: impl FnMut(f64, Duration, Vec<Stored>) -> bool,
) -> Result<Vec<Found>> {
    let ready = Barrier::new(cpus.len() + 1);
    let watches = sampling::Watches::new(work.limit_ticks.unwrap_or(u64::MAX), cpus.len());
    let expected = Duration::from_secs_f64(work.duration_ticks as f64 / rate);
    let stays: Vec<Stay> = cpus.iter().map(|_| Stay::default()).collect();
    let rooms: Vec<OnceLock<Pages>> = cpus.iter().map(|_| OnceLock::new()).collect();
    let stored = || {
        let rooms = cpus.iter().zip(&rooms).filter_map(|(cpu, room)| Some((*cpu, room.get()?)));
        rooms.map(|(cpu, pages)| Stored { cpu, numbers: pages.numbers() }).collect::<Vec<_>>()
    };
    // A thread that left its CPU disturbs the others where it is now: it stops, and its samples end before that.
    let look = || {
        for ((cpu, stay), watch) in cpus.iter().zip(&stays).zip(watches.iter()) {
            stay.look(*cpu);
            if stay.left_after().is_some() {
                watch.end();
            }
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = cpus
            .iter()
            .zip(&stays)
            .zip(watches.iter().zip(&rooms))
            .map(|((&cpu, stay), (watch, room))| {
                let ready = &ready;
                let measure = move || work.measure(cpu, ready, watch, stay, room).map_err(|error| error.to_string());
                (cpu, scope.spawn(measure))
            })
            .collect();
        ready.wait();
        let begin = std::time::Instant::now();
        while begin.elapsed() < expected && !watches.have_ended() {
            thread::sleep((expected - begin.elapsed().min(expected)).min(Duration::from_millis(250)));
            look();
            let share = (begin.elapsed().as_secs_f64() / expected.as_secs_f64()).min(1.0);
            if progress(share, expected.saturating_sub(begin.elapsed()), stored()) {
                watches.end();
            }
        }
        ready.wait();
        let joined = threads.into_iter().map(|(cpu, thread)| {
            thread.join().unwrap_or_else(|_| Err(format!("cpu {cpu}: the measuring thread died")))
        });
        Ok(joined.collect::<std::result::Result<Vec<_>, String>>()?)
    })
}

/// Converts ticks to nanoseconds since the beginning of the first sample.
fn assemble(found: &[Found], origin: u64, ticks_per_second: f64) -> (Samples, Vec<crate::record::Counters>) {
    let ns = |ticks: u64| (ticks as f64 * 1e9 / ticks_per_second).round() as u64;
    let (mut samples, mut counters) = (Samples::default(), Vec::new());
    for one in found {
        for (start, length, work) in &one.samples {
            samples.cpu.push(one.cpu);
            samples.start_ns.push(ns(start.saturating_sub(origin)));
            samples.length_ns.push(ns(*length));
            samples.work_units.push(*work);
        }
        let mut counted = one.counters.clone();
        counted.measured_ns = ns(one.end - one.begin);
        counted.shortest_ns = ns(one.shortest);
        counters.push(counted);
    }
    (samples, counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(method: Method, amount: Amount) -> Plan {
        Plan {
            method,
            kernel: Kernel::Register,
            cpus: machine::allowed_cpus().expect("CPUs"),
            quantum: Nanoseconds(if method == Method::Selfish { 100.0 } else { 20_000.0 }),
            units: None,
            amount,
            realtime_priority: None,
            label: "test".into(),
            until: None,
            stop: None,
            trust_clock: true,
        }
    }

    #[test]
    fn each_cpu_has_all_its_samples() {
        for kernel in [Kernel::Register, Kernel::Daxpy] {
            for method in [Method::Fwq, Method::Ftq] {
                let plan = Plan { kernel, ..plan(method, Amount::Samples(50)) };
                let record = plan.measure(&["test".into()], &mut |_| ()).expect("a record").record;
                let runs = record.samples.by_cpu();
                assert_eq!(runs.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>(), plan.cpus);
                assert!(runs.iter().all(|(_, rows)| rows.len() == 50));
                assert_eq!(record.about.units > 0, method == Method::Fwq);
                assert!(record.about.counters.iter().all(|counted| counted.measured_ns > 0));
                for (_, rows) in runs {
                    assert!(record.samples.start_ns[rows].is_sorted());
                }
            }
        }
    }

    #[test]
    fn units_can_be_given() {
        let plan = Plan { units: Some(12), ..plan(Method::Fwq, Amount::Samples(5)) };
        let record = plan.measure(&[], &mut |_| ()).expect("a record").record;
        assert!(record.about.units == 12 && record.samples.work_units.iter().all(|units| *units == 12));
    }

    #[test]
    fn long_noise_ends_the_measurement() {
        let shortest = Some(Nanoseconds(1.0));
        let plan = Plan { until: shortest, ..plan(Method::Fwq, Amount::Samples(100_000)) };
        let record = plan.measure(&[], &mut |_| ()).expect("a record").record;
        assert!(record.samples.len() < 100_000 * plan.cpus.len(), "no quantum was longer than the shortest");
        let ftq = Plan { method: Method::Ftq, ..plan };
        assert!(ftq.measure(&[], &mut |_| ()).is_err_and(|error| error.to_string().contains("--until")));
    }

    /// The work is so much that noise cannot hide it: fewer quanta than expected, none begun after the end.
    #[test]
    fn a_duration_is_wall_time() {
        for units in [None, Some(1000)] {
            let plan = Plan { units, ..plan(Method::Fwq, Amount::For(Nanoseconds(30e6))) };
            let record = plan.measure(&[], &mut |_| ()).expect("a record").record;
            for (_, rows) in record.samples.by_cpu() {
                let first = record.samples.start_ns[rows.start];
                let (last, length) = (record.samples.start_ns[rows.end - 1], record.samples.length_ns[rows.end - 1]);
                // The rate of the clock is measured before and again after, with less error.
                assert!(last - first < 31_000_000 && last + length - first > 29_000_000, "{first} {last} {length}");
            }
        }
    }

    /// Whatever the method: what was measured until then is a result, and says so.
    #[test]
    fn the_stop_flag_ends_the_measurement() {
        for method in [Method::Fwq, Method::Ftq, Method::Selfish] {
            let stop = Arc::new(AtomicBool::new(false));
            let plan = Plan { stop: Some(Arc::clone(&stop)), ..plan(method, Amount::For(Nanoseconds(60e9))) };
            let record = plan.measure(&[], &mut |_| stop.store(true, Ordering::Relaxed)).expect("a record").record;
            assert!(!record.samples.is_empty() || method == Method::Selfish);
            assert!(record.about.counters.iter().all(|counted| counted.measured_ns < 60_000_000_000), "{method:?}");
            assert!(record.about.warnings.iter().any(|one| one.starts_with("interrupted: measured for")), "{method:?}");
        }
    }

    #[test]
    fn selfish_measures_its_own_pace() {
        let record =
            plan(Method::Selfish, Amount::For(Nanoseconds(5e6))).measure(&[], &mut |_| ()).expect("a record").record;
        assert!(
            record.about.counters.iter().all(|counted| counted.shortest_ns > 0 && counted.measured_ns >= 4_900_000)
        );
    }

    #[test]
    fn impossible_plans_are_refused_in_one_line() {
        let error = |plan: Plan| plan.measure(&[], &mut |_| ()).map(|_| ()).expect_err("refused").to_string();
        let absent = Plan { cpus: vec![1023], ..plan(Method::Fwq, Amount::Samples(1)) };
        assert!(error(absent).contains("CPU 1023"));
        assert!(error(plan(Method::Selfish, Amount::Samples(1))).contains("--duration"));
        assert!(error(plan(Method::Fwq, Amount::For(Nanoseconds(1e18)))).contains("too many"));
        let long = Plan { quantum: Nanoseconds(10e9), ..plan(Method::Fwq, Amount::For(Nanoseconds(1e9))) };
        assert_eq!(
            error(long),
            "--duration 1 s: not enough to say anything with a quantum of 10 s: measure for 1000 s or longer, or with a \
             shorter --quantum"
        );
    }
}
