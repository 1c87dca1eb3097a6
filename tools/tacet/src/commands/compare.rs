// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet compare`: does a higher rung pay for a program? It executes the other commands; it links none of them.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use tacet_ctl::status::USAGE;
use tacet_ctl::{Device, Error, PartitionState, Result};

use crate::args::CompareArgs;
use crate::compare::{Noise, Place, Plan, Processes, Rung, RungResult, compare as by_turns, verdict, words};
use crate::output;
use crate::text::duration;

/// The JSON of `compare`.
#[derive(Serialize)]
struct Report {
    command: Vec<String>,
    cpus: String,
    runs: u16,
    /// Why there are fewer runs on some rungs.
    partial: Option<String>,
    rungs: Vec<RungResult>,
    /// The highest rung that pays over the rungs below it; none if the runs do not tell.
    pays: Option<Rung>,
    verdict: String,
}

#[derive(Deserialize)]
struct TunePlan {
    application: String,
}

#[derive(Deserialize)]
struct TuneStatus {
    claims: Vec<serde_json::Value>,
    this_boot: bool,
}

pub fn compare(args: CompareArgs, json: bool) -> Result<u8> {
    let processes = Processes::new()?;
    nothing_is_in_force(&processes)?;
    let place = Place { cpus: cpus(&processes, args.cpus)?, memory: args.memory };
    let mut rungs: Vec<Rung> = if args.rungs.is_empty() { Rung::ALL.to_vec() } else { args.rungs };
    rungs.sort_unstable();
    rungs.dedup();
    let command = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (noise, trust_clock) = (args.noise, args.trust_clock);
    let plan = Plan { place, rungs, runs: args.runs, noise, trust_clock, command: args.command };
    if args.dry_run {
        return rehearse(&plan, json);
    }
    let (rungs, ended) = by_turns(&processes, &plan, &mut |step| output::note(&step))?;
    let (pays, verdict) = verdict(&rungs);
    let partial = ended.as_ref().map(Error::to_string);
    let report = Report { command, cpus: plan.place.cpus, runs: plan.runs, partial, rungs, pays, verdict };
    if json {
        output::json(&report)?
    } else {
        output::print(&describe(&report))?
    }
    // the table is the output, so this is not JSON's error
    Ok(ended.map_or(0, |error| {
        output::note(&error.to_string());
        error.status()
    }))
}

/// Says which commands would set up and remove each rung.
fn rehearse(plan: &Plan, json: bool) -> Result<u8> {
    let line = |words: Vec<OsString>| {
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        words.join(" ")
    };
    let steps = |rung: &Rung| {
        let all = [rung.enter(&plan.place), Some(rung.run(&plan.place, &plan.command)), rung.leave()];
        all.into_iter().flatten().map(line).collect::<Vec<String>>()
    };
    let steps: Vec<(&str, Vec<String>)> = plan.rungs.iter().map(|rung| (rung.name(), steps(rung))).collect();
    if json {
        let rungs = steps.iter().map(|(rung, steps)| serde_json::json!({ "rung": rung, "commands": steps }));
        let rungs: Vec<serde_json::Value> = rungs.collect();
        output::json(&serde_json::json!({ "dry_run": true, "runs": plan.runs, "rungs": rungs }))?;
        return Ok(0);
    }
    let mut text =
        format!("would do, {} times on CPUs {}, where this node offers the rung:\n", plan.runs, plan.place.cpus);
    for (rung, steps) in steps {
        text += &format!("{rung}:\n{}", steps.iter().map(|step| format!("  {step}\n")).collect::<String>());
    }
    output::print(&text)?;
    Ok(0)
}

/// With tuning, a scheduler or a partition in force, the lowest rung would not be default Linux; and at the end
/// `compare` would remove a configuration that somebody else set up.
fn nothing_is_in_force(processes: &Processes) -> Result<()> {
    let status: TuneStatus = facts(processes, &["--json", "status"])?;
    let refuse = |cause: &str, remedy: &str| Err(Error::new("node", cause, remedy));
    if status.this_boot && !status.claims.is_empty() {
        return refuse("countermeasures are applied", "`tacet tune undo` first: default Linux is compared too");
    }
    if std::fs::read_to_string("/sys/kernel/sched_ext/state").is_ok_and(|state| state.trim() != "disabled") {
        return refuse("a scheduler is loaded", "`tacet sched stop` first: default Linux is compared too");
    }
    match Device::open().and_then(|device| device.status()) {
        Ok(status) if status.state == PartitionState::Up => {
            refuse("a partition is up", "`tacet down` first: the rungs are compared on the same CPUs")
        }
        _ => Ok(()),
    }
}

/// The CPUs that `tacet tune plan` accepts: the given ones, or its proposal.
fn cpus(processes: &Processes, given: Option<String>) -> Result<String> {
    let words: Vec<&str> = given.iter().flat_map(|cpus| ["--cpus", cpus.as_str()]).collect();
    let plan: TunePlan = facts(processes, &[&["--json", "plan"], &words[..]].concat())?;
    Ok(plan.application)
}

fn facts<T: for<'a> Deserialize<'a>>(processes: &Processes, arguments: &[&str]) -> Result<T> {
    let ended = processes.run(&words("tacet-tune", arguments))?;
    if !ended.status.success() {
        let cause = ended.complained.trim_start_matches("tacet tune: ");
        return Err(Error::new("tuning", cause, "").with_status(USAGE));
    }
    serde_json::from_str(&ended.said).map_err(|error| {
        Error::new("output of tacet-tune", error, "install the tacet-tune of the same version beside tacet")
    })
}

fn describe(report: &Report) -> String {
    let heads = ["RUNG", "RUNS>", "MIDDLE>", "LEAST>", "MOST>", "VARIATION>", "NOISE>", "NOISE RATE>", "THIEVES"];
    let mut text = report.partial.as_ref().map(|why| format!("PARTIAL, {why}\n")).unwrap_or_default();
    text += &format!("{} on CPUs {}\n\n", report.command.join(" "), report.cpus);
    text += &output::table(&heads, report.rungs.iter().filter(|result| result.times.is_some()).map(row));
    for (result, why) in report.rungs.iter().flat_map(|result| result.missing.iter().map(move |why| (result, why))) {
        text += &format!("{}: {why}\n", result.rung.name());
    }
    text + "\n" + &report.verdict + "\n"
}

fn row(result: &RungResult) -> Vec<String> {
    let times = result.times.clone().unwrap_or_default();
    let seconds = |value: f64| format!("{value:.3} s");
    let noise = result.noise.as_ref();
    let length = noise.map_or("-".to_owned(), |noise| duration(noise.max_noise_ns as u64));
    let rate = noise.map_or("-".to_owned(), |noise| format!("{:.2e}", noise.noise_rate));
    vec![
        result.rung.name().to_owned(),
        times.seconds.len().to_string(),
        seconds(times.middle_seconds),
        seconds(times.least_seconds),
        seconds(times.most_seconds),
        format!("{:.2} %", 100.0 * times.variation),
        length,
        rate,
        noise.map_or("-".to_owned(), thieves),
    ]
}

fn thieves(noise: &Noise) -> String {
    match &noise.thieves {
        None => "-".to_owned(),
        Some(thieves) if thieves.is_empty() => "none".to_owned(),
        Some(thieves) => {
            let name = |thief: &crate::compare::Thief| format!("{} {}", thief.kind.replace('_', " "), thief.name);
            thieves.iter().map(name).collect::<Vec<_>>().join(", ")
        }
    }
}
