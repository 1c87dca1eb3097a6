// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The paper's tables and the targets, computed from all runs of the bench `sched`.
//!
//! Measures nothing: the runs come from `sched.rs`.

use std::collections::{BTreeMap, BTreeSet};

use crate::configuration::Settings;
use crate::jobs::{Job, Program, Run, Scheduler};
use crate::metric::Metrics;

/// Two jobs whose switches are compared; the second does twice the work.
const SIZES: [&str; 2] = ["ep_a_8", "ep_b_8"];

/// The runs of each job under each scheduler.
pub type Runs = BTreeMap<(&'static str, &'static str), Vec<Run>>;

/// Jobs of which one run did not end under a scheduler, so that no further run was tried.
pub type Endless = BTreeSet<(&'static str, &'static str)>;

/// Minimum, average, maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    min: f64,
    mean: f64,
    max: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let values: Vec<f64> = values.collect();
        let (min, max) = (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
        Some(Spread { min, mean: values.iter().sum::<f64>() / values.len() as f64, max })
    }

    /// The paper's definition of variation.
    fn variation(&self) -> f64 {
        (self.max - self.min) / self.min
    }
}

fn spread(runs: &Runs, job: &'static str, scheduler: Scheduler, what: impl Fn(&Run) -> f64) -> Option<Spread> {
    Spread::of(runs.get(&(job, scheduler.name()))?.iter().map(what))
}

pub fn tables(metrics: &mut Metrics, runs: &Runs, endless: &Endless, jobs: &[Job]) {
    for job in jobs {
        for scheduler in Scheduler::ALL {
            let key = (job.name, scheduler.name());
            let count = runs.get(&key).map_or(0, Vec::len);
            let last = if endless.contains(&key) { " and one that did not end" } else { "" };
            let how = format!(
                "{} ranks, {count} runs{last} in turns with the other schedulers, under {}; baseline: under Linux's own",
                job.ranks,
                scheduler.name()
            );
            let from = match job.program {
                Program::Ranks(..) => "from barrier to barrier",
                Program::Challenge(_) | Program::Crystal => "from a barrier after MPI_Init to MPI_Finalize",
            };
            let timed = format!("{how}; {from}, by the node's clock, which counts instructions");
            let mut add = |what: &str, unit, method: &str, of: fn(&Run) -> f64| {
                let (here, there) =
                    (spread(runs, job.name, scheduler, of)?, spread(runs, job.name, Scheduler::Standard, of)?);
                let mut one = |part: &str, value, baseline| {
                    let baseline = (scheduler != Scheduler::Standard).then_some(baseline);
                    metrics.add(
                        &format!("{}_{what}_{part}_{}", job.name, scheduler.name()),
                        value,
                        unit,
                        baseline,
                        method,
                    );
                };
                one("min", here.min, there.min);
                one("mean", here.mean, there.mean);
                one("max", here.max, there.max);
                Some((here, there))
            };
            let counted =
                format!("{how}; of the whole node while the job lives, with its start, daemons and kernel threads");
            add("migrations", "migrations", &counted, |run| run.migrations);
            add("switches", "switches", &counted, |run| run.switches);
            if let Some((here, there)) = add("seconds", "s", &timed, |run| run.seconds) {
                let baseline = (scheduler != Scheduler::Standard).then_some(there.variation());
                let name = format!("{}_variation_{}", job.name, scheduler.name());
                metrics.add(&name, here.variation(), "ratio", baseline, &format!("{timed}; (max - min) / min"));
            }
        }
    }
}

pub fn targets(metrics: &mut Metrics, runs: &Runs, settings: &Settings, jobs: &[Job]) {
    let count = settings.runs;
    let worst = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
    let over = |job: &Job, what: fn(&Run) -> f64| {
        Some(spread(runs, job.name, Scheduler::Hpl, what)?.max - f64::from(job.ranks))
    };
    let how = format!("under HPL, {count} runs of each of {} jobs, the worst run", jobs.len());
    let own = worst(&mut jobs.iter().filter_map(|job| over(job, |run| run.job_migrations.unwrap_or(f64::NAN))));
    let all = worst(&mut jobs.iter().filter_map(|job| over(job, |run| run.migrations)));
    let what = "migrations less the number of ranks";
    metrics.add(
        "migrations_max_over_ranks",
        own,
        "migrations",
        None,
        &format!("{what}, of the job's tasks, launchers included, unless their allowed CPUs changed; {how}; target 3"),
    );
    let rebound = |job: &Job| {
        Some(spread(runs, job.name, Scheduler::Hpl, |run| run.rebound.unwrap_or(f64::NAN))?.max / f64::from(job.ranks))
    };
    metrics.add(
        "rebound_migrations_max_per_rank",
        worst(&mut jobs.iter().filter_map(rebound)),
        "migrations",
        None,
        &format!("those of the job's tasks whose allowed CPUs had changed, by their own call, for each rank; {how}"),
    );
    metrics.add(
        "node_migrations_max_over_ranks",
        all,
        "migrations",
        None,
        &format!("{what}, of all tasks of the node; {how}"),
    );
    let ratio = |job: &Job, of: fn(&Spread) -> f64| {
        let time = |scheduler| spread(runs, job.name, scheduler, |run| run.seconds);
        Some(of(&time(Scheduler::Hpl)?) / of(&time(Scheduler::Standard)?))
    };
    let beside = if settings.undisturbed { "without daemons" } else { "beside the same daemons" };
    let how =
        format!("HPL over Linux's own scheduler {beside}, the worst of {} jobs, {count} runs of each", jobs.len());
    // without daemons only the clock varies
    let (name, of, what): (_, fn(&Spread) -> f64, _) = if settings.undisturbed {
        ("mean_time_ratio", |time| time.mean, format!("mean run times, {how}"))
    } else {
        ("variation_ratio", Spread::variation, format!("(max - min) / min of run times, {how}; target 0.1"))
    };
    metrics.add(name, worst(&mut jobs.iter().filter_map(|job| ratio(job, of))), "ratio", None, &what);
    let minimum = worst(&mut jobs.iter().filter_map(|job| ratio(job, |time| time.min)));
    metrics.add("minimum_time_ratio", minimum, "ratio", None, &format!("shortest run times, {how}; target 1"));
    let switches = |scheduler| {
        let [a, b] = SIZES.map(|job| spread(runs, job, scheduler, |run| run.switches));
        Some(b?.mean / a?.mean)
    };
    if let (Some(hpl), Some(standard)) = (switches(Scheduler::Hpl), switches(Scheduler::Standard)) {
        let how = format!(
            "mean switches of the node during {} over those during {}; baseline: Linux's own scheduler",
            SIZES[1], SIZES[0]
        );
        metrics.add("switches_double_size_ratio", hpl, "ratio", Some(standard), &how);
    }
}

#[cfg(test)]
mod tests {
    use tacet_node::KernelLine;

    use super::*;
    use crate::metric::Metric;
    use crate::sched::JOBS;

    #[test]
    fn targets_are_of_the_worst_job() {
        let run = |seconds, migrations| Run {
            seconds,
            migrations,
            job_migrations: Some(migrations),
            rebound: Some(4.0),
            switches: 10.0,
        };
        let mut runs = Runs::new();
        for job in JOBS {
            runs.insert((job.name, "standard"), vec![run(1.0, 90.0), run(2.0, 80.0)]);
            runs.insert((job.name, "hpl"), vec![run(1.0, 10.0), run(1.05, 11.0)]);
        }
        runs.insert(("cg_a_8", "hpl"), vec![run(0.9, 10.0), run(1.08, 13.0)]);
        let mut metrics = Metrics::default();
        let mut settings = Settings { runs: 2, ..Settings::full(KernelLine::V7) };
        targets(&mut metrics, &runs, &settings, &JOBS);
        let of =
            |name: &str, list: &[Metric]| list.iter().find(|metric| metric.metric == name).map(|metric| metric.value);
        let list = metrics.into_vec();
        assert_eq!(of("migrations_max_over_ranks", &list), Some(9.0), "2 ranks that moved 11 times");
        assert!((of("variation_ratio", &list).unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(of("minimum_time_ratio", &list), Some(1.0));
        assert_eq!(of("switches_double_size_ratio", &list), Some(1.0));
        settings.undisturbed = true;
        let mut metrics = Metrics::default();
        targets(&mut metrics, &runs, &settings, &JOBS);
        let list = metrics.into_vec();
        assert!((of("mean_time_ratio", &list).unwrap() - 1.025 / 1.5).abs() < 1e-9);
        assert_eq!(of("variation_ratio", &list), None);
    }
}
