// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of earlier verdicts.

use std::time::{Duration, UNIX_EPOCH};

use super::{ns, table};
use crate::history::Entry;
use crate::measure::machine;
use crate::units::rate;

/// One line for each verdict.
pub fn history(entries: &[Entry]) -> String {
    if entries.is_empty() {
        return "no check has measured here yet: `tacet noise check`\n".into();
    }
    let mut table =
        table(&["when", "host", "cpus", "verdict", "longest noise", "limit", "noise rate", "limit", "thief"]);
    for entry in entries {
        let when = UNIX_EPOCH.checked_add(Duration::from_secs(entry.began_unix_s));
        let when = when.map_or_else(|| "-".into(), |when| humantime::format_rfc3339_seconds(when).to_string());
        let limit = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let cells = [
            when,
            entry.host.clone(),
            machine::cpu_list(&entry.cpus),
            entry.verdict.replace('_', " "),
            ns(entry.max_noise_ns),
            limit(entry.max_noise_limit_ns.map(ns)),
            rate(entry.noise_rate),
            limit(entry.noise_rate_limit.map(rate)),
            limit(entry.thief.clone()),
        ];
        table.add_row(cells);
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}
