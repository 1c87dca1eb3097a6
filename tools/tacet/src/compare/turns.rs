// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The turns. In each turn, every rung is entered, the program runs once, and the rung is left. Every other turn has
//! the reverse order, so that a host that slowly changes speed does not look like a difference between rungs. The first
//! turn also measures the noise of each rung.
//!
//! A rung that cannot be entered on this node is left out, with the reason. This code must never return while a rung is
//! in force.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use tacet_ctl::{Error, Result};

use super::process::{Processes, words};
use super::rungs::{Place, Rung};
use super::verdict::Times;

/// How many thieves of a rung are reported.
const NAMED: usize = 3;
/// Exit status of `tacet tune apply`: applied, but the kernel refused a part.
const PARTLY: i32 = 1;

pub struct Plan {
    pub place: Place,
    pub rungs: Vec<Rung>,
    pub runs: u16,
    /// How long noise is measured, as `tacet noise --duration` takes it.
    pub noise: String,
    pub trust_clock: bool,
    pub command: Vec<OsString>,
}

/// How the program did on one rung.
#[derive(Debug, Serialize)]
pub struct RungResult {
    pub rung: Rung,
    /// None if the rung could not be entered.
    #[serde(flatten)]
    pub times: Option<Times>,
    pub noise: Option<Noise>,
    /// Why the times, the noise or the thieves are missing.
    pub missing: Vec<String>,
}

/// Noise seen by fixed work on the CPUs of the rung, without the program.
#[derive(Debug, Serialize)]
pub struct Noise {
    pub max_noise_ns: f64,
    pub noise_rate: f64,
    /// The sources that explain most of the noise; None if the rung cannot be traced.
    pub thieves: Option<Vec<Thief>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Thief {
    pub kind: String,
    pub name: String,
    pub origin: Option<String>,
    pub count: u64,
    pub explained_ns: f64,
}

#[derive(Deserialize)]
struct Measured {
    max_noise_ns: f64,
    noise_rate: f64,
}

#[derive(Deserialize)]
struct Traced {
    summary: Measured,
    thieves: Thieves,
}

#[derive(Deserialize)]
struct Thieves {
    sources: Vec<Thief>,
}

/// What the runs found, and the error or the signal that ended them early.
pub type Found = (Vec<RungResult>, Option<Error>);

/// Calls `say` before each step. Fails if no run has ended.
pub fn compare(processes: &Processes, plan: &Plan, say: &mut dyn FnMut(String)) -> Result<Found> {
    in_turns(plan, say, &mut |result, first| one(processes, plan, result, first))
}

fn in_turns(
    plan: &Plan,
    say: &mut dyn FnMut(String),
    one: &mut dyn FnMut(&mut RungResult, bool) -> Result<()>,
) -> Result<Found> {
    let result = |rung: &Rung| RungResult { rung: *rung, times: None, noise: None, missing: Vec::new() };
    let mut all: Vec<RungResult> = plan.rungs.iter().map(result).collect();
    let mut ended = None;
    'turns: for turn in 0..plan.runs {
        let mut order: Vec<&mut RungResult> = all.iter_mut().collect();
        if turn % 2 == 1 {
            order.reverse();
        }
        // The first turn finds out which rungs this node offers.
        for result in order.into_iter().filter(|result| turn == 0 || result.times.is_some()) {
            say(format!("run {} of {} on {}", turn + 1, plan.runs, result.rung.name()));
            if let Err(error) = one(result, turn == 0) {
                ended = Some(error);
                break 'turns;
            }
        }
    }
    match ended {
        Some(error) if all.iter().all(|result| result.times.is_none()) => Err(error),
        ended => Ok((all, ended)),
    }
}

fn one(processes: &Processes, plan: &Plan, result: &mut RungResult, first: bool) -> Result<()> {
    let rung = result.rung;
    match entered(processes, plan, result, first) {
        Ok(true) => (),
        Ok(false) => return Ok(()),
        Err(error) => {
            // Entering may have been interrupted halfway: leave the rung, and ignore an error of leaving.
            drop(rung.leave().map(|words| processes.finish(&words)));
            return Err(error);
        }
    }
    let done = run(processes, plan, result, first);
    if let Some(words) = rung.leave() {
        let left = processes.finish(&words)?;
        if !left.status.success() {
            return Err(Error::new(rung.name(), left.complained, "it is still in force; undo it by hand"));
        }
    }
    done
}

/// Enters the rung; false if this node does not offer it (the reason goes to `missing`).
fn entered(processes: &Processes, plan: &Plan, result: &mut RungResult, first: bool) -> Result<bool> {
    let Some(words) = result.rung.enter(&plan.place) else { return Ok(true) };
    let ended = processes.run(&words)?;
    if ended.status.success() || (result.rung.may_be_partial() && ended.status.code() == Some(PARTLY)) {
        return Ok(true);
    }
    if !first {
        return Err(Error::new(result.rung.name(), ended.complained, "it could be entered in the first turn"));
    }
    result.missing.push(ended.complained);
    Ok(false)
}

fn run(processes: &Processes, plan: &Plan, result: &mut RungResult, first: bool) -> Result<()> {
    if first {
        result.noise = noise(processes, plan, result)?;
    }
    let ran = processes.run(&result.rung.run(&plan.place, &plan.command))?;
    if !ran.status.success() {
        let cause = format!("the program ended with {} {}", ran.status, ran.complained);
        return Err(Error::new(result.rung.name(), cause.trim(), "compare a program that ends with status 0"));
    }
    result.times.get_or_insert_default().add(ran.seconds);
    Ok(())
}

/// Measures noise, with the trace if the rung can be traced.
fn noise(processes: &Processes, plan: &Plan, result: &mut RungResult) -> Result<Option<Noise>> {
    if result.rung.can_be_traced() {
        match laboratory::<Traced>(processes, plan, result.rung, "trace")? {
            Ok(Traced { summary, thieves }) => {
                let found = thieves.sources.into_iter().filter(|thief| thief.explained_ns > 0.0);
                return Ok(Some(summary.with(Some(found.take(NAMED).collect()))));
            }
            Err(why) => result.missing.push(format!("no thieves: {why}")),
        }
    }
    match laboratory::<Measured>(processes, plan, result.rung, "measure")? {
        Ok(measured) => Ok(Some(measured.with(None))),
        Err(why) => {
            result.missing.push(format!("no noise: {why}"));
            Ok(None)
        }
    }
}

impl Measured {
    fn with(self, thieves: Option<Vec<Thief>>) -> Noise {
        Noise { max_noise_ns: self.max_noise_ns, noise_rate: self.noise_rate, thieves }
    }
}

fn laboratory<T: for<'a> Deserialize<'a>>(
    processes: &Processes,
    plan: &Plan,
    rung: Rung,
    how: &str,
) -> Result<std::result::Result<T, String>> {
    let folder = tempfile::tempdir().map_err(|error| Error::io("temporary directory", &error, ""))?;
    let record = folder.path().join("noise.parquet").display().to_string();
    let trust = plan.trust_clock.then_some("--trust-clock");
    let rest = [how, "--json", "--cpus", &plan.place.cpus, "--duration", &plan.noise, "--output", &record];
    let ended = processes.run(&rung.run(&plan.place, &words("tacet-noise", rest.into_iter().chain(trust))))?;
    if !ended.status.success() {
        return Ok(Err(ended.complained));
    }
    Ok(serde_json::from_str(&ended.said).map_err(|error| format!("output of tacet-noise: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::verdict;

    /// Three rungs, five turns; the run with this number, from 0, is interrupted.
    fn interrupted_at(run: usize) -> Result<Found> {
        let place = Place { cpus: "2-3".to_owned(), memory: "1G".to_owned() };
        let rungs = vec![Rung::Default, Rung::Tuned, Rung::Hpl];
        let plan = Plan { place, rungs, runs: 5, noise: "1s".to_owned(), trust_clock: false, command: Vec::new() };
        let mut number = 0;
        in_turns(&plan, &mut drop, &mut |result, _| {
            if number == run {
                return Err(Error::new("compare", "interrupted", ""));
            }
            number += 1;
            result.times.get_or_insert_default().add(if result.rung == Rung::Hpl { 1.0 } else { 2.0 });
            Ok(())
        })
    }

    #[test]
    fn what_ran_before_an_interruption_is_a_result() {
        assert!(interrupted_at(0).is_err());
        for run in 1..15 {
            let (all, error) = interrupted_at(run).expect("results");
            assert!(error.is_some());
            let counts = all.iter().map(|result| result.times.as_ref().map_or(0, |times| times.seconds.len()));
            assert_eq!(counts.sum::<usize>(), run);
            // four whole turns
            assert_eq!(verdict(&all).0, (run >= 12).then_some(Rung::Hpl), "{run}");
        }
        assert!(interrupted_at(15).expect("results").1.is_none());
    }
}
