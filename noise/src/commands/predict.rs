// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `predict`: evaluates Eq. 1, and on request a simulation, for given noise or for the noise of a record.

use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};

use super::{print, print_json};
use crate::Result;
use crate::options::Predict;
use crate::predict::interval::IntervalNoise;
use crate::predict::simulate::{Program, Simulation};
use crate::predict::{Noise, predict};
use crate::record::Record;
use crate::show;

/// The most simulated intervals; less than a year of intervals of 250 us.
const INTERVALS_LIMIT: f64 = 1e11;

pub fn run(options: Predict) -> Result<ExitCode> {
    let (groups, all) = match &options.record {
        Some(path) => {
            let record = Record::read(path)?;
            record.must_be_noise("a computing program does not lose them")?;
            of_record(&record, options.threshold.0)
        }
        None => {
            let named: Vec<Noise> = options.noise.iter().copied().map(Noise::from).collect();
            (named.clone(), named)
        }
    };
    let mut prediction = predict(&groups, options.threads, options.interval);
    if options.simulate.is_some() {
        prediction.simulation = Some(simulate(&options, &all)?);
    }
    if options.json {
        return print_json(&prediction);
    }
    print(&show::prediction(&prediction))
}

/// The groups for Eq. 1, and for the simulation every noise, which each thread meets once in the measured time.
fn of_record(record: &Record, threshold_ns: f64) -> (Vec<Noise>, Vec<Noise>) {
    let groups = record.summary(threshold_ns).groups.iter().map(Noise::from).collect();
    if let Some(across) = &record.about.across {
        return (groups, across.recurring(threshold_ns));
    }
    let noise = record.noise();
    let long = noise.length_ns.iter().filter(|length| **length >= threshold_ns);
    (groups, long.map(|length| Noise { length_ns: *length, interval_ns: noise.measured_ns, count: None }).collect())
}

fn simulate(options: &Predict, noise: &[Noise]) -> Result<Simulation> {
    let time_ns = options.simulate.map_or(0.0, |time| time.0);
    let intervals = (time_ns / options.interval.0).round().max(1.0);
    if intervals > INTERVALS_LIMIT {
        return Err(format!("--simulate: {intervals:.0} intervals are too many: at most {INTERVALS_LIMIT:.0}").into());
    }
    let program = Program {
        threads: options.threads,
        interval_ns: options.interval.0,
        intervals: intervals as u64,
        synchronisation: options.synchronise,
        latency_ns: options.latency.0,
        co_scheduled: options.co_scheduled,
        seed: options.seed,
    };
    let distribution = IntervalNoise::new(noise, program.exposed_ns())?;
    let style = ProgressStyle::with_template("simulating {bar:40} {percent} %, {eta} left")?;
    let bar = ProgressBar::new(1_000_000).with_style(style);
    let simulation = program.simulate(&distribution, |share| bar.inc((share * 1e6) as u64));
    bar.finish_and_clear();
    simulation
}
