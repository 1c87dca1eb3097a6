// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counts a thread's events between two moments: those that paper 001 (section III) compares with run time.

use nix::sys::resource::{UsageWho, getrusage};
use perf_event::events::Hardware;
use perf_event::{Builder, Counter};

use super::machine::line_of;
use crate::record::Counters;

/// Must begin and end in the measuring thread.
pub struct Watch {
    before: Counters,
    instructions: Option<Counter>,
}

impl Watch {
    pub fn begin() -> Watch {
        let mut builder = Builder::new(Hardware::INSTRUCTIONS);
        let mut instructions = builder.exclude_kernel(true).exclude_hv(true).build().ok();
        let before = now();
        if instructions.as_mut().is_some_and(|counter| counter.enable().is_err()) {
            instructions = None;
        }
        Watch { before, instructions }
    }

    pub fn end(mut self) -> Counters {
        let instructions = self.instructions.as_mut().and_then(|counter| {
            counter.disable().ok()?;
            counter.read().ok()
        });
        let after = now();
        let before = self.before;
        Counters {
            voluntary_switches: after.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: after.involuntary_switches.saturating_sub(before.involuntary_switches),
            minor_faults: after.minor_faults.saturating_sub(before.minor_faults),
            major_faults: after.major_faults.saturating_sub(before.major_faults),
            migrations: after.migrations.zip(before.migrations).map(|(after, before)| after.saturating_sub(before)),
            instructions,
            ..Counters::default()
        }
    }
}

fn now() -> Counters {
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    let of = |count: fn(&nix::sys::resource::Usage) -> i64| usage.as_ref().map_or(0, count) as u64;
    Counters {
        voluntary_switches: of(|usage| usage.voluntary_context_switches()),
        involuntary_switches: of(|usage| usage.involuntary_context_switches()),
        minor_faults: of(|usage| usage.minor_page_faults()),
        major_faults: of(|usage| usage.major_page_faults()),
        migrations: migrations(&line_of("/proc/thread-self/sched")),
        ..Counters::default()
    }
}

/// Migrations of the thread; known only on kernels with scheduler statistics.
fn migrations(sched: &str) -> Option<u64> {
    let line = sched.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_read_if_the_kernel_has_them() {
        assert_eq!(migrations("x (1, #threads: 1)\nse.nr_migrations        :                   42\n"), Some(42));
        assert_eq!(migrations(""), None);
    }

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        let watch = Watch::begin();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(watch.end().voluntary_switches > 0);
    }
}
