// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many nodes on this host that run one job: how many, and the memory of each one's emulator.
//!
//! The job computes and prints; the memory is read while it runs. Must never count a node whose process did not print.

use std::fs;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Bench;
use super::emulator::Shape;
use crate::Result;
use crate::metric::Metrics;

const NODES: usize = 64;
const MEMORY: &str = "8M";
/// The order of the system that each node solves.
const ORDER: &str = "200";
const SAYS: &str = "error small";
const GLANCE: Duration = Duration::from_secs(1);
/// Far more than a busy host needs.
const PATIENCE: Duration = Duration::from_secs(400);

/// The memory of one process.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Memory {
    /// Its own, and its share of what it shares.
    pss_kib: u64,
    rss_kib: u64,
}

/// Adds the figures.
pub fn many(bench: &Bench, metrics: &mut Metrics) -> Result<()> {
    let nodes = NODES.to_string();
    let shape = Shape { flags: &["--nodes", &nodes, "--node-memory", MEMORY], plugin: None };
    let began = Instant::now();
    let (mut child, _) = bench.start(&shape, &[&bench.programs.program("linpack"), ORDER])?;
    let emulators = watch(&mut child)?;
    let output = child.wait_with_output()?;
    let seconds = began.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let computed = text.lines().filter(|line| *line == SAYS).count();
    if !output.status.success() || computed < NODES {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{computed} of {NODES} nodes computed: {}: {}", output.status, said.trim()).into());
    }
    if emulators.len() < NODES {
        return Err(format!("only {} emulators were seen while the job ran", emulators.len()).into());
    }
    let how = format!(
        "nodes of {MEMORY} on this host that ran one job, `linpack {ORDER}`, and each printed its result; boot, job and end \
         took {seconds:.0} s"
    );
    metrics.add("static_nodes", computed as f64, "nodes", None, &how);
    let mean = |of: fn(&Memory) -> u64| emulators.iter().map(of).sum::<u64>() as f64 / emulators.len() as f64 / 1024.0;
    let how = "mean over the emulators of that job while it ran; the host's";
    metrics.add("static_node_memory_mib", mean(|m| m.pss_kib), "MiB", None, &format!("{how} PSS"));
    metrics.add("static_node_rss_mib", mean(|m| m.rss_kib), "MiB", None, &format!("{how} RSS"));
    let how = "hosts that open files for the nodes of that job (one daemon, with the proxies beside it) per node";
    metrics.add("static_file_system_clients", 1.0 / computed as f64, "clients", Some(1.0), how);
    Ok(())
}

/// The emulators' memory when most of them were there and had touched the most.
fn watch(child: &mut Child) -> Result<Vec<Memory>> {
    let until = Instant::now() + PATIENCE;
    let mut best: Vec<Memory> = Vec::new();
    while child.try_wait()?.is_none() {
        if Instant::now() > until {
            child.kill()?;
            return Err(format!("the job did not end within {PATIENCE:?}").into());
        }
        let now = emulators(child.id());
        let sum = |all: &[Memory]| all.iter().map(|memory| memory.pss_kib).sum::<u64>();
        if now.len() > best.len() || now.len() == best.len() && sum(&now) > sum(&best) {
            best = now;
        }
        sleep(GLANCE);
    }
    Ok(best)
}

/// The memory of the emulators below a process.
fn emulators(ancestor: u32) -> Vec<Memory> {
    let mut family = vec![ancestor];
    let mut found = Vec::new();
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        next += 1;
        for child in children(parent) {
            family.push(child);
            let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            if line.windows(7).any(|part| part == b"microvm") {
                found.extend(memory(&fs::read_to_string(format!("/proc/{child}/smaps_rollup")).unwrap_or_default()));
            }
        }
    }
    found
}

fn children(parent: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    lists.flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// Reads `smaps_rollup`; a process that has ended has none.
fn memory(text: &str) -> Option<Memory> {
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some(Memory { pss_kib: of("Pss:")?, rss_kib: of("Rss:")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_or_there_is_none() {
        let text = "55-7f ---p 00000000 00:00 0 [rollup]\nRss:   2048 kB\nPss:    1024 kB\nPss_Anon: 7 kB\n";
        assert_eq!(memory(text), Some(Memory { pss_kib: 1024, rss_kib: 2048 }));
        assert_eq!(memory(""), None);
    }

    #[test]
    fn a_child_is_found() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        assert!(children(std::process::id()).contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
