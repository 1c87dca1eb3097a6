// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The time in which Python starts and ends, on one and on four newly booted nodes, on Linux in the same emulator, and on this
//! host.
//!
//! An emulator translates what it executes for the first time, which is most of such a time, so each figure is of nodes that
//! have run nothing else, and Linux's is of its first Python too. Must never leave a set of nodes.

use std::process::{Command, Stdio};
use std::time::Instant;

use super::Bench;
use crate::Result;
use crate::metric::Metrics;

const PYTHON: [&str; 3] = ["/usr/bin/python3", "-c", "pass"];
/// Boots of each; the middle one counts.
const TURNS: usize = 3;
/// Nodes, and the figure's name.
const SETS: [(u32, &str); 2] = [(1, "static_python_seconds"), (4, "static_python_seconds_4_nodes")];

/// Adds the figures.
pub fn start(bench: &Bench, metrics: &mut Metrics) -> Result<()> {
    let linux = middle(|| on_linux(bench))?;
    let here = middle(|| timed(Command::new(PYTHON[0]).args(&PYTHON[1..])))?;
    for (nodes, name) in SETS {
        let seconds = middle(|| on_nodes(bench, nodes))?;
        let how = format!(
            "from the start of `tacet static run` to its end, `{}`, on {nodes} newly booted nodes, the middle of {TURNS} boots; baseline: \
             the first such command of Linux in the same emulator. On this host it takes {here:.3} s",
            PYTHON.join(" ")
        );
        metrics.add(name, seconds, "s", Some(linux), &how);
    }
    Ok(())
}

fn middle(measure: impl Fn() -> Result<f64>) -> Result<f64> {
    let mut all = (0..TURNS).map(|_| measure()).collect::<Result<Vec<_>>>()?;
    all.sort_by(f64::total_cmp);
    all.get(TURNS / 2).copied().ok_or_else(|| "no turns".into())
}

fn timed(command: &mut Command) -> Result<f64> {
    let begun = Instant::now();
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(
            format!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()).into()
        );
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// The command that users have, without their configuration.
fn tacet(bench: &Bench, words: &[&str]) -> Command {
    let mut command = Command::new(bench.programs.tacet());
    command.args(["--config", "/dev/null"]).args(words).env("TACET_NODE_ACCEL", "tcg");
    command
}

fn on_nodes(bench: &Bench, nodes: u32) -> Result<f64> {
    let (name, count) = (format!("bench-start-{}", std::process::id()), nodes.to_string());
    let boot = ["static", "boot", "--name", &name, "--nodes", &count, "--accel", "tcg", "--image"];
    timed(tacet(bench, &boot).arg(bench.programs.image()))?;
    let run = ["static", "run", "--name", &name, "--nodes", &count, "--"];
    let seconds = timed(tacet(bench, &run).args(PYTHON));
    timed(&mut tacet(bench, &["static", "boot", "--down", "--name", &name]))?;
    seconds
}

/// As the node itself counts it: to boot it takes longer.
fn on_linux(bench: &Bench) -> Result<f64> {
    let mut command = tacet(bench, &["node", "run", "--", "/usr/bin/time", "-f", "%e"]);
    let output = command.args(PYTHON).stdin(Stdio::null()).output()?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    seconds(&said).ok_or_else(|| format!("{command:?}: {}: {}", output.status, said.trim()).into())
}

/// The last number that stands alone in a line.
fn seconds(text: &str) -> Option<f64> {
    text.lines().filter_map(|line| line.trim().parse().ok()).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_or_there_is_none() {
        assert_eq!(seconds("a note\n0.93\n"), Some(0.93));
        assert_eq!(seconds("0.93 s\n"), None);
    }
}
