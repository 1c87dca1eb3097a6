// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Turn by turn: each rung is entered, the program run once, and the rung left; every other turn goes backwards, so that a
//! host that drifts does not look like a rung. In the first turn noise is measured there too.
//!
//! A rung that cannot be entered on this node is left out, with the reason. Must never end without having left.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use tacet_ctl::{Error, Result};

use super::process::{Processes, words};
use super::rungs::{Place, Rung};
use super::verdict::Times;

/// Of the thieves on a rung.
const NAMED: usize = 3;
/// Of `tacet tune apply`: done, but something was refused.
const PARTLY: i32 = 1;

pub struct Plan {
    pub place: Place,
    pub rungs: Vec<Rung>,
    pub runs: u16,
    /// How long noise is measured, as the laboratory reads it.
    pub noise: String,
    pub trust_clock: bool,
    pub command: Vec<OsString>,
}

/// How the program did on one rung.
#[derive(Debug, Serialize)]
pub struct Stood {
    pub rung: Rung,
    /// None if it could not be entered.
    #[serde(flatten)]
    pub times: Option<Times>,
    pub noise: Option<Noise>,
    /// Why there are no times, or no noise, or no thieves.
    pub missing: Vec<String>,
}

/// Fixed work on the CPUs of the rung, without the program.
#[derive(Debug, Serialize)]
pub struct Noise {
    pub max_noise_ns: f64,
    pub noise_rate: f64,
    /// Those that explain most of it; none were looked for where there is no trace.
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

/// `say` hears each step.
pub fn compare(processes: &Processes, plan: &Plan, say: &mut dyn FnMut(String)) -> Result<Vec<Stood>> {
    let stood = |rung: &Rung| Stood { rung: *rung, times: None, noise: None, missing: Vec::new() };
    let mut all: Vec<Stood> = plan.rungs.iter().map(stood).collect();
    for turn in 0..plan.runs {
        let mut order: Vec<&mut Stood> = all.iter_mut().collect();
        if turn % 2 == 1 {
            order.reverse();
        }
        // the first turn says which rungs there are
        for stood in order.into_iter().filter(|stood| turn == 0 || stood.times.is_some()) {
            say(format!("run {} of {} on {}", turn + 1, plan.runs, stood.rung.name()));
            one(processes, plan, stood, turn == 0)?;
        }
    }
    Ok(all)
}

fn one(processes: &Processes, plan: &Plan, stood: &mut Stood, first: bool) -> Result<()> {
    let rung = stood.rung;
    match entered(processes, plan, stood, first) {
        Ok(true) => (),
        Ok(false) => return Ok(()),
        Err(error) => {
            // interrupted halfway, perhaps: then there may be something to leave, or nothing
            drop(rung.leave().map(|words| processes.finish(&words)));
            return Err(error);
        }
    }
    let done = run(processes, plan, stood, first);
    if let Some(words) = rung.leave() {
        let left = processes.finish(&words)?;
        if !left.status.success() {
            return Err(Error::new(rung.name(), left.complained, "it is still in force"));
        }
    }
    done
}

/// Whether it is; if not, the first turn notes why.
fn entered(processes: &Processes, plan: &Plan, stood: &mut Stood, first: bool) -> Result<bool> {
    let Some(words) = stood.rung.enter(&plan.place) else { return Ok(true) };
    let ended = processes.run(&words)?;
    if ended.status.success() || (stood.rung.may_be_partial() && ended.status.code() == Some(PARTLY)) {
        return Ok(true);
    }
    if !first {
        return Err(Error::new(stood.rung.name(), ended.complained, "it was entered before"));
    }
    stood.missing.push(ended.complained);
    Ok(false)
}

fn run(processes: &Processes, plan: &Plan, stood: &mut Stood, first: bool) -> Result<()> {
    if first {
        stood.noise = noise(processes, plan, stood)?;
    }
    let ran = processes.run(&stood.rung.run(&plan.place, &plan.command))?;
    if !ran.status.success() {
        let cause = format!("the program ended with {} {}", ran.status, ran.complained);
        return Err(Error::new(stood.rung.name(), cause.trim(), "compare a program that ends well"));
    }
    stood.times.get_or_insert_default().add(ran.seconds);
    Ok(())
}

/// By the trace where there is one.
fn noise(processes: &Processes, plan: &Plan, stood: &mut Stood) -> Result<Option<Noise>> {
    if stood.rung.can_be_traced() {
        match laboratory::<Traced>(processes, plan, stood.rung, "trace")? {
            Ok(Traced { summary, thieves }) => {
                let found = thieves.sources.into_iter().filter(|thief| thief.explained_ns > 0.0);
                return Ok(Some(summary.with(Some(found.take(NAMED).collect()))));
            }
            Err(why) => stood.missing.push(format!("no thieves: {why}")),
        }
    }
    match laboratory::<Measured>(processes, plan, stood.rung, "measure")? {
        Ok(measured) => Ok(Some(measured.with(None))),
        Err(why) => {
            stood.missing.push(format!("no noise: {why}"));
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
    Ok(serde_json::from_str(&ended.said).map_err(|error| format!("what tacet-noise said: {error}")))
}
