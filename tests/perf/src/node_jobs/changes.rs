// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The instructions of a CPU that joins the partition or leaves it, on all CPUs of the node.

use crate::Result;
use crate::configuration::KEPT;
use crate::guest::Guest;
use crate::instructions::region;
use crate::metric::Metrics;
use crate::times::middle;

/// How many CPUs each command moves.
const COUNT: f64 = 2.0;
/// How often each command is counted.
const TURNS: usize = 3;
/// Linux's own hot-plugging of the same CPUs.
const SWITCH: &str = "for cpu in 2 3; do echo $0 >/sys/devices/system/cpu/cpu$cpu/online; done";

/// Adds the figures. The node has the plugin and no partition; it has none afterwards.
pub fn changes(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let tacet = guest.programs.tacet().display().to_string();
    guest.run(&[&tacet, "up", "--spare", KEPT, "--memory", "64M"])?;
    let [mut off, mut on, mut grow, mut shrink] = [const { Vec::new() }; 4];
    for _ in 0..TURNS {
        off.push(counted(guest, &["sh", "-ec", SWITCH, "0"])?);
        on.push(counted(guest, &["sh", "-ec", SWITCH, "1"])?);
        grow.push(counted(guest, &[&tacet, "grow", "--cpus", KEPT])?);
        shrink.push(counted(guest, &[&tacet, "shrink", "--cpus", KEPT])?);
    }
    guest.down()?;
    let how = format!(
        "instructions of all CPUs, in any mode, from the start to the end of the command for two CPUs, divided by two; middle of {TURNS}; baseline: Linux's own hot-plugging of these CPUs by sysfs"
    );
    metrics.add("grow_instructions_per_cpu", middle(grow), "instructions", Some(middle(off)), &how);
    metrics.add("shrink_instructions_per_cpu", middle(shrink), "instructions", Some(middle(on)), &how);
    Ok(())
}

/// For one CPU of the command.
fn counted(guest: &Guest, command: &[&str]) -> Result<f64> {
    let around = guest.programs.program("around");
    guest.run(&[&[around.as_str()], command].concat())?;
    let all: u64 = region(guest.node)?.iter().map(|counts| counts.user + counts.kernel).sum();
    Ok(all as f64 / COUNT)
}
