// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a scenario is.

use std::time::Duration;

/// One thing that a node goes through.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// What it shows, in a few words; unique.
    pub name: &'static str,
    /// The script of `tests/faults` and its arguments.
    pub script: &'static str,
    /// On which kernels it runs unless everything was asked for.
    pub place: Place,
    /// Whether the node survives it.
    pub end: End,
    /// Killed, and failed, after this long.
    pub limit: Duration,
}

/// Where a scenario runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On every kernel: what touches what kernels do differently.
    Everywhere,
    /// On the kernel in the middle of the matrix only.
    Middle,
}

/// What a scenario leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The node, as it was.
    Node,
    /// Nothing: the node switches itself off. It runs on a node of its own.
    PoweredOff,
}

impl Scenario {
    /// Runs everywhere, with the usual limit.
    pub const fn new(name: &'static str, script: &'static str) -> Scenario {
        Scenario { name, script, place: Place::Everywhere, end: End::Node, limit: Duration::from_secs(600) }
    }

    /// On the middle kernel only.
    pub const fn middle(mut self) -> Scenario {
        self.place = Place::Middle;
        self
    }

    /// May take so many seconds.
    pub const fn within(mut self, seconds: u64) -> Scenario {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Switches its node off.
    pub const fn powers_off(mut self) -> Scenario {
        self.end = End::PoweredOff;
        self
    }
}
