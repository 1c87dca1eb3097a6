// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `check`: a verdict for a job scheduler's prologue, a health check, or CI.

use std::process::ExitCode;

use serde::Serialize;

use super::measure::{self, THRESHOLD_NS};
use super::{print, print_json};
use crate::Result;
use crate::analyse::Summary;
use crate::measure::{Amount, Plan, machine};
use crate::options::Check;
use crate::record::{Kernel, Method, Record};
use crate::units::Nanoseconds;
use crate::{show, trace};

#[derive(Debug, Serialize)]
struct Thief {
    name: String,
    /// Share of the detours' noise.
    share: f64,
    remedy: String,
}

#[derive(Debug, Serialize)]
struct Verdict {
    passed: bool,
    max_noise_ns: f64,
    max_noise_limit_ns: Option<f64>,
    noise_rate: f64,
    noise_rate_limit: Option<f64>,
    /// The CPU with the longest noise.
    worst_cpu: Option<u32>,
    /// If a limit is exceeded: the source that explains most of the noise, and how to stop it.
    thief: Option<Thief>,
    /// Why the thief is unknown.
    thief_unknown: Option<String>,
    host: String,
}

pub fn run(options: Check) -> Result<ExitCode> {
    if options.rate.is_some_and(|rate| !rate.is_finite() || rate < 0.0) {
        return Err("--rate: must be a share of time, for example 1e-5".into());
    }
    let plan = match &options.record {
        Some(_) => None,
        None => Some(plan(&options)?),
    };
    let record = match (&options.record, &plan) {
        (Some(path), _) => Record::read(path)?,
        (None, Some(plan)) => measure::measure(plan)?,
        (None, None) => return Err("neither a record nor a plan".into()),
    };
    if record.samples.is_empty() && record.about.method != Method::Selfish && record.about.across.is_none() {
        return Err("the record has no sample, so there is nothing to check".into());
    }
    let mut verdict = judge(&record.summary(THRESHOLD_NS), options.max_noise, options.rate);
    if !verdict.passed {
        match thief(&record, plan.as_ref()) {
            Ok(thief) => verdict.thief = Some(thief),
            Err(error) => verdict.thief_unknown = Some(error.to_string()),
        }
    }
    if options.json {
        print_json(&verdict)?;
    } else {
        print(&(verdict.line() + "\n"))?;
    }
    Ok(if verdict.passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn plan(options: &Check) -> Result<Plan> {
    Ok(Plan {
        method: Method::Fwq,
        kernel: Kernel::Register,
        cpus: measure::cpus(options.cpus.clone())?,
        quantum: Nanoseconds(1e6),
        units: None,
        amount: Amount::For(options.duration),
        realtime_priority: None,
        label: machine::host(),
        until: None,
        stop: None,
        trust_clock: options.trust_clock,
    })
}

/// The main source of the noise: from the record, if it was traced; otherwise by measuring again with a trace. The
/// verdict comes from the first measurement, because tracing itself takes time.
fn thief(record: &Record, plan: Option<&Plan>) -> Result<Thief> {
    let traced;
    let record = match (&record.about.thieves, plan) {
        (None, None) => {
            return Err("the record was not traced: use `tacet noise trace` to make one that names the thief".into());
        }
        (None, Some(plan)) => {
            traced = measure::with_bar(|arguments, progress| trace::trace(plan, arguments, THRESHOLD_NS, progress))?;
            &traced
        }
        _ => record,
    };
    let worst = record.about.thieves.as_ref().and_then(|thieves| thieves.sources.first());
    let worst =
        worst.filter(|source| source.explained_ns > 0.0).ok_or("no source that the trace saw explains the noise")?;
    Ok(Thief { name: show::title(worst), share: worst.share, remedy: worst.remedy.clone() })
}

fn judge(summary: &Summary, max_noise: Option<Nanoseconds>, rate: Option<f64>) -> Verdict {
    let worst = summary.per_cpu.iter().max_by(|a, b| a.max_noise_ns.total_cmp(&b.max_noise_ns));
    Verdict {
        passed: max_noise.is_none_or(|limit| summary.max_noise_ns <= limit.0)
            && rate.is_none_or(|limit| summary.noise_rate <= limit),
        max_noise_ns: summary.max_noise_ns,
        max_noise_limit_ns: max_noise.map(|limit| limit.0),
        noise_rate: summary.noise_rate,
        noise_rate_limit: rate,
        worst_cpu: summary.across.as_ref().map(|all| all.worst.cpu).or(worst.map(|cpu| cpu.cpu)),
        thief: None,
        thief_unknown: None,
        host: summary.across.as_ref().map_or_else(|| summary.host.clone(), |all| all.worst.host.clone()),
    }
}

impl Verdict {
    fn line(&self) -> String {
        let limit = |limit: Option<String>| limit.map_or_else(String::new, |limit| format!(" (limit {limit})"));
        format!(
            "{}: {}: longest noise {}{} on cpu {}, noise rate {:.2e}{}",
            self.host,
            if self.passed { "quiet" } else { "NOISY" },
            Nanoseconds(self.max_noise_ns),
            limit(self.max_noise_limit_ns.map(|ns| Nanoseconds(ns).to_string())),
            self.worst_cpu.map_or_else(|| "?".into(), |cpu| cpu.to_string()),
            self.noise_rate,
            limit(self.noise_rate_limit.map(|rate| format!("{rate:e}"))),
        ) + &self.blame()
    }

    fn blame(&self) -> String {
        match (&self.thief, &self.thief_unknown) {
            (Some(thief), _) => {
                format!("; mostly {} ({:.0} % of it): {}", thief.name, thief.share * 100.0, thief.remedy)
            }
            (None, Some(why)) => format!("; thief unknown: {why}"),
            (None, None) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::examples::fixed_work;

    #[test]
    fn a_value_equal_to_its_limit_passes() {
        let summary = fixed_work(&[100_000, 100_000, 160_000]).summary(1.0);
        let verdict = |ns: f64, rate: f64| judge(&summary, Some(Nanoseconds(ns)), Some(rate)).passed;
        assert!(verdict(60_000.0, 0.2) && !verdict(59_999.0, 1.0) && !verdict(1e9, 0.19));
        assert!(judge(&summary, None, Some(0.2)).passed && judge(&summary, Some(Nanoseconds(6e4)), None).passed);
        let line = judge(&summary, Some(Nanoseconds(5e4)), None).line();
        assert_eq!(line, "node1: NOISY: longest noise 60 us (limit 50 us) on cpu 0, noise rate 2.00e-1");
    }

    #[test]
    fn the_thief_is_in_the_message() {
        let mut record = fixed_work(&[100_000, 160_000]);
        let mut verdict = judge(&record.summary(1.0), Some(Nanoseconds(1.0)), None);
        let unknown = thief(&record, None).map(|_| ()).expect_err("it was not traced").to_string();
        assert!(unknown.contains("tacet noise trace"), "{unknown}");
        record.about.thieves = Some(crate::record::examples::thieves());
        verdict.thief = thief(&record, None).ok();
        let worst = &record.about.thieves.as_ref().expect("thieves").sources[0];
        assert!(verdict.line().contains(&show::title(worst)) && verdict.line().contains(&worst.remedy));
    }
}
