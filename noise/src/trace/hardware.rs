// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counts events that take a CPU away from the kernel itself: firmware (system management interrupts) and machine
//! checks. The kernel sees neither their begin nor their end; some hardware counts them, but does not measure their
//! length.

use std::collections::HashMap;
use std::fs;

use perf_event::Counter;

/// Counts events from the call of [`Hardware::watch`] on.
pub struct Hardware {
    firmware: Vec<(u32, Counter)>,
    machine_checks: HashMap<u32, u64>,
    cpus: Vec<u32>,
}

/// The number of events of one kind on one CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    pub cpu: u32,
    pub name: &'static str,
    pub count: u64,
}

pub const FIRMWARE: &str = "system management interrupt";
const MACHINE_CHECK: &str = "machine check";

impl Hardware {
    pub fn watch(cpus: &[u32]) -> Hardware {
        let firmware = cpus.iter().filter_map(|&cpu| Some((cpu, firmware_counter(cpu)?))).collect();
        Hardware { firmware, machine_checks: machine_checks(), cpus: cpus.to_vec() }
    }

    /// Whether the hardware counts system management interrupts on every watched CPU.
    pub fn sees_firmware(&self) -> bool {
        self.firmware.len() == self.cpus.len()
    }

    pub fn happened(mut self) -> Vec<Happened> {
        let firmware = self.firmware.iter_mut().map(|(cpu, counter)| (*cpu, FIRMWARE, counter.read().unwrap_or(0)));
        let mut all: Vec<_> = firmware.collect();
        let now = machine_checks();
        for cpu in self.cpus {
            let of = |counts: &HashMap<u32, u64>| counts.get(&cpu).copied().unwrap_or(0);
            all.push((cpu, MACHINE_CHECK, of(&now).saturating_sub(of(&self.machine_checks))));
        }
        all.into_iter()
            .filter(|(_, _, count)| *count > 0)
            .map(|(cpu, name, count)| Happened { cpu, name, count })
            .collect()
    }
}

#[cfg(target_arch = "x86_64")]
fn firmware_counter(cpu: u32) -> Option<Counter> {
    use perf_event::Builder;
    use perf_event::events::x86::{Msr, MsrId};
    let mut builder = Builder::new(Msr::new(MsrId::SMI).ok()?);
    let mut counter = builder.any_pid().one_cpu(cpu as usize).include_kernel().include_hv().build().ok()?;
    counter.enable().ok()?;
    Some(counter)
}

#[cfg(not(target_arch = "x86_64"))]
fn firmware_counter(_: u32) -> Option<Counter> {
    None
}

/// Machine-check exceptions per CPU. Polls are not counted: they are the kernel's own work, and the trace sees them.
fn machine_checks() -> HashMap<u32, u64> {
    of_table(&fs::read_to_string("/proc/interrupts").unwrap_or_default(), "MCE:")
}

fn of_table(table: &str, label: &str) -> HashMap<u32, u64> {
    let mut lines = table.lines();
    let heads = lines.next().unwrap_or_default().split_whitespace();
    let cpus: Vec<u32> = heads.filter_map(|head| head.strip_prefix("CPU")?.parse().ok()).collect();
    let counts = lines.find_map(|line| line.trim_start().strip_prefix(label)).unwrap_or_default();
    cpus.into_iter().zip(counts.split_whitespace().map_while(|word| word.parse().ok())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_interrupts() {
        let table = "            CPU0       CPU2\n   0:  7 8  IO-APIC timer\n MCE:          3          5   Machine check exceptions\n";
        assert_eq!(of_table(table, "MCE:"), HashMap::from([(0, 3), (2, 5)]));
        assert_eq!(of_table(table, "XYZ:"), HashMap::new());
    }
}
