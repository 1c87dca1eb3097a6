// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `sched`: tables I and II of the HPL paper in a node: MPI jobs under Linux's scheduler, its real-time class
//! and HPL, in turns, beside daemons. Before them what a switch costs under each. Writes `build/bench/sched.json`.
//!
//! Times are of a node whose clock counts instructions, one CPU after the other: the host's other work is no part of
//! them, and where all CPUs are busy they pass as on CPUs of their own. Counts are the kernel's, exact.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use tacet_node::{Accelerator, Cache, Node, NodeSpec, Topology};

use crate::Result;
use crate::configuration::{Settings, counted_node, timed_node};
use crate::guest::Guest;
use crate::instructions::region;
use crate::jobs::{self, Job, Run, Scheduler};
use crate::metric::{Metric, Metrics, write};
use crate::programs::Programs;
use crate::provenance::place;

/// The paper's names: class B is twice the work.
const JOBS: [Job; 5] = [
    Job { name: "ep_a_8", program: "ep", size: 400, ranks: 8 },
    Job { name: "ep_b_8", program: "ep", size: 800, ranks: 8 },
    Job { name: "cg_a_8", program: "cg", size: 400, ranks: 8 },
    Job { name: "ep_a_2", program: "ep", size: 1600, ranks: 2 },
    Job { name: "cg_a_2", program: "cg", size: 1600, ranks: 2 },
];
/// Whose switches are compared with those of twice the work.
const SIZES: [&str; 2] = ["ep_a_8", "ep_b_8"];
/// One daemon for each CPU: on average one CPU's work in sixteen, whatever the number of CPUs.
const PERIOD_MS: u32 = 400;
const ROUNDS: u32 = 8_000_000;
/// There and back, so two switches each.
const PAIRS: usize = 2000;
/// For a node to boot.
const PATIENCE: Duration = Duration::from_secs(900);
/// Where two threads wake each other.
const ONE_CPU: usize = 3;

/// All runs of a job under a scheduler.
type Runs = BTreeMap<(&'static str, &'static str), Vec<Run>>;

/// Measures everything, each job `settings.runs` times under each scheduler.
pub fn sched(cache: &Cache, settings: &Settings) -> Result<Vec<Metric>> {
    if settings.runs < 2 {
        return Err(format!("--runs {}: of fewer than 2 nothing can vary", settings.runs).into());
    }
    let programs = Programs::build(cache)?;
    let out = programs.build_directory().join("bench");
    fs::create_dir_all(&out)?;
    let jobs: Vec<Job> = JOBS
        .into_iter()
        .filter(|job| settings.jobs.is_empty() || settings.jobs.iter().any(|name| name == job.name))
        .collect();
    if jobs.is_empty() {
        return Err(format!("--jobs: none of these: {}", JOBS.map(|job| job.name).join(", ")).into());
    }
    let costs = cost(cache, settings, &programs)?;
    let mut metrics = Metrics::default();
    let mut runs = Runs::new();
    for (ranks, topology) in [(8, Topology { sockets: 2, cores: 2, threads: 2, numa_nodes: 1 }), (2, Topology::flat(2))]
    {
        let here: Vec<Job> = jobs.iter().filter(|job| job.ranks == ranks).copied().collect();
        if here.is_empty() {
            continue;
        }
        let node = Node::boot(cache, &node(settings, &programs, topology))?;
        metrics = Metrics::at(&place(&node, programs.top()));
        let guest = Guest { node: &node, programs: &programs };
        turns(&guest, settings.runs, &here, &mut runs)?;
        node.power_off()?;
    }
    tables(&mut metrics, &runs, settings.runs, &jobs);
    targets(&mut metrics, &runs, settings.runs, &jobs);
    metrics.append(costs);
    let metrics = metrics.into_vec();
    write(&metrics, &out.join("sched.json"))?;
    Ok(metrics)
}

fn node(settings: &Settings, programs: &Programs, topology: Topology) -> NodeSpec {
    let mut spec = timed_node(settings.kernel, topology.cpus(), programs);
    spec.topology = topology;
    spec.accelerator = Accelerator::TcgSingle;
    spec.counted_time = true;
    // its time passes slowly where the host has other work
    (spec.boot_timeout, spec.command_timeout) = (PATIENCE, Duration::from_secs(3600));
    spec
}

/// Each job under each scheduler, one after the other, again and again: what changes meanwhile changes all of them.
fn turns(guest: &Guest, count: usize, jobs: &[Job], runs: &mut Runs) -> Result<()> {
    let ranks = jobs.iter().map(|job| job.ranks).max().unwrap_or(1);
    let _daemons = jobs::daemons(guest, ranks, PERIOD_MS, ROUNDS / ranks)?;
    for turn in 0..count {
        for job in jobs {
            for scheduler in Scheduler::ALL {
                let run = job.run(guest, scheduler)?;
                eprintln!("bench sched: turn {turn}: {} under {}: {run:?}", job.name, scheduler.name());
                runs.entry((job.name, scheduler.name())).or_default().push(run);
            }
        }
    }
    Ok(())
}

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

    /// As the paper has it.
    fn variation(&self) -> f64 {
        (self.max - self.min) / self.min
    }
}

fn spread(runs: &Runs, job: &'static str, scheduler: Scheduler, what: impl Fn(&Run) -> f64) -> Option<Spread> {
    Spread::of(runs.get(&(job, scheduler.name()))?.iter().map(what))
}

fn tables(metrics: &mut Metrics, runs: &Runs, count: usize, jobs: &[Job]) {
    for job in jobs {
        for scheduler in Scheduler::ALL {
            let how = format!(
                "{} ranks, {count} runs in turns with the other schedulers, under {}; baseline: under Linux's own",
                job.ranks,
                scheduler.name()
            );
            let timed = format!("{how}; from barrier to barrier, by the node's clock, which counts instructions");
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

fn targets(metrics: &mut Metrics, runs: &Runs, count: usize, jobs: &[Job]) {
    let worst = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
    let over = |job: &Job, what: fn(&Run) -> f64| {
        Some(spread(runs, job.name, Scheduler::Hpl, what)?.max - f64::from(job.ranks))
    };
    let how = format!("under HPL, {count} runs of each of {} jobs, the worst run; target 3", jobs.len());
    let own = worst(&mut jobs.iter().filter_map(|job| over(job, |run| run.job_migrations.unwrap_or(f64::NAN))));
    let all = worst(&mut jobs.iter().filter_map(|job| over(job, |run| run.migrations)));
    let what = "migrations less the number of ranks";
    metrics.add(
        "migrations_max_over_ranks",
        own,
        "migrations",
        None,
        &format!("{what}, of the job's tasks, launchers included; {how}"),
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
    let how = format!(
        "HPL over Linux's own scheduler beside the same daemons, the worst of {} jobs, {count} runs of each",
        jobs.len()
    );
    let variation = worst(&mut jobs.iter().filter_map(|job| ratio(job, Spread::variation)));
    metrics.add(
        "variation_ratio",
        variation,
        "ratio",
        None,
        &format!("(max - min) / min of run times, {how}; target 0.1"),
    );
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

/// Two threads of one program wake each other on one CPU: each time one sleeps, the other is woken and switched to.
fn cost(cache: &Cache, settings: &Settings, programs: &Programs) -> Result<Metrics> {
    let mut spec = counted_node(settings.kernel, 4, programs);
    spec.boot_timeout = PATIENCE;
    let node = Node::boot(cache, &spec)?;
    let guest = Guest { node: &node, programs };
    let (mut metrics, mut costs) = (Metrics::at(&place(&node, programs.top())), Vec::new());
    for scheduler in Scheduler::ALL {
        jobs::under(&guest, scheduler, |mut argv| {
            argv.extend([programs.program("calls"), "ping_pong".to_owned(), PAIRS.to_string()]);
            argv.extend([ONE_CPU.to_string(), ONE_CPU.to_string()]);
            guest.run(&argv)?;
            let counts = region(&node)?.into_iter().nth(ONE_CPU).ok_or("the plugin does not know the cpu")?;
            eprintln!(
                "bench sched: {} kernel instructions in {PAIRS} rounds under {}",
                counts.kernel,
                scheduler.name()
            );
            costs.push((scheduler, counts.kernel as f64 / (2 * PAIRS) as f64));
            Ok(())
        })?;
    }
    let baseline = costs.first().map(|(_, cost)| *cost);
    for (scheduler, cost) in costs {
        let how = format!(
            "kernel instructions of a cpu on which two threads wake each other by a futex, for each wake-up with its sleep, two calls \
             and one switch, mean of {}, ticks included; under {}; baseline: under Linux's own",
            2 * PAIRS,
            scheduler.name()
        );
        let baseline = baseline.filter(|_| scheduler != Scheduler::Standard);
        metrics.add(&format!("switch_instructions_{}", scheduler.name()), cost, "instructions", baseline, &how);
    }
    node.power_off()?;
    Ok(metrics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_of_the_worst_job() {
        let run = |seconds, migrations| Run { seconds, migrations, job_migrations: Some(migrations), switches: 10.0 };
        let mut runs = Runs::new();
        for job in JOBS {
            runs.insert((job.name, "standard"), vec![run(1.0, 90.0), run(2.0, 80.0)]);
            runs.insert((job.name, "hpl"), vec![run(1.0, 10.0), run(1.05, 11.0)]);
        }
        runs.insert(("cg_a_8", "hpl"), vec![run(0.9, 10.0), run(1.08, 13.0)]);
        let mut metrics = Metrics::default();
        targets(&mut metrics, &runs, 2, &JOBS);
        let of =
            |name: &str, list: &[Metric]| list.iter().find(|metric| metric.metric == name).map(|metric| metric.value);
        let list = metrics.into_vec();
        assert_eq!(of("migrations_max_over_ranks", &list), Some(9.0), "2 ranks that moved 11 times");
        assert!((of("variation_ratio", &list).unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(of("minimum_time_ratio", &list), Some(1.0));
        assert_eq!(of("switches_double_size_ratio", &list), Some(1.0));
    }
}
