// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a trace found: which parts of the kernel, and which other programs, ran on the measured CPUs while they were
//! measured, and how much of the noise each of them explains. Part of a record that was traced.
//!
//! `trace` fills it; everything that shows or judges records reads it. Facts only: nothing here measures.

use serde::{Deserialize, Serialize};

/// What a trace found during a measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Thieves {
    /// In the order of the noise that they explain, then of the time they took.
    pub sources: Vec<Source>,
    /// Samples with noise of so much or more are detours.
    pub detour_threshold_ns: f64,
    pub detours: u64,
    /// The noise of all detours together.
    pub detour_ns: f64,
    /// The part of it in which a source ran.
    pub explained_ns: f64,
    /// Detours during which no source ran at all.
    pub unexplained_detours: u64,
    pub events: u64,
    /// Events for which there was no room: with any, counts are too low.
    pub events_lost: u64,
    /// The first detour that ended the measurement, if it was to end there.
    pub stopped: Option<Stopped>,
    /// What could not be observed on this kernel, one sentence each.
    pub unobserved: Vec<String>,
}

/// One source of noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    pub kind: Kind,
    /// As the kernel calls it: an interrupt's device, a work function, a program.
    pub name: String,
    /// Who sent it, or the unit that it belongs to.
    pub origin: Option<String>,
    /// The measured CPUs on which it ran.
    pub cpus: Vec<u32>,
    pub count: u64,
    /// Net of what interrupted it; 0 where the kernel tells only that it happened.
    pub total_ns: u64,
    pub longest_ns: u64,
    /// The noise of detours in which it ran, as much of it as it ran.
    pub explained_ns: f64,
    /// The same as a share of all detours' noise.
    pub share: f64,
    /// What stops it, in one line.
    pub remedy: String,
}

/// What sort of thing a source is.
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
    /// Work that an interrupt left for its end.
    Softirq,
    /// A kernel worker, by the function it worked on.
    Kworker,
    /// Another thread of the kernel.
    KernelThread,
    /// Another program.
    Task,
    /// Of the measured program.
    PageFault,
    /// A thread came or went.
    Migration,
    /// Machine checks and firmware, where the hardware counts them.
    Hardware,
}

/// Why and where a measurement ended before its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stopped {
    pub cpu: u32,
    /// Of the detour, since the record's beginning.
    pub start_ns: u64,
    pub noise_ns: u64,
    /// What ran on that CPU around it, in order of time.
    pub events: Vec<Event>,
}

/// One thing that ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Since the record's beginning; negative before it.
    pub start_ns: i64,
    /// From its beginning to its end, with what interrupted it.
    pub length_ns: u64,
    pub kind: Kind,
    pub name: String,
    pub origin: Option<String>,
}

impl Kind {
    /// In words, for tables.
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
