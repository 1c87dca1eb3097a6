// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The results of a trace: the thieves, that is the parts of the kernel and the other programs that ran on the measured
//! CPUs, and how much of the noise each of them explains. Part of a traced record.
//!
//! `trace` fills it; all code that shows or evaluates records reads it. Only data: nothing here measures.

use serde::{Deserialize, Serialize};

/// The results of a trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Thieves {
    /// Ordered by the noise that they explain, then by the time that they took.
    pub sources: Vec<Source>,
    /// Samples with at least this much noise are detours.
    pub detour_threshold_ns: f64,
    pub detours: u64,
    /// The noise of all detours together.
    pub detour_ns: f64,
    /// The part of `detour_ns` in which a source ran.
    pub explained_ns: f64,
    /// Detours during which no source ran at all.
    pub unexplained_detours: u64,
    pub events: u64,
    /// Events that were lost for lack of room: if there are any, counts are too low.
    pub events_lost: u64,
    /// The detour that ended the measurement, if it was to end at a long detour.
    pub stopped: Option<Stopped>,
    /// Events that could not be observed on this kernel, one sentence each.
    pub unobserved: Vec<String>,
}

/// One source of noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    pub kind: Kind,
    /// Its name in the kernel: an interrupt's device, a work function, a program.
    pub name: String,
    /// The sender, or the unit to which it belongs.
    pub origin: Option<String>,
    /// The measured CPUs on which it ran.
    pub cpus: Vec<u32>,
    pub count: u64,
    /// Without the time of its interruptions; 0 if the kernel reports only that it happened.
    pub total_ns: u64,
    pub longest_ns: u64,
    /// The part of the detours' noise during which it ran.
    pub explained_ns: f64,
    /// The same as a share of all detours' noise.
    pub share: f64,
    /// How to stop it, in one line.
    pub remedy: String,
}

/// The kind of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The CPU's own timer: the tick and other timers of the kernel.
    Timer,
    /// A device's interrupt.
    Interrupt,
    /// An interrupt from another CPU.
    Ipi,
    /// Not maskable: watchdog, performance counters.
    Nmi,
    /// Deferred work of an interrupt.
    Softirq,
    /// A kernel worker, by the function that it executed.
    Kworker,
    /// Another thread of the kernel.
    KernelThread,
    /// Another program.
    Task,
    /// A page fault of the measured program.
    PageFault,
    /// A thread moved to the CPU.
    Migration,
    /// Machine checks and firmware, where the hardware counts them.
    Hardware,
}

/// The detour that ended a measurement early.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stopped {
    pub cpu: u32,
    /// Start of the detour, since the record's beginning.
    pub start_ns: u64,
    pub noise_ns: u64,
    /// Events on that CPU around the detour, in order of time.
    pub events: Vec<Event>,
}

/// One run of a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Since the record's beginning; negative before it.
    pub start_ns: i64,
    /// From its beginning to its end, including interruptions.
    pub length_ns: u64,
    pub kind: Kind,
    pub name: String,
    pub origin: Option<String>,
}

impl Kind {
    /// A name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Timer => "timer",
            Kind::Interrupt => "interrupt",
            Kind::Ipi => "IPI",
            Kind::Nmi => "NMI",
            Kind::Softirq => "softirq",
            Kind::Kworker => "kworker",
            Kind::KernelThread => "kernel thread",
            Kind::Task => "program",
            Kind::PageFault => "page fault",
            Kind::Migration => "migration",
            Kind::Hardware => "hardware",
        }
    }
}
