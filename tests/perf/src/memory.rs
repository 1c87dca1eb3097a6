// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `memory`: the cost of anonymous memory from the partition, compared with Linux's in the same node, as
//! booted and with large pages. Writes `build/bench/memory.json`.
//!
//! Owns the comparisons on one core; `versus.rs` measures, `faults.rs` counts page faults, `allocator.rs` uses more
//! cores.

use tacet_node::{Cache, Node};

use crate::Result;
use crate::configuration::{Settings, counted_node, timed_node};
use crate::faults::{EDGE, STEPS};
use crate::guest::Guest;
use crate::metric::{Metric, Metrics, write};
use crate::programs::Programs;
use crate::provenance::place;
use crate::versus::{Cost, Line, Partition, Side, counted, timed};
use crate::{allocator, faults};

pub const SIDES: [Side; 3] = [Side::Linux, Side::HugePages, Side::Partition];
const KINDS: [(&str, usize); 5] =
    [("map_unmap_4k", 200), ("map_unmap_2m", 200), ("map_unmap_1g", 1), ("touch_2m", 200), ("heap", 200)];
/// The partition; Linux keeps the CPUs before these. The memory has room for an aligned page of 1 GiB besides the rest.
const PARTITION: Partition = Partition { cpus: "2-3", memory: "2560M" };
const NODE_MIB: u32 = 6144;

/// Measures everything.
pub fn memory(cache: &Cache, settings: &Settings) -> Result<Vec<Metric>> {
    let programs = Programs::build(cache)?;
    let file = programs.build_directory().join("bench/memory.json");
    let lines = lines();

    let mut spec = counted_node(settings.kernel, 4, &programs);
    spec.memory_mib = NODE_MIB;
    let node = Node::boot(cache, &spec)?;
    let guest = Guest { node: &node, programs: &programs };
    let place = place(&node, programs.top());
    let mut metrics = Metrics::at(&place);
    eprintln!("measuring: page faults");
    faults::faults(&guest, PARTITION, &mut metrics)?;
    eprintln!("measuring: instructions");
    for (line, costs) in lines.iter().zip(counted(&guest, &lines, &SIDES, PARTITION)?) {
        add_instructions(&mut metrics, line, &costs)?;
    }
    node.power_off()?;

    let mut spec = timed_node(settings.kernel, 4, &programs);
    spec.memory_mib = NODE_MIB;
    let node = Node::boot(cache, &spec)?;
    let guest = Guest { node: &node, programs: &programs };
    eprintln!("measuring: times");
    for (line, times) in lines.iter().zip(timed(&guest, &lines, &SIDES, PARTITION)?) {
        add_times(&mut metrics, line, &times)?;
    }
    node.power_off()?;
    // the allocators come last because they take longest: if they fail, the other results are kept
    let mut metrics = metrics.into_vec();
    for part in [allocator::instructions, allocator::times] {
        write(&metrics, &file)?;
        let mut more = Metrics::at(&place);
        part(cache, settings, &programs, &mut more)?;
        metrics.extend(more.into_vec());
    }
    write(&metrics, &file)?;
    Ok(metrics)
}

fn lines() -> Vec<Line> {
    let line = |name: &str, program, words: [&str; 2], rounds| Line {
        name: name.to_owned(),
        program,
        words: words.map(str::to_owned).to_vec(),
        rounds,
        cpus: vec!["2".to_owned()],
        flags: vec!["--memory", "own"],
        ranks: false,
    };
    let memory = KINDS.iter().map(|(kind, rounds)| line(kind, "memory", [kind, &rounds.to_string()], *rounds));
    memory.chain([line("step", "steps", [&STEPS.to_string(), EDGE], STEPS)]).collect()
}

/// Adds the instructions on Linux as booted, on Linux with large pages, and on the partition.
pub fn add_instructions(metrics: &mut Metrics, line: &Line, costs: &[Cost]) -> Result<()> {
    let [linux, huge, own] = costs else { return Err("memory: a side is missing".into()) };
    let name = &line.name;
    let how = format!("kernel instructions of one of {} rounds of {name} on a core", line.rounds);
    let (node, core) = (format!("{how}, of all CPUs"), format!("{how}, of the CPUs that the partition has, or had"));
    let mut add = |suffix: &str, value, baseline, how: &str, which: &str| {
        let how = format!("{how}; baseline: Linux {which}");
        metrics.add(&format!("{name}_{suffix}"), value, "instructions", Some(baseline), &how);
    };
    add("instructions", own.node, huge.node, &node, "with large pages");
    add("core_instructions", own.kept, huge.kept, &core, "with large pages");
    add("core_instructions_default_linux", own.kept, linux.kept, &core, "as it was booted");
    Ok(())
}

/// Adds the times; ratios are Linux's time over the partition's.
pub fn add_times(metrics: &mut Metrics, line: &Line, times: &[f64]) -> Result<()> {
    let [linux, huge, own] = times else { return Err("memory: a side is missing".into()) };
    let name = &line.name;
    let how = format!("time of one of {} rounds of {name}, middle of three turns", line.rounds);
    let mut add = |suffix: &str, linux: f64, which: &str| {
        let how = format!("{how}: on Linux {which}, over that on a core");
        metrics.add(&format!("{name}_{suffix}"), linux / own, "ratio", None, &how);
    };
    add("ratio", *huge, "with large pages");
    add("default_linux_ratio", *linux, "as it was booted");
    let how = format!("{how}, on a core; baseline: Linux with large pages");
    metrics.add(&format!("{name}_ns"), *own, "ns", Some(*huge), &how);
    Ok(())
}
