// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet doctor`: can this machine run a partition? With `--slurm`: can Slurm give jobs CPUs of one? The answer is in plain
//! words.

use std::process::{Command, Stdio};

use serde::Serialize;
use tacet_ctl::doctor::slurm::{self, Answers, Site};
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
    /// What works without a partition.
    works: Beside,
    checks: &'a [Check],
}

pub fn doctor(machine: &Machine, json: bool) -> Result<u8> {
    let checks = examine(machine);
    let report = Report { can_run: can_run(&checks), works: Beside::find(machine), checks: &checks };
    if json {
        output::json(&report)?;
    } else {
        output::print(&(describe(&checks) + "\n" + &summary(&checks) + "\n" + &report.works.sentence()))?;
    }
    Ok(if report.can_run { 0 } else { CANNOT })
}

/// The JSON of `doctor --slurm`.
#[derive(Serialize)]
struct SlurmReport<'a> {
    /// `srun --tacet` can work.
    can_run: bool,
    checks: &'a [Check],
}

pub fn doctor_of_slurm(machine: &Machine, json: bool) -> Result<u8> {
    let named = std::env::var("SLURM_CONF").ok();
    let site = Site::find(machine, named.as_deref(), &ask());
    let checks = slurm::examine(&site);
    let can_run = can_run(&checks);
    if json {
        output::json(&SlurmReport { can_run, checks: &checks })?;
    } else {
        let verdict =
            if can_run { "Slurm can give jobs CPUs of a partition" } else { "`srun --tacet` cannot work yet" };
        output::print(&format!("{}\n{verdict}.\n", describe(&checks)))?;
    }
    Ok(if can_run { 0 } else { CANNOT })
}

/// What the controller says; nothing, if it or the command is not there.
fn ask() -> Answers {
    let answer = |words: &[&str]| {
        // it retries for long if the controller is down
        let output = Command::new("timeout").args(["10", "scontrol"]).args(words).stdin(Stdio::null()).output();
        let output = output.ok().filter(|output| output.status.success());
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    };
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim().split('.').next().unwrap_or_default();
    Answers { config: answer(&["show", "config"]), node: answer(&["show", "node", host]) }
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
    lines.collect()
}

/// The programs beside this one, which need no partition.
#[derive(Serialize)]
struct Beside {
    noise: bool,
    tune: bool,
    /// HPL needs sched_ext.
    sched: bool,
}

impl Beside {
    fn find(machine: &Machine) -> Beside {
        let is_there = |path: &str| machine.exists(path);
        Beside {
            noise: is_there("proc/self") || is_there("proc/meminfo"),
            tune: is_there("sys/fs/cgroup/cgroup.controllers"),
            sched: is_there("sys/kernel/sched_ext") && is_there("sys/kernel/btf/vmlinux"),
        }
    }

    fn sentence(&self) -> String {
        let (mut work, mut rest) = (Vec::new(), Vec::new());
        for (name, works, why) in [
            ("noise", self.noise, "it needs /proc"),
            ("tune", self.tune, "it needs cgroup v2"),
            ("sched", self.sched, "it needs a kernel with sched_ext"),
        ] {
            if works {
                work.push(format!("`tacet {name}`"))
            } else {
                rest.push(format!("`tacet {name}` does not: {why}"))
            }
        }
        let work = if work.is_empty() {
            "Nothing else works here".to_owned()
        } else {
            format!("Without a partition work here: {}", work.join(", "))
        };
        format!("{}.\n", [&[work], &rest[..]].concat().join("; "))
    }
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
