// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `calls`: the cost of calls that a core answers itself, and of synchronisation between threads and between
//! MPI ranks, compared with Linux in the same node. Writes `build/bench/calls.json`.
//!
//! Owns the list of comparisons; `versus.rs` measures.

use std::fs;

use tacet_node::{Cache, Node};

use crate::Result;
use crate::configuration::{Settings, counted_node, timed_node};
use crate::guest::Guest;
use crate::metric::{Metric, Metrics, write};
use crate::programs::Programs;
use crate::provenance::place;
use crate::versus::{Line, Partition, Side, counted, timed};

const SIDES: [Side; 2] = [Side::Linux, Side::Partition];
/// The partition; Linux keeps the CPUs before these.
const PARTITION: Partition = Partition { cpus: "2-3", memory: "64M" };

/// Metric, program, its argument, rounds, CPUs on Linux, flags of `tacet run`. Without CPUs, each kernel places the
/// threads.
type Row = (&'static str, &'static str, &'static str, usize, &'static [u32], &'static [&'static str]);

const ROWS: [Row; 15] = [
    ("getpid", "calls", "getpid", 2000, &[2], &[]),
    ("getcpu", "calls", "getcpu", 2000, &[2], &[]),
    ("sched_yield", "calls", "sched_yield", 2000, &[2], &[]),
    ("futex_wake", "calls", "futex_wake", 2000, &[2], &[]),
    ("futex_wait", "calls", "futex_wait", 2000, &[2], &[]),
    ("ping_pong", "threads", "ping_pong", 2000, &[2, 3], &[]),
    ("wake_to_running", "threads", "wake", 500, &[2, 3], &[]),
    ("mutex", "threads", "mutex", 2000, &[2, 2], &[]),
    ("contended_mutex", "threads", "contended_mutex", 2000, &[2, 3], &[]),
    ("barrier", "threads", "barrier", 2000, &[2, 3], &[]),
    ("thread", "threads", "thread", 200, &[], &[]),
    ("futex_switch", "threads", "ping_pong", 2000, &[2, 2], &["--cpus", "2"]),
    ("yield_switch", "threads", "yield", 2000, &[2, 2], &["--cpus", "2"]),
    ("mpi_ping_pong", "pairs", "ping_pong", 2000, &[2, 3], &[]),
    ("mpi_allreduce", "pairs", "allreduce", 2000, &[2, 3], &[]),
];

/// Measures everything.
pub fn calls(cache: &Cache, settings: &Settings) -> Result<Vec<Metric>> {
    let programs = Programs::build(cache)?;
    let out = programs.build_directory().join("bench");
    fs::create_dir_all(&out)?;
    let chosen = |row: &&Row| settings.jobs.is_empty() || settings.jobs.iter().any(|job| job == row.0);
    let lines: Vec<Line> = ROWS.iter().filter(chosen).map(line).collect();
    if let Some(job) = settings.jobs.iter().find(|job| !ROWS.iter().any(|row| row.0 == *job)) {
        return Err(format!("calls: {job}: no such row; rows: {}", ROWS.map(|row| row.0).join(", ")).into());
    }

    let node = Node::boot(cache, &counted_node(settings.kernel, 4, &programs))?;
    let mut metrics = Metrics::at(&place(&node, programs.top()));
    eprintln!("measuring: instructions");
    let costs = counted(&Guest { node: &node, programs: &programs }, &lines, &SIDES, PARTITION)?;
    for (line, cost) in lines.iter().zip(&costs) {
        let [linux, hosted] = cost[..] else { return Err("calls: a side is missing".into()) };
        let (name, how) = (&line.name, how(line));
        let node = format!("{how}: kernel instructions of the whole node");
        if linux.node != 0.0 {
            metrics.add(&format!("{name}_instruction_ratio"), hosted.node / linux.node, "ratio", None, &node);
        }
        metrics.add(&format!("{name}_instructions"), hosted.node, "instructions", Some(linux.node), &node);
        let own = format!("{how}: kernel instructions on the CPUs that the partition has, or had");
        metrics.add(&format!("{name}_core_instructions"), hosted.kept, "instructions", Some(linux.kept), &own);
    }
    node.power_off()?;

    let node = Node::boot(cache, &timed_node(settings.kernel, 4, &programs))?;
    eprintln!("measuring: times");
    let times = timed(&Guest { node: &node, programs: &programs }, &lines, &SIDES, PARTITION)?;
    for (line, time) in lines.iter().zip(&times) {
        let [linux, hosted] = time[..] else { return Err("calls: a side is missing".into()) };
        let (name, how) = (&line.name, format!("{}: time, the middle of three turns", how(line)));
        metrics.add(&format!("{name}_time_ratio"), hosted / linux, "ratio", None, &how);
        metrics.add(&format!("{name}_ns"), hosted, "ns", Some(linux), &how);
    }
    node.power_off()?;
    let metrics = metrics.into_vec();
    write(&metrics, &out.join("calls.json"))?;
    Ok(metrics)
}

fn line(row: &Row) -> Line {
    let (name, program, word, rounds, cpus, flags) = row;
    Line {
        name: (*name).to_owned(),
        program,
        words: vec![(*word).to_owned(), rounds.to_string()],
        rounds: *rounds,
        cpus: cpus.iter().map(u32::to_string).collect(),
        flags: flags.to_vec(),
        ranks: *program == "pairs",
    }
}

fn how(line: &Line) -> String {
    let cpus = if line.cpus.is_empty() { "any CPU".to_owned() } else { format!("CPUs {}", line.cpus.join(" and ")) };
    let words = line.words.join(" ");
    format!("one round of `{} {words}` on the partition; baseline: on {cpus} of Linux", line.program)
}
