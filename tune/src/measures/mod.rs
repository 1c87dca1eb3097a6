// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The countermeasures: one file each, one trait, one table.
//!
//! A countermeasure only proposes. The code that changes, checks and restores objects is the same for all: `apply.rs`,
//! `verify.rs`, `undo.rs`. A new countermeasure needs a file here and a row in [`ALL`].

pub mod balance;
mod bandwidth;
mod block;
mod cache;
mod clocksource;
mod compaction;
mod counters;
mod deadline_server;
mod frequency;
mod huge_page_daemon;
mod huge_pages;
mod idle_states;
pub mod interrupts;
mod kernel_threads;
mod machine_check;
mod memory;
mod memory_reserve;
mod network;
mod numa_balancing;
pub mod partition;
mod rcu;
mod real_time_throttling;
mod resctrl;
mod same_page_merging;
mod samplers;
mod siblings;
mod slices;
mod swap;
mod tick;
mod translation;
mod vmstat;
mod watchdogs;
mod workqueues;
mod writeback;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::split::{Proposal, Split};

/// The name of the countermeasure that other code depends on: with it, only the application runs on its CPUs.
pub const PARTITION: &str = "partition";

pub trait Measure: Sync {
    fn about(&self) -> &'static About;
    fn propose(&self, split: &Split) -> Proposal;
}

/// The information for a person's decision.
#[derive(Debug, Serialize)]
pub struct About {
    pub name: &'static str,
    pub does: &'static str,
    /// The thieves that it stops, as `tacet noise trace` names them.
    pub stops: &'static str,
    pub cost: &'static str,
    /// The objects by which it is applied and undone.
    pub applied: &'static str,
    /// What `verify` checks, if that is more than the objects' values.
    pub checked: &'static str,
    pub kernels: &'static str,
    pub boot: &'static str,
    pub source: &'static str,
    /// Is it applied unless the user leaves it out?
    pub usual: bool,
    /// Does it need all of its changes? Then a part of them would be worse than nothing.
    pub whole: bool,
    /// Does the kernel always refuse some of its objects? Then a refusal is not a failure.
    pub refusable: bool,
    pub number: Option<Number>,
}

/// The number that some countermeasures take.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Number {
    pub what: &'static str,
    pub usual: u64,
    pub largest: u64,
}

impl About {
    /// The values that most countermeasures have.
    pub const COMMON: About = About {
        name: "",
        does: "",
        stops: "",
        cost: "none known",
        applied: "",
        checked: "the values are read again",
        kernels: "all",
        boot: "no",
        source: "",
        usual: true,
        whole: false,
        refusable: false,
        number: None,
    };

    /// The word for the command line.
    pub fn written(&self) -> String {
        self.number.map_or(self.name.to_owned(), |number| format!("{} or {}={}", self.name, self.name, number.usual))
    }
}

/// In the order in which they are applied; they are undone in the reverse order.
pub const ALL: &[&dyn Measure] = &[
    // refused (EBUSY) after the CPUs are isolated
    &deadline_server::DeadlineServer,
    // before the partition, which moves them too and does not restore them
    &rcu::Rcu,
    &kernel_threads::KernelThreads,
    // before the partition, which is invalid while slices have its CPUs
    &slices::Slices,
    &partition::Partition,
    &balance::Balance,
    &memory::Memory,
    &memory_reserve::MemoryReserve,
    &interrupts::Interrupts,
    &workqueues::Workqueues,
    &writeback::Writeback,
    &block::Block,
    &network::Network,
    &watchdogs::Watchdogs,
    &counters::Counters,
    &samplers::Samplers,
    &tick::Tick,
    &vmstat::Vmstat,
    &clocksource::Clocksource,
    &machine_check::MachineCheck,
    &translation::Translation,
    &same_page_merging::SamePageMerging,
    &numa_balancing::NumaBalancing,
    &huge_page_daemon::HugePageDaemon,
    &huge_pages::HugePages,
    &compaction::Compaction,
    &swap::Swap,
    &real_time_throttling::RealTimeThrottling,
    &cache::Cache,
    &bandwidth::Bandwidth,
    &frequency::Frequency,
    &idle_states::IdleStates,
    &siblings::Siblings,
];

pub fn named(name: &str) -> Result<&'static dyn Measure> {
    let found = ALL.iter().find(|measure| measure.about().name == name);
    found
        .copied()
        .ok_or_else(|| Error::new(format!("countermeasure `{name}`"), "unknown", "`tacet tune list` names all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tells_all_of_itself_under_a_name_of_its_own() {
        let mut names: Vec<&str> = ALL.iter().map(|measure| measure.about().name).collect();
        for measure in ALL {
            let a = measure.about();
            let words = [a.name, a.does, a.stops, a.cost, a.applied, a.checked, a.kernels, a.boot, a.source];
            assert!(words.iter().all(|word| !word.is_empty()), "{a:?}");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
