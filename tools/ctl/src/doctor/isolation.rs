// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks of what keeps users apart: which measures `tacet up` takes because of the processor's bugs, and which
//! hardware threads should not be divided between Linux and a partition.
//!
//! Called by `examine`.

use super::Check;
use crate::{Isolation, Machine};

pub(super) fn checks(machine: &Machine) -> Vec<Check> {
    let cpus = machine.propose_cpus().unwrap_or_default();
    let isolation = Isolation::find(machine, &cpus);
    vec![users(&isolation), siblings(machine, &isolation)]
}

fn users(isolation: &Isolation) -> Check {
    let because = match isolation.because.as_slice() {
        [] => String::new(),
        bugs => format!(" (because of {})", bugs.join(", ")),
    };
    Check::ok("users", format!("{}{because}", isolation.measures))
}

fn siblings(machine: &Machine, isolation: &Isolation) -> Check {
    const NAME: &str = "hardware-threads";
    let online = machine.online().unwrap_or_default();
    let several = online.iter().any(|cpu| machine.siblings(cpu).intersection(&online).count() > 1);
    match isolation.between_threads.as_slice() {
        bugs @ [_, ..] if several => Check::warning(
            NAME,
            format!("the two threads of a core can read each other's data ({})", bugs.join(", ")),
            "give Linux or the partition whole cores: `tacet up` does, if no --cpus say otherwise",
        ),
        _ => Check::ok(NAME, "no bug that Linux knows lets those of one core read each other"),
    }
}
