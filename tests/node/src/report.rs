// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is said of each scenario when it has ended, and of all of them at the end.
//!
//! A time over budget is told and fails nothing: the host may have had other work.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tacet_node::KernelLine;

use crate::bench::Verdict;
use crate::scenario::Scenario;
use crate::times::Times;

/// How many of the slowest scenarios are named.
const SLOWEST: usize = 10;
/// How many failed scenarios are repeated: where everything is broken, repeating tells nothing.
const REPEATED: u32 = 5;

pub struct Report {
    full: bool,
    sum: Mutex<Sum>,
    repeated: AtomicU32,
}

#[derive(Default)]
struct Sum {
    times: Times,
    passed: u32,
    /// What was said of each: a reader who keeps only the end of a long output finds it there.
    failed: Vec<String>,
    flaky: Vec<String>,
    /// Seconds, budget, kernel and name.
    took: Vec<(u64, u64, String)>,
}

impl Report {
    pub fn new(full: bool, times: Times) -> Report {
        Report { full, sum: Mutex::new(Sum { times, ..Sum::default() }), repeated: AtomicU32::new(0) }
    }

    /// How many seconds a scenario is likely to take.
    pub fn expected(&self, kernel: KernelLine, scenario: &Scenario) -> u64 {
        self.sum().times.seconds(kernel, scenario.name).unwrap_or(scenario.budget().as_secs() / 4)
    }

    /// Whether another failed scenario may be repeated.
    pub fn may_repeat(&self) -> bool {
        self.repeated.fetch_add(1, Ordering::Relaxed) < REPEATED
    }

    pub fn add(&self, verdict: Verdict) {
        let (kernel, name, took) = (verdict.kernel, verdict.scenario.name, verdict.took);
        let mut sum = self.sum();
        match verdict.said {
            Ok(said) => {
                let boot = if took.boot > 0 { format!("boot {} s, ", took.boot) } else { String::new() };
                println!("ok {kernel} {name} ({} s, {boot}{said})", took.seconds);
                sum.passed += 1;
                sum.times.set(kernel, name, took);
            }
            Err(reason) => {
                let said = format!("not ok {kernel} {name}: {reason} ({} s)", took.seconds);
                println!("{said}");
                sum.failed.push(said);
            }
        }
        sum.flaky.extend(verdict.flaky.map(|why| format!("flaky {kernel} {name}: {why}")));
        sum.took.push((took.seconds, verdict.scenario.budget().as_secs(), format!("{kernel} {name}")));
    }

    /// No scenario could run.
    pub fn broken(&self, said: String) {
        println!("{said}");
        self.sum().failed.push(said);
    }

    pub fn end(self) -> ExitCode {
        let mut sum = self.sum.into_inner().unwrap_or_else(PoisonError::into_inner);
        sum.took.sort_unstable_by(|a, b| b.cmp(a));
        println!("The slowest of {} s in two lanes:", sum.took.iter().map(|(seconds, ..)| seconds).sum::<u64>());
        for line in slowest(&sum.took, self.full) {
            println!("{line}");
        }
        for flaky in &sum.flaky {
            println!("{flaky}");
        }
        if !sum.failed.is_empty() {
            println!("Once more, what failed:\n{}", sum.failed.join("\n"));
        }
        println!("{} passed, {} failed", sum.passed, sum.failed.len());
        if sum.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn sum(&self) -> MutexGuard<'_, Sum> {
        self.sum.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slowest, and all that took longer than their budget; with everything there are no budgets.
fn slowest(took: &[(u64, u64, String)], full: bool) -> Vec<String> {
    let over = |seconds: u64, budget: u64| !full && seconds > budget;
    let told = took.iter().enumerate().filter(|(at, (seconds, budget, _))| *at < SLOWEST || over(*seconds, *budget));
    told.map(|(_, (seconds, budget, name))| {
        let warning = if over(*seconds, *budget) { format!(": more than its {budget} s") } else { String::new() };
        format!("{seconds:5} s {name}{warning}")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_and_all_over_their_budget_are_told() {
        let mut took = vec![(500, 120, "first".to_owned())];
        took.extend((0..12).map(|n| (100, 120, format!("other {n}"))));
        took.push((70, 60, "small".to_owned()));
        let said = slowest(&took, false);
        assert_eq!(said.len(), SLOWEST + 1);
        assert_eq!(said[0], "  500 s first: more than its 120 s");
        assert_eq!(said[SLOWEST], "   70 s small: more than its 60 s");
        assert_eq!(slowest(&took, true).len(), SLOWEST);
    }

    #[test]
    fn not_everything_is_repeated() {
        let report = Report::new(false, Times::default());
        assert_eq!((0..20).filter(|_| report.may_repeat()).count(), REPEATED as usize);
    }
}
