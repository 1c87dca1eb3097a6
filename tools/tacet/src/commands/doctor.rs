// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet doctor`: can this machine run a partition? The answer is in plain words.

use serde::Serialize;
use tacet_ctl::doctor::{Check, Verdict, can_run, examine};
use tacet_ctl::{Machine, Result};

use crate::output;
use crate::text::count;

/// The exit status if a partition cannot run.
const CANNOT: u8 = 1;

/// The JSON of `doctor`.
#[derive(Serialize)]
struct Report<'a> {
    can_run: bool,
    checks: &'a [Check],
}

pub fn doctor(machine: &Machine, json: bool) -> Result<u8> {
    let checks = examine(machine);
    let report = Report { can_run: can_run(&checks), checks: &checks };
    if json {
        output::json(&report)?;
    } else {
        output::print(&describe(&checks))?;
    }
    Ok(if report.can_run { 0 } else { CANNOT })
}

fn describe(checks: &[Check]) -> String {
    let lines = checks.iter().map(|check| {
        let word = match check.verdict {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Problem => "PROBLEM",
        };
        let remedy = if check.remedy.is_empty() { String::new() } else { format!("{:33}-> {}\n", "", check.remedy) };
        format!("{word:<9}{:<24}{}\n{remedy}", check.name, check.finding)
    });
    lines.collect::<String>() + "\n" + &summary(checks) + "\n"
}

fn summary(checks: &[Check]) -> String {
    let number = |verdict| checks.iter().filter(|check| check.verdict == verdict).count() as u64;
    let warnings = count(number(Verdict::Warning), "warning", "warnings");
    match number(Verdict::Problem) {
        0 => format!("This machine can run a partition ({warnings})."),
        problems => {
            let problems = count(problems, "problem", "problems");
            format!("This machine cannot run a partition yet: {problems}, {warnings}.")
        }
    }
}
