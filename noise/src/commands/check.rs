// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `check`: a verdict for a job scheduler's prologue, a health check, or CI.

use std::process::ExitCode;

use serde::Serialize;
use tacet_words::verdict::{self, Part, Parts};

use super::measure::{self, THRESHOLD_NS};
use super::{print, print_json};
use crate::Result;
use crate::analyse::{Evidence, Summary};
use crate::history::{self, Entry};
use crate::measure::{Amount, Plan, machine};
use crate::options::Check;
use crate::record::{Kernel, Method, Record};
use crate::units::{Nanoseconds, rate, rounded_up};
use crate::{show, trace};

/// The exit status if the measurement cannot tell.
const NOT_ENOUGH: u8 = 2;

#[derive(Debug, Serialize)]
struct Thief {
    name: String,
    /// Share of the detours' noise.
    share: f64,
    remedy: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Quiet,
    Noisy,
    NotEnough,
}

#[derive(Debug, Serialize)]
struct Verdict {
    verdict: Answer,
    /// Whether the verdict is `quiet`.
    passed: bool,
    max_noise_ns: f64,
    max_noise_limit_ns: Option<f64>,
    noise_rate: f64,
    noise_rate_limit: Option<f64>,
    /// The CPU with the longest noise.
    worst_cpu: Option<u32>,
    evidence: Evidence,
    /// Why it is not enough to say, and how long a measurement is that can.
    not_enough: Option<String>,
    needed_duration_ns: Option<f64>,
    /// If a limit is exceeded: the source that explains most of the noise, and how to stop it.
    thief: Option<Thief>,
    /// Why the thief is unknown.
    thief_unknown: Option<String>,
    /// What happened during the measurement, one sentence each.
    warnings: Vec<String>,
    host: String,
}

pub fn run(options: Check) -> Result<ExitCode> {
    if options.max_noise.is_none() && options.rate.is_none() {
        return Err("--max-noise <TIME> must be given, or --rate; see `tacet noise check --help`".into());
    }
    if options.rate.is_some_and(|rate| !rate.is_finite() || rate < 0.0) {
        return Err("--rate: must be a share of time, for example 1e-5".into());
    }
    let plan = match &options.record {
        Some(_) => None,
        None => Some(plan(&options)?),
    };
    let record = match (&options.record, &plan) {
        (Some(path), _) => {
            let record = Record::read(path)?;
            record.must_be_noise("a limit of noise says nothing about them")?;
            record
        }
        (None, Some(plan)) => measure::measure(plan)?,
        (None, None) => return Err("neither a record nor a plan".into()),
    };
    let mut verdict = judge(&record.summary(THRESHOLD_NS), options.max_noise, options.rate);
    if verdict.verdict == Answer::Noisy {
        match thief(&record, plan.as_ref()) {
            Ok(thief) => verdict.thief = Some(thief),
            Err(error) => verdict.thief_unknown = Some(error.to_string()),
        }
    }
    if plan.is_some() {
        remember(&options, &record, &verdict);
    }
    if options.json {
        print_json(&verdict)?;
    } else {
        print(&(verdict.line() + "\n"))?;
    }
    Ok(match verdict.verdict {
        Answer::Quiet => ExitCode::SUCCESS,
        Answer::Noisy => ExitCode::FAILURE,
        Answer::NotEnough => ExitCode::from(NOT_ENOUGH),
    })
}

/// Adds the verdict to the history. A gate's answer does not depend on that.
fn remember(options: &Check, record: &Record, verdict: &Verdict) {
    let about = &record.about;
    let entry = Entry {
        began_unix_s: about.began_unix_s,
        host: verdict.host.clone(),
        kernel_release: about.kernel_release.clone(),
        cpus: about.cpus.clone(),
        duration_ns: about.counters.iter().map(|counted| counted.measured_ns).max().unwrap_or(0) as f64,
        verdict: verdict.verdict.word().into(),
        max_noise_ns: verdict.max_noise_ns,
        max_noise_limit_ns: verdict.max_noise_limit_ns,
        noise_rate: verdict.noise_rate,
        noise_rate_limit: verdict.noise_rate_limit,
        thief: verdict.thief.as_ref().map(|thief| thief.name.clone()),
    };
    let place = options.history.clone().map_or_else(history::usual_place, Ok);
    if let Err(error) = place.and_then(|path| history::append(&path, &entry)) {
        eprintln!("note: not added to the history: {error}");
    }
}

impl Answer {
    /// The same word as in JSON.
    fn word(self) -> &'static str {
        match self {
            Answer::Quiet => "quiet",
            Answer::Noisy => "noisy",
            Answer::NotEnough => "not_enough",
        }
    }
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
        stop: Some(measure::interrupted()?),
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
            traced =
                measure::with_bar(|arguments, progress| trace::trace(plan, arguments, THRESHOLD_NS, None, progress))?;
            &traced
        }
        _ => record,
    };
    let worst = record.about.thieves.as_ref().and_then(|thieves| thieves.sources.first());
    let worst =
        worst.filter(|source| source.explained_ns > 0.0).ok_or("no source that the trace saw explains the noise")?;
    Ok(Thief { name: show::title(worst), share: worst.share, remedy: worst.remedy.clone() })
}

/// Noisy if one noise is longer than its limit, or if the whole interval of the rate is above its limit. Quiet if there
/// is enough evidence, no noise is longer, and the whole interval is below. Otherwise not enough to say. The judgement is
/// that of a comparison, with the limits as the other side.
fn judge(summary: &Summary, max_noise: Option<Nanoseconds>, rate: Option<f64>) -> Verdict {
    let worst = summary.per_cpu.iter().max_by(|a, b| a.max_noise_ns.total_cmp(&b.max_noise_ns));
    let evidence = &summary.evidence;
    let body = |limit: f64| match (&evidence.not_enough, evidence.noise_rate_low, evidence.noise_rate_high) {
        (None, Some(low), _) if low > limit => Part::More,
        (None, _, Some(high)) if high <= limit => Part::Less,
        _ => Part::Unknown,
    };
    let tail = |limit: Nanoseconds| match &evidence.not_enough {
        _ if summary.max_noise_ns > limit.0 => Part::More,
        Some(_) => Part::Unknown,
        None => Part::Less,
    };
    let parts = Parts { body: rate.map(body), tail: max_noise.map(tail), rate_ratio: None, longest_ratio: None };
    let verdict = match verdict::judge(&parts) {
        verdict::Verdict::Quieter => Answer::Quiet,
        verdict::Verdict::Noisier | verdict::Verdict::Mixed => Answer::Noisy,
        verdict::Verdict::NotEnough | verdict::Verdict::NoDifferenceShown => Answer::NotEnough,
    };
    let (not_enough, needed) = match (&evidence.not_enough, rate) {
        _ if verdict != Answer::NotEnough => (None, None),
        (Some(why), _) => (Some(why.clone()), Some(evidence.least_ns())),
        (None, Some(limit)) => (Some(straddles(evidence, limit)), evidence.needed_ns(limit)),
        (None, None) => (None, None),
    };
    Verdict {
        verdict,
        passed: verdict == Answer::Quiet,
        max_noise_ns: summary.max_noise_ns,
        max_noise_limit_ns: max_noise.map(|limit| limit.0),
        noise_rate: summary.noise_rate,
        noise_rate_limit: rate,
        worst_cpu: summary.across.as_ref().map(|all| all.worst.cpu).or(worst.map(|cpu| cpu.cpu)),
        evidence: evidence.clone(),
        not_enough,
        needed_duration_ns: needed,
        thief: None,
        thief_unknown: None,
        warnings: summary.warnings.clone(),
        host: summary.across.as_ref().map_or_else(|| summary.host.clone(), |all| all.worst.host.clone()),
    }
}

fn straddles(evidence: &Evidence, limit: f64) -> String {
    let known = |value: Option<f64>| value.map_or_else(|| "?".into(), rate);
    let (low, high) = (known(evidence.noise_rate_low), known(evidence.noise_rate_high));
    format!("the rate is between {low} and {high} (95 % on each side), which includes the limit {}", rate(limit))
}

impl Verdict {
    fn line(&self) -> String {
        let limit = |limit: Option<String>| limit.map_or_else(String::new, |limit| format!(" (limit {limit})"));
        format!(
            "{}: {}: longest noise {}{} on cpu {}, noise rate {}{}",
            self.host,
            match self.verdict {
                Answer::Quiet => "quiet".into(),
                Answer::Noisy => "NOISY".into(),
                Answer::NotEnough => self.lacks(),
            },
            Nanoseconds(self.max_noise_ns),
            limit(self.max_noise_limit_ns.map(|ns| Nanoseconds(ns).to_string())),
            self.worst_cpu.map_or_else(|| "?".into(), |cpu| cpu.to_string()),
            rate(self.noise_rate),
            limit(self.noise_rate_limit.map(rate)),
        ) + &self.blame()
            + &self.warnings.iter().map(|warning| format!("; {warning}")).collect::<String>()
    }

    fn lacks(&self) -> String {
        let measure = match self.needed_duration_ns {
            Some(ns) => format!("measure with --duration {} or longer", rounded_up(ns)),
            None => "the rate is the limit itself: no measurement can tell".into(),
        };
        format!("NOT ENOUGH TO SAY: {}; {measure}", self.not_enough.as_deref().unwrap_or_default())
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

    fn answer(lengths: &[u64], max_noise: Option<f64>, rate: Option<f64>) -> Answer {
        judge(&fixed_work(lengths).summary(1.0), max_noise.map(Nanoseconds), rate).verdict
    }

    /// 4,000 quanta of 1 ms with noise of 60 us in each: enough for both limits.
    fn steady() -> Vec<u64> {
        (0..4000).map(|index| if index % 2 == 0 { 1_000_000 } else { 1_060_000 }).collect()
    }

    #[test]
    fn a_value_equal_to_its_limit_passes() {
        assert_eq!(answer(&steady(), Some(60_000.0), Some(0.04)), Answer::Quiet);
        assert_eq!(answer(&steady(), Some(60_000.0), None), Answer::Quiet);
        assert_eq!(answer(&steady(), Some(59_999.0), Some(1.0)), Answer::Noisy);
        assert_eq!(answer(&steady(), Some(1e9), Some(0.029)), Answer::Noisy);
        assert_eq!(answer(&steady(), None, Some(0.04)), Answer::Quiet);
        let line = judge(&fixed_work(&[100_000, 100_000, 160_000]).summary(1.0), Some(Nanoseconds(5e4)), None).line();
        assert_eq!(line, "node1: NOISY: longest noise 60 us (limit 50 us) on cpu 0, noise rate 0.2");
    }

    /// The three verdicts for the rate, and the one sample that is its own baseline.
    #[test]
    fn little_evidence_is_no_verdict() {
        assert_eq!(answer(&[1_000_000], Some(1e9), None), Answer::NotEnough);
        assert_eq!(answer(&[1_000_000; 99], Some(1e9), Some(1.0)), Answer::NotEnough);
        assert_eq!(answer(&[], Some(1e9), None), Answer::NotEnough);
        assert_eq!(answer(&[1_000_000, 2_000_000], Some(1.0), None), Answer::Noisy, "one noise suffices");
        assert_eq!(answer(&[1_000_000, 2_000_000], None, Some(0.1)), Answer::NotEnough);
        // 0.03 plus 3 ms in 4.12 s is the upper end.
        assert_eq!(answer(&steady(), None, Some(0.0307)), Answer::NotEnough);
        assert_eq!(answer(&steady(), None, Some(0.0308)), Answer::Quiet);
        let silent = judge(&fixed_work(&[1_000_000; 3000]).summary(1.0), None, Some(1e-5));
        assert_eq!(
            silent.line(),
            "node1: NOT ENOUGH TO SAY: the rate is between 0 and 1e-3 (95 % on each side), which includes the limit \
             1e-5; measure with --duration 300s or longer: longest noise 0 ns on cpu 0, noise rate 0 (limit 1e-5)"
        );
        assert!(!silent.passed && silent.thief.is_none());
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
