// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `measure`: a record, and its summary on the terminal.

use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};

use super::{print, print_json};
use crate::Result;
use crate::measure::{Amount, Plan, machine};
use crate::options::{CpuList, Measure};
use crate::record::{Method, Record};
use crate::show;
use crate::units::Nanoseconds;

/// The least detour of summaries.
pub const THRESHOLD_NS: f64 = 1000.0;

pub fn run(options: Measure) -> Result<ExitCode> {
    let plan = Plan {
        method: options.method,
        kernel: options.kernel,
        cpus: cpus(options.cpus)?,
        quantum: options.quantum.unwrap_or(default_quantum(options.method)),
        units: options.units,
        amount: options.samples.map_or(Amount::For(options.duration), |count| Amount::Samples(count as usize)),
        realtime_priority: options.realtime,
        label: options.label.unwrap_or_else(machine::host),
    };
    if plan.units.is_some() && plan.method != Method::Fwq {
        return Err("--units: only fixed work (fwq) has a number of units".into());
    }
    let record = measure(&plan)?;
    record.write(&options.output)?;
    let summary = record.summary(THRESHOLD_NS);
    if options.json {
        return print_json(&summary);
    }
    if !record.about.memory_locked {
        eprintln!("note: memory could not be locked (ulimit -l): a page fault could be measured as noise");
    }
    print(&format!("{}record: {}\n", show::summaries(&[summary]), options.output.display()))
}

pub fn cpus(asked: Option<CpuList>) -> Result<Vec<u32>> {
    asked.map_or_else(machine::allowed_cpus, |list| Ok(list.0))
}

fn default_quantum(method: Method) -> Nanoseconds {
    Nanoseconds(match method {
        Method::Fwq => 6.5e6,
        Method::Ftq => 1e6,
        Method::Selfish => 1e3,
    })
}

/// With a progress bar, if standard error is a terminal.
pub fn measure(plan: &Plan) -> Result<Record> {
    let style = ProgressStyle::with_template("measuring {bar:40} {percent} %, {eta} left")?;
    let bar = ProgressBar::new(1000).with_style(style);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let record = plan.measure(&arguments, |share| bar.set_position((share * 1000.0) as u64));
    bar.finish_and_clear();
    record
}
