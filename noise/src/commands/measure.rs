// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `measure`: makes a record and prints its summary.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use indicatif::{ProgressBar, ProgressStyle};

use super::live::shown;
use super::{keep, may_write, print, print_json};
use crate::Result;
use crate::measure::{Amount, Plan, Progress, machine};
use crate::options::{CpuList, Measure};
use crate::record::{Method, Record};
use crate::show;
use crate::units::Nanoseconds;

/// The shortest noise that counts as a detour in summaries.
pub const THRESHOLD_NS: f64 = 1000.0;

pub fn run(options: Measure) -> Result<ExitCode> {
    may_write(&options.output, options.force)?;
    let mut plan = plan(&options, None)?;
    plan.stop = Some(interrupted()?);
    let mut record = shown(&options, &plan, THRESHOLD_NS, |words, progress| plan.measure(words, progress))?.record;
    if options.redact {
        record.redact();
    }
    let kept = keep(&options.output, |path| record.write(path))?;
    let summary = record.summary(THRESHOLD_NS);
    if options.json {
        return print_json(&summary).map(|printed| kept.status(printed));
    }
    warn(&record);
    let text = format!("{}record: {}\n", show::summaries(&[summary]), kept.path.display());
    print(&text).map(|printed| kept.status(printed))
}

pub fn plan(options: &Measure, until: Option<Nanoseconds>) -> Result<Plan> {
    if options.units.is_some() && options.method != Method::Fwq {
        return Err("--units: only fixed work (fwq) has a number of units".into());
    }
    Ok(Plan {
        method: options.method,
        kernel: options.kernel,
        cpus: cpus(options.cpus.clone())?,
        quantum: options.quantum.unwrap_or(default_quantum(options.method)),
        units: options.units,
        amount: options.samples.map_or(Amount::For(options.duration), |count| Amount::Samples(count as usize)),
        realtime_priority: options.realtime,
        label: options.label.clone().unwrap_or_else(machine::host),
        until,
        stop: None,
        trust_clock: options.trust_clock,
    })
}

/// A flag that Ctrl-C, SIGTERM and SIGHUP (but for `nohup`) set: the user may end a measurement at any time and keeps its results.
pub fn interrupted() -> Result<Arc<AtomicBool>> {
    Ok(tacet_words::interrupted::flag()?)
}

pub fn cpus(given: Option<CpuList>) -> Result<Vec<u32>> {
    given.map_or_else(machine::allowed_cpus, |list| Ok(list.0))
}

fn default_quantum(method: Method) -> Nanoseconds {
    Nanoseconds(match method {
        Method::Fwq => 6.5e6,
        Method::Ftq => 1e6,
        Method::Selfish | Method::Latency => 1e3,
    })
}

/// Warns the reader of the table about conditions that affect the record.
pub fn warn(record: &Record) {
    if !record.about.memory_locked {
        eprintln!("note: cannot lock memory (ulimit -l): page faults may appear as noise");
    }
}

pub fn measure(plan: &Plan) -> Result<Record> {
    Ok(with_bar(|arguments, progress| plan.measure(arguments, progress))?.record)
}

/// Runs `work` with the command line and a progress bar. The bar appears only if standard error is a terminal and a CPU
/// is not measured.
pub fn with_bar<T>(work: impl FnOnce(&[String], &mut dyn FnMut(Progress)) -> Result<T>) -> Result<T> {
    let style = ProgressStyle::with_template("measuring {bar:40} {percent} %, {eta} left")?;
    let bar = ProgressBar::new(1000).with_style(style);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = work(&arguments, &mut |now| {
        if now.aside {
            bar.set_position((now.share * 1000.0) as u64);
        }
    });
    bar.finish_and_clear();
    done
}
