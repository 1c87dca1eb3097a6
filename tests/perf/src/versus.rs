// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs the same program on Linux and on the partition of one node, and measures the cost of a round on each. Called by
//! the benches `calls` and `memory`, which choose the comparisons.
//!
//! The plugin counts the instructions of the kernels. Times are the median of alternating runs in one node.

use tacet_noise::exact::log::Counts;

use crate::Result;
use crate::guest::Guest;
use crate::instructions::{FIRST, region};
use crate::times::middle;

/// How often each line is timed on each side.
const TURNS: usize = 3;

/// The side that executes the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Linux as it was booted.
    Linux,
    /// Linux that uses large pages wherever it can.
    HugePages,
    /// The co-kernel.
    Partition,
}

/// A program whose rounds are compared.
#[derive(Debug, Clone)]
pub struct Line {
    /// The name of its metrics.
    pub name: String,
    pub program: &'static str,
    pub words: Vec<String>,
    pub rounds: usize,
    /// CPUs as arguments of the program on Linux, to pin itself.
    pub cpus: Vec<String>,
    /// Flags of `tacet run`.
    pub flags: Vec<&'static str>,
    /// Run two MPI ranks of it?
    pub ranks: bool,
}

/// The partition of the measurement.
#[derive(Debug, Clone, Copy)]
pub struct Partition {
    pub cpus: &'static str,
    pub memory: &'static str,
}

/// The cost of one round.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    pub ns: f64,
    /// Kernel instructions on all CPUs: ticks and background work of Linux are included.
    pub node: f64,
    /// Kernel instructions on the CPUs of the partition, also while it is down.
    pub kept: f64,
}

impl Line {
    /// The command line.
    fn words(&self, guest: &Guest, side: Side) -> Vec<String> {
        let mut words: Vec<String> =
            if self.ranks { ["mpiexec", "-n", "2"].map(str::to_owned).to_vec() } else { Vec::new() };
        if side == Side::Partition {
            words.extend([guest.programs.tacet().display().to_string(), "run".to_owned()]);
            words.push("--populate".to_owned());
            words.extend(self.flags.iter().map(|flag| (*flag).to_owned()));
            words.push("--".to_owned());
        }
        words.push(guest.programs.program(self.program));
        words.extend_from_slice(&self.words);
        if side != Side::Partition {
            words.extend_from_slice(&self.cpus);
        }
        words
    }
}

/// Counts the instructions of each line, once on each side.
pub fn counted(guest: &Guest, lines: &[Line], sides: &[Side], partition: Partition) -> Result<Vec<Vec<Cost>>> {
    turn(guest, lines, sides, partition, |line, _| {
        let counts = region(guest.node)?;
        let kernel = |from: usize| counts.iter().skip(from).map(|c: &Counts| c.kernel).sum::<u64>() as f64;
        let rounds = line.rounds as f64;
        Ok(Cost { ns: f64::NAN, node: kernel(0) / rounds, kept: kernel(FIRST) / rounds })
    })
}

/// Times each line on each side, in turns.
pub fn timed(guest: &Guest, lines: &[Line], sides: &[Side], partition: Partition) -> Result<Vec<Vec<f64>>> {
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        turns.push(turn(guest, lines, sides, partition, |_, ns| Ok(Cost { ns, ..Cost::default() }))?);
    }
    let of = |line: usize, side: usize| middle(turns.iter().map(|turn| turn[line][side].ns).collect());
    Ok((0..lines.len()).map(|line| (0..sides.len()).map(|side| of(line, side)).collect()).collect())
}

/// Runs every line on every side; calls `cost` after each run, with the program's own time of a round.
fn turn(
    guest: &Guest,
    lines: &[Line],
    sides: &[Side],
    partition: Partition,
    cost: impl Fn(&Line, f64) -> Result<Cost>,
) -> Result<Vec<Vec<Cost>>> {
    let mut costs = vec![Vec::new(); lines.len()];
    for side in sides {
        on(guest, *side, partition, || {
            for (line, costs) in lines.iter().zip(&mut costs) {
                let said = guest.numbers(&line.words(guest, *side))?;
                let ns = said.get("call_ns").ok_or_else(|| format!("{}: no time", line.name))?;
                costs.push(cost(line, *ns)?);
            }
            Ok(())
        })?;
    }
    Ok(costs)
}

/// Does something while the node is in the state of `side`.
pub fn on<T>(guest: &Guest, side: Side, partition: Partition, action: impl FnOnce() -> Result<T>) -> Result<T> {
    match side {
        Side::Linux => action(),
        Side::HugePages => {
            let before = guest.shell(TAKE_LARGE_PAGES)?;
            let result = action();
            guest.run(&["bash", "-ec", GIVE_BACK, "", before.trim()])?;
            result
        }
        Side::Partition => {
            guest.up_with(partition.cpus, partition.memory)?;
            let result = action();
            guest.down()?;
            result
        }
    }
}

const TAKE_LARGE_PAGES: &str = r"
    cd /sys/kernel/mm/transparent_hugepage
    echo $(sed 's/.*\[\(.*\)\].*/\1/' enabled defrag)
    echo always > enabled; echo always > defrag";
const GIVE_BACK: &str = r"
    cd /sys/kernel/mm/transparent_hugepage
    set -- $1; echo $1 > enabled; echo $2 > defrag";
