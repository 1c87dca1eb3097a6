// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ways to reserve a CPU for a program, and the nodes for each way.
//!
//! Owns the settings of a noise measurement: the CPUs, the number of quanta, the kernel arguments.

use std::time::Duration;

use tacet_node::{Accelerator, KernelLine, NodeSpec, Plugin, Topology};

use crate::programs::Programs;

/// The CPU that executes the quanta.
pub const MEASURED: u32 = 3;
/// The CPUs that are isolated or taken.
pub const KEPT: &str = "2-3";
/// The CPUs that carry the load.
pub const LOADED: &str = "0-1";

/// The system on the measured CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Configuration {
    /// Linux as it is installed.
    DefaultLinux,
    /// Linux with boot parameters that isolate the CPU as far as possible.
    IsolatedLinux,
    /// Linux with the countermeasures of `tacet tune`, which the bench of that name applies.
    TunedLinux,
    /// The co-kernel.
    Tacet,
}

/// The settings of a measurement.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The node's kernel.
    pub kernel: KernelLine,
    /// How many quanta.
    pub quanta: u64,
    /// Rounds of the quantum's loop of two instructions.
    pub iterations: u64,
    /// The disturbances of the load; empty: all.
    pub disturbances: Vec<String>,
    /// How often each job runs under each scheduler.
    pub runs: usize,
    /// The jobs by name; empty: all.
    pub jobs: Vec<String>,
    /// Run the jobs without daemons beside them, to measure the cost of the schedulers themselves.
    pub undisturbed: bool,
    /// Continue an earlier bench: use the runs that it kept.
    pub resume: bool,
}

impl Configuration {
    /// The configurations in the order of the table. The countermeasures have a table of their own.
    pub const ALL: [Configuration; 3] =
        [Configuration::DefaultLinux, Configuration::IsolatedLinux, Configuration::Tacet];

    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Configuration::DefaultLinux => "default Linux",
            Configuration::IsolatedLinux => "isolated Linux",
            Configuration::TunedLinux => "tuned Linux",
            Configuration::Tacet => "Tacet",
        }
    }

    /// Words for the kernel command line.
    pub fn kernel_arguments(self) -> String {
        match self {
            Configuration::IsolatedLinux => {
                format!("isolcpus=nohz,domain,managed_irq,{KEPT} nohz_full={KEPT} rcu_nocbs={KEPT}")
            }
            _ => String::new(),
        }
    }

    /// A node of four CPUs with the plugin.
    pub fn node(self, settings: &Settings, programs: &Programs) -> NodeSpec {
        counted_node(settings.kernel, 4, programs).argument(&self.kernel_arguments())
    }
}

impl Settings {
    /// The settings of `make bench`.
    pub fn full(kernel: KernelLine) -> Settings {
        Settings {
            kernel,
            quanta: 100_000,
            iterations: 20_000,
            disturbances: Vec::new(),
            runs: 30,
            jobs: Vec::new(),
            undisturbed: false,
            resume: false,
        }
    }

    /// Enough for a picture: some seconds for each configuration.
    pub fn quick() -> Settings {
        Settings { quanta: 10_000, ..Settings::full(KernelLine::V6_12) }
    }

    /// The text for the `method` of a metric.
    pub fn describe(&self) -> String {
        let load = if self.disturbances.is_empty() { "all".to_owned() } else { self.disturbances.join(",") };
        format!(
            "{} quanta of {} loop rounds on cpu {MEASURED}, load {load} on cpus {LOADED}",
            self.quanta, self.iterations
        )
    }
}

/// A node whose instructions are counted.
pub fn counted_node(kernel: KernelLine, cpus: u32, programs: &Programs) -> NodeSpec {
    let mut spec = timed_node(kernel, cpus, programs);
    spec.plugins.push(Plugin { object: programs.plugin(), arguments: Vec::new() });
    spec
}

/// A node without a plugin, for times.
pub fn timed_node(kernel: KernelLine, cpus: u32, programs: &Programs) -> NodeSpec {
    let mut spec = NodeSpec::new(kernel).share(programs.build_directory());
    spec.topology = Topology::flat(cpus);
    spec.accelerator = Accelerator::Tcg;
    spec.command_timeout = Duration::from_secs(600);
    spec
}
