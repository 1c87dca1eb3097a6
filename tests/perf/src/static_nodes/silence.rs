// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions that something stole from fixed work quanta of DAXPY, on all CPUs of a static node, and on all
//! CPUs of a Linux node that has nothing else to do.
//!
//! One process on each of four CPUs. Must never return zeros that were not counted: every CPU's quanta are checked, and a
//! Linux without a stolen instruction means that the plugin did not count.

use tacet_node::Node;
use tacet_noise::exact::log::{Log, Quanta};

use super::Bench;
use super::emulator::Shape;
use crate::Result;
use crate::configuration::counted_node;
use crate::guest::Guest;
use crate::metric::Metrics;

const CPUS: u32 = 4;
/// On each CPU: a million in all.
const QUANTA: u64 = 250_000;
/// Passes over the vectors of 256 elements in a quantum.
const ROUNDS: u64 = 4;
/// Of the inner loop, at least.
const LEAST_INSTRUCTIONS: u64 = ROUNDS * 256 * 4;
const MEMORY: &str = "64M";
/// Where tests/perf/static/Makefile links the program.
const OWN: &str = "own=10000000-10200000";

/// The sums over all CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stolen {
    instructions: u64,
    quanta_hit: u64,
    worst: u64,
    interrupts: u64,
    /// The program's own, in a quantum.
    user: u64,
}

/// Adds the figures.
pub fn silence(bench: &Bench, metrics: &mut Metrics) -> Result<()> {
    let own = own(bench)?;
    let linux = on_linux(bench)?;
    if linux.instructions == 0 {
        return Err("no instruction was stolen on Linux: the plugin counts nothing".into());
    }
    let how = format!(
        "{} quanta of DAXPY ({} user instructions each), {QUANTA} on each of {CPUS} CPUs at once, one process a CPU: all \
         that the CPUs executed meanwhile besides them, counted by a plugin of the emulator; baseline: Linux as it is \
         booted, the same program pinned to the same CPUs of a node that does nothing else",
        u64::from(CPUS) * QUANTA,
        own.user
    );
    let mut add = |name: &str, own: u64, linux: u64, unit| {
        metrics.add(name, own as f64, unit, Some(linux as f64), &how);
    };
    add("static_stolen_instructions", own.instructions, linux.instructions, "instructions");
    add("static_stolen_instructions_worst_quantum", own.worst, linux.worst, "instructions");
    add("static_quanta_hit", own.quanta_hit, linux.quanta_hit, "quanta");
    add("static_quanta_interrupts", own.interrupts, linux.interrupts, "interrupts");
    Ok(())
}

fn own(bench: &Bench) -> Result<Stolen> {
    let cpus = CPUS.to_string();
    let flags = ["--cpus", &cpus, "--processes", &cpus, "--node-memory", MEMORY];
    let shape = Shape { flags: &flags, plugin: Some(format!("{},{OWN}", bench.programs.plugin().display())) };
    let words = [QUANTA.to_string(), ROUNDS.to_string()];
    let ran = bench.job(&shape, &[&bench.programs.program("daxpy"), &words[0], &words[1]])?;
    judge("a static node", ran.logs.first().ok_or("the plugin wrote no log")?)
}

fn on_linux(bench: &Bench) -> Result<Stolen> {
    let programs = bench.linux_programs()?;
    let mut spec = counted_node(bench.settings.kernel, CPUS, &programs);
    spec.plugins.iter_mut().for_each(|plugin| plugin.arguments.push(OWN.to_owned()));
    let node = Node::boot(bench.cache, &spec)?;
    let program = bench.programs.program("daxpy");
    let last = CPUS - 1;
    let script = format!("for cpu in $(seq 0 {last}); do {program} {QUANTA} {ROUNDS} $cpu & done; wait");
    Guest { node: &node, programs: &programs }.shell(&script)?;
    let log = std::fs::read_to_string(node.plugin_log())?;
    node.power_off()?;
    judge("Linux", &log)
}

/// The sums of a log that has all quanta of all CPUs.
fn judge(name: &str, log: &str) -> Result<Stolen> {
    let log = Log::parse(log);
    let mut sum = Stolen { instructions: 0, quanta_hit: 0, worst: 0, interrupts: 0, user: 0 };
    for cpu in 0..CPUS {
        let record = log.quanta.iter().find(|record| record.cpu == cpu);
        let record = record.ok_or_else(|| format!("{name}: the plugin saw no markers on CPU {cpu}"))?;
        record.check(QUANTA, LEAST_INSTRUCTIONS, cpu).map_err(|error| format!("{name}: {error}"))?;
        add(&mut sum, record);
    }
    Ok(sum)
}

fn add(sum: &mut Stolen, record: &Quanta) {
    for hit in &record.hits {
        let stolen = hit.kernel + hit.other;
        sum.instructions += stolen;
        sum.worst = sum.worst.max(stolen);
        sum.quanta_hit += u64::from(stolen > 0);
        sum.interrupts += hit.interrupts;
    }
    sum.user = record.user;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(cpus: u32, hit: &str) -> String {
        let record = |cpu| format!("fwq {cpu} 0 quanta {QUANTA} user 6000\n{hit}end {cpu}\n");
        (0..cpus).map(record).collect()
    }

    #[test]
    fn all_cpus_must_have_all_quanta() {
        assert!(judge("here", &log(CPUS - 1, "")).is_err());
        assert_eq!(judge("here", &log(CPUS, "")).unwrap().instructions, 0);
    }

    #[test]
    fn what_is_stolen_is_added_up() {
        let hit = "hit 2 user 6000 other 5 kernel 23 entries 1 interrupts 1 exceptions 0 first ffffffff80000000\n";
        let stolen = judge("here", &log(CPUS, hit)).unwrap();
        assert_eq!((stolen.instructions, stolen.quanta_hit, stolen.worst, stolen.interrupts), (112, 4, 28, 4));
    }
}
