// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `sched`: tables I and II of the HPL paper, in nodes. Runs MPI jobs under Linux's scheduler, its real-time
//! class and HPL, in turns, beside daemons. Before them, unless jobs are named, measures the cost of a switch under
//! each scheduler. Writes `build/bench/sched.json`, or `sched_JOBS.json`, and each finished run to `sched_runs.jsonl`
//! (`kept.rs`); runs without daemons go to `sched_undisturbed` and so on.
//!
//! The nodes' clock counts the instructions of all CPUs, one after the other, including idle ones (`busy_idle.rs`). So
//! times equal those of real CPUs to some percent (CAVEATS), and the host's other work does not affect them. Counts
//! come from the kernel and are exact.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tacet_node::{Accelerator, Cache, Node, NodeSpec, Topology};

use crate::configuration::{Settings, counted_node, timed_node};
use crate::guest::Guest;
use crate::instructions::region;
use crate::jobs::{self, Job, Program, Scheduler};
use crate::kept::Kept;
use crate::metric::{Metric, Metrics, write};
use crate::programs::Programs;
use crate::provenance::{counted, place};
use crate::variation::{Endless, Runs, tables, targets};
use crate::{Result, busy_idle};

/// The jobs, with the paper's names; class B is twice the work.
pub const JOBS: [Job; 9] = [
    Job { name: "ep_a_8", program: Program::Ranks("ep", 200), ranks: 8 },
    Job { name: "ep_b_8", program: Program::Ranks("ep", 400), ranks: 8 },
    Job { name: "cg_a_8", program: Program::Ranks("cg", 240), ranks: 8 },
    Job { name: "hpcc_8", program: Program::Challenge(128), ranks: 8 },
    Job { name: "lammps_8", program: Program::Crystal, ranks: 8 },
    Job { name: "ep_a_2", program: Program::Ranks("ep", 800), ranks: 2 },
    Job { name: "cg_a_2", program: Program::Ranks("cg", 2000), ranks: 2 },
    Job { name: "hpcc_2", program: Program::Challenge(128), ranks: 2 },
    Job { name: "lammps_2", program: Program::Crystal, ranks: 2 },
];
/// Two packages of two cores of two threads, and two CPUs: as many CPUs as a job has ranks.
const SHAPES: [Topology; 2] =
    [Topology { sockets: 2, dies: 1, cores: 2, threads: 2, numa_nodes: 1 }, Topology::flat(2)];
/// There is one daemon for each CPU, which works a sixteenth of the time on average. Like real daemons, they sleep for
/// seconds and then work for longer than most jobs take, so some runs meet a daemon and others none.
const PERIOD_MS: u32 = 6_400;
const ROUNDS: u32 = 128_000_000;
/// Round trips, with two switches each.
const PAIRS: usize = 2000;
/// The limit for a node to boot.
const PATIENCE: Duration = Duration::from_secs(900);
/// The limit for a job, ten times the time of the longest. In the real-time class, a job that takes longer has starved
/// the task that it waits for.
const LIMIT: Duration = Duration::from_secs(1200);
/// The CPU on which two threads wake each other.
const ONE_CPU: usize = 3;

/// Measures everything, or the jobs that are named, each `settings.runs` times under each scheduler.
pub fn sched(cache: &Cache, settings: &Settings) -> Result<Vec<Metric>> {
    if settings.runs < 2 {
        return Err(format!("--runs {}: variation needs at least 2", settings.runs).into());
    }
    let programs = Programs::build(cache)?;
    let out = programs.build_directory().join("bench");
    fs::create_dir_all(&out)?;
    let named = |job: &Job| settings.jobs.iter().any(|name| name == job.name);
    let jobs: Vec<Job> = JOBS.into_iter().filter(|job| settings.jobs.is_empty() || named(job)).collect();
    if jobs.is_empty() || jobs.len() < settings.jobs.len() {
        return Err(format!("--jobs: a name is unknown; use {}", JOBS.map(|job| job.name).join(", ")).into());
    }
    let whole = settings.jobs.is_empty() && !settings.undisturbed;
    let mut name = vec!["sched"];
    name.extend(settings.undisturbed.then_some("undisturbed"));
    name.extend(settings.jobs.iter().map(String::as_str));
    let name = name.join("_");
    let kept = &Kept::open(out.join(format!("{name}_runs.jsonl")), settings.resume)?;
    let costs = if whole { cost(cache, settings, &programs)? } else { Metrics::default() };
    let module = busy_idle::build(cache, settings.kernel, &programs)?;
    let (mut metrics, mut runs, mut endless) = (Metrics::default(), Runs::new(), Endless::new());
    // each node has its own emulator, so the clocks are independent
    let both = thread::scope(|scope| {
        let shapes = SHAPES.map(|shape| {
            let here: Vec<Job> = jobs.iter().filter(|job| job.ranks == shape.cpus()).copied().collect();
            let (programs, module) = (&programs, &module);
            scope.spawn(move || {
                on(cache, settings, programs, shape, module, &here, kept).map_err(|error| error.to_string())
            })
        });
        shapes.map(|shape| shape.join().unwrap_or_else(|_| Err("a node's thread panicked".to_owned())))
    });
    for one in both {
        let Some((here, without_end, place)) = one? else { continue };
        metrics = Metrics::at(&place);
        runs.extend(here);
        endless.extend(without_end);
    }
    tables(&mut metrics, &runs, &endless, &jobs);
    targets(&mut metrics, &runs, settings, &jobs);
    metrics.append(costs);
    let metrics = metrics.into_vec();
    write(&metrics, &out.join(format!("{name}.json")))?;
    Ok(metrics)
}

/// All runs on nodes of this shape, if it has jobs, and the place of such a node.
fn on(
    cache: &Cache,
    settings: &Settings,
    programs: &Programs,
    shape: Topology,
    module: &Path,
    jobs: &[Job],
    kept: &Kept,
) -> Result<Option<(Runs, Endless, String)>> {
    if jobs.is_empty() {
        return Ok(None);
    }
    loop {
        let node = Node::boot(cache, &node(settings, programs, shape))?;
        let guest = Guest { node: &node, programs };
        let same = counted(&node, programs.top());
        let (mut runs, endless) = kept.runs(jobs, &same)?;
        busy_idle::load(&guest, module)?;
        if !turns(&guest, settings, jobs, &mut runs, &endless, kept, &same)? {
            // the job that starved the others still runs in this node: boot another
            continue;
        }
        let place = place(&node, programs.top());
        node.power_off()?;
        return Ok(Some((runs, endless, place)));
    }
}

fn node(settings: &Settings, programs: &Programs, topology: Topology) -> NodeSpec {
    let mut spec = timed_node(settings.kernel, topology.cpus(), programs);
    spec.topology = topology;
    spec.accelerator = Accelerator::TcgSingle;
    spec.counted_time = true;
    // with these features, Linux copies with an instruction that the clock counts once for each byte
    spec.features.extend(["erms", "fsrm"].map(|feature| (feature.to_owned(), false)));
    // the node's time passes slowly if the host has other work
    (spec.boot_timeout, spec.command_timeout) = (PATIENCE, LIMIT);
    spec
}

/// Runs each job under each scheduler, in turns, so that a change over time affects all of them. Runs that were kept
/// count; each new one is kept. Returns whether all ended: the node is useless after a run that did not end.
fn turns(
    guest: &Guest,
    settings: &Settings,
    jobs: &[Job],
    runs: &mut Runs,
    endless: &Endless,
    kept: &Kept,
    same: &str,
) -> Result<bool> {
    let ranks = jobs.iter().map(|job| job.ranks).max().unwrap_or(1);
    let daemons = || jobs::daemons(guest, ranks, PERIOD_MS, ROUNDS / ranks);
    let _daemons = if settings.undisturbed { None } else { Some(daemons()?) };
    for turn in 0..settings.runs {
        for job in jobs {
            for scheduler in Scheduler::ALL.into_iter().filter(|&scheduler| job.ends_under(scheduler)) {
                let key = (job.name, scheduler.name());
                let here = runs.entry(key).or_default();
                if here.len() > turn || endless.contains(&key) {
                    continue;
                }
                let begun = Instant::now();
                let run = match job.run(guest, scheduler) {
                    Err(late) if scheduler == Scheduler::Fifo && begun.elapsed() > LIMIT => {
                        eprintln!("bench sched: turn {turn}: {late}: not tried again");
                        None
                    }
                    run => Some(run?),
                };
                kept.add(job, scheduler, same, run)?;
                let Some(run) = run else { return Ok(false) };
                eprintln!("bench sched: turn {turn}: {} under {}: {run:?}", job.name, scheduler.name());
                here.push(run);
            }
        }
    }
    Ok(true)
}

/// Measures two threads of one program that wake each other on one CPU: each time one sleeps, the CPU switches to the
/// other.
fn cost(cache: &Cache, settings: &Settings, programs: &Programs) -> Result<Metrics> {
    let mut spec = counted_node(settings.kernel, 4, programs);
    spec.boot_timeout = PATIENCE;
    let node = Node::boot(cache, &spec)?;
    let guest = Guest { node: &node, programs };
    let (mut metrics, mut costs) = (Metrics::at(&place(&node, programs.top())), Vec::new());
    for scheduler in Scheduler::ALL {
        jobs::under(&guest, scheduler, |mut argv| {
            argv.extend([programs.program("threads"), "ping_pong".to_owned(), PAIRS.to_string()]);
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
