// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The verdict: it claims no more than the times show.
//!
//! Pure. A rung pays over another only if each of its runs was faster than each run of the other. By chance this
//! happens once in `(2n)! / (n! n!)` comparisons: 1 in 70 for four runs each, 1 in 252 for five. Fewer than four runs
//! give no verdict.

use serde::Serialize;

use super::rungs::Rung;
use super::turns::RungResult;

const ENOUGH: usize = 4;

/// The times of all runs on one rung, in the order of the runs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Times {
    pub seconds: Vec<f64>,
    pub least_seconds: f64,
    pub middle_seconds: f64,
    pub most_seconds: f64,
    /// (most - least) / least
    pub variation: f64,
}

impl Times {
    pub fn add(&mut self, seconds: f64) {
        self.seconds.push(seconds);
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(seconds);
        let last = sorted.len().saturating_sub(1);
        (self.least_seconds, self.most_seconds) = (at(0), at(last));
        self.middle_seconds = (at(last / 2) + at(last.div_ceil(2))) / 2.0;
        self.variation = (self.most_seconds - self.least_seconds) / self.least_seconds;
    }
}

/// The highest rung that pays over those below it, and one sentence.
pub fn verdict(all: &[RungResult]) -> (Option<Rung>, String) {
    let ran: Vec<(Rung, &Times)> =
        all.iter().filter_map(|result| Some((result.rung, result.times.as_ref()?))).collect();
    let Some(((lowest, first), higher)) = ran.split_first() else {
        return (None, "the program ran on no rung.".to_owned());
    };
    if higher.is_empty() {
        return (None, format!("the program ran on {} only: there is nothing to compare.", lowest.name()));
    }
    // they differ by one if the runs were interrupted
    let runs = ran.iter().map(|(_, times)| times.seconds.len()).min().unwrap_or(0);
    if runs < ENOUGH {
        let text =
            format!("{runs} runs on each rung are not enough to say whether a higher one pays; take {ENOUGH} or more.");
        return (None, text);
    }
    let (mut best, mut times) = (*lowest, *first);
    for (rung, other) in higher {
        if other.most_seconds < times.least_seconds {
            (best, times) = (*rung, other);
        }
    }
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    if best == *lowest {
        let text = format!(
            "no higher rung pays for this program: on none of them each of {runs} runs was faster than each run on {}.",
            lowest.name()
        );
        return (Some(best), text);
    }
    let text = format!(
        "{} pays for this program: each of {runs} runs was faster than each on the rungs below, {} in the middle against \
         {}, and they vary by {} against {}.",
        best.name(),
        percent(1.0 - times.middle_seconds / first.middle_seconds),
        lowest.name(),
        percent(times.variation),
        percent(first.variation)
    );
    (Some(best), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(rung: Rung, seconds: &[f64]) -> RungResult {
        let mut times = Times::default();
        seconds.iter().for_each(|one| times.add(*one));
        let times = (!seconds.is_empty()).then_some(times);
        RungResult { rung, times, noise: None, missing: Vec::new() }
    }

    #[test]
    fn by_hand() {
        let times = result(Rung::Default, &[3.0, 2.0, 4.0, 2.5]).times.expect("four");
        assert_eq!((times.least_seconds, times.middle_seconds, times.most_seconds), (2.0, 2.75, 4.0));
        assert_eq!(times.variation, 1.0);
    }

    #[test]
    fn a_rung_pays_only_if_all_its_runs_say_so() {
        let linux = result(Rung::Default, &[10.0, 10.1, 10.2, 11.0]);
        let tuned = result(Rung::Tuned, &[9.0, 9.1, 9.1, 9.2]);
        let almost = result(Rung::Tuned, &[5.0, 5.0, 5.0, 10.0]);
        let hpl = result(Rung::Hpl, &[9.0, 8.9, 8.8, 8.7]);
        let core = result(Rung::CoKernel, &[8.0, 8.0, 8.0, 8.0]);
        let (best, text) = verdict(&[linux, tuned, hpl]);
        assert_eq!(best, Some(Rung::Tuned));
        assert!(text.starts_with("tuned Linux pays") && text.contains("2.2 % against 10.0 %"), "{text}");
        let (best, text) = verdict(&[result(Rung::Default, &[10.0; 4]), almost]);
        assert_eq!(best, Some(Rung::Default), "{text}");
        let (best, _) = verdict(&[result(Rung::Default, &[10.0; 4]), result(Rung::Tuned, &[]), core]);
        assert_eq!(best, Some(Rung::CoKernel));
    }

    #[test]
    fn too_little_says_nothing() {
        let few = [result(Rung::Default, &[2.0; 3]), result(Rung::Tuned, &[1.0; 3])];
        assert_eq!(verdict(&few).0, None);
        assert_eq!(verdict(&[result(Rung::Default, &[2.0; 9]), result(Rung::Hpl, &[])]).0, None);
        assert_eq!(verdict(&[]).0, None);
    }
}
