// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All scenarios, in the order in which a mistake is cheapest to find.

use crate::scenario::Scenario;

pub const SCENARIOS: &[Scenario] = &[
    Scenario::new("up and down with every choice of CPUs", "partition.sh choices"),
    Scenario::new("a start that fails at every step", "partition.sh steps"),
    Scenario::new("requests that cannot be met", "partition.sh refusals"),
    Scenario::new("memory that cannot be had", "partition.sh memory"),
    Scenario::new("kills at random instants", "kills.sh random").within(900),
];
