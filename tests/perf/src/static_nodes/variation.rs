// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The variation of a kernel like LINPACK's over 36 runs on a static node, in instructions of the program and in
//! all that its CPU executed.
//!
//! Each run is a job of its own on a node of its own boot, as in the paper each was a boot's.

use tacet_noise::exact::log::Log;

use super::Bench;
use super::emulator::Shape;
use crate::Result;
use crate::metric::Metrics;

const RUNS: usize = 36;
const ORDER: &str = "100";
const MEMORY: &str = "16M";
/// The least number of instructions for two thirds of the cube of the order.
const LEAST_INSTRUCTIONS: u64 = 1_000_000;

/// Adds the figures.
pub fn variation(bench: &Bench, metrics: &mut Metrics) -> Result<()> {
    let shape =
        Shape { flags: &["--node-memory", MEMORY], plugin: Some(bench.programs.plugin().display().to_string()) };
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let ran = bench.job(&shape, &[&bench.programs.program("linpack"), ORDER])?;
        if ran.text != "error small\n" {
            return Err(format!("linpack printed `{}`", ran.text.trim()).into());
        }
        runs.push(counts(ran.logs.first().ok_or("the plugin wrote no log")?)?);
    }
    let users: Vec<u64> = runs.iter().map(|run| run.0).collect();
    let all: Vec<u64> = runs.iter().map(|run| run.0 + run.1).collect();
    let how = format!(
        "(most - fewest) / fewest instructions of {RUNS} runs, each on a newly booted node, of a LINPACK-like kernel of order \
         {ORDER} ({} user instructions), counted by a plugin of the emulator",
        users.first().unwrap_or(&0)
    );
    metrics.add("static_variation", spread(&users), "ratio", None, &format!("{how}: the program's"));
    let all_how = format!("{how}: all of its CPU's, kernel included");
    metrics.add("static_variation_with_kernel", spread(&all), "ratio", None, &all_how);
    Ok(())
}

/// Instructions of the program and of the kernel in the region.
fn counts(log: &str) -> Result<(u64, u64)> {
    let log = Log::parse(log);
    let (_, cpus) = log.regions.into_iter().next_back().ok_or("the plugin saw no region")?;
    let cpu = cpus.first().ok_or("the region has no CPU")?;
    if cpu.user < LEAST_INSTRUCTIONS {
        return Err(format!("the plugin counted only {} instructions", cpu.user).into());
    }
    Ok((cpu.user, cpu.kernel))
}

fn spread(values: &[u64]) -> f64 {
    let (least, most) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
    (most - least) as f64 / least.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_of_the_extremes() {
        assert_eq!(spread(&[100, 100, 100]), 0.0);
        assert_eq!(spread(&[100, 130, 110]), 0.3);
    }

    #[test]
    fn a_region_without_work_does_not_count() {
        assert!(counts("region 2 cpu 0 user 5 kernel 0 interrupts 0\n").is_err());
        assert_eq!(counts("region 2 cpu 0 user 2000000 kernel 7 interrupts 0\n").unwrap(), (2_000_000, 7));
    }
}
