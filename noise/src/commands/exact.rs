// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `exact`: makes a record of instructions in an emulated node, or reads one, and prints its summary.

use std::process::ExitCode;

use indicatif::ProgressBar;

use super::{keep, may_write, print, print_json};
use crate::Result;
use crate::exact::node::Plan;
use crate::exact::record::Record;
use crate::options::Exact;
use crate::show;

/// The default load: forks, executions, pipes and file writes, with programs that even a node without a disk has.
const LOAD: &str =
    "while :; do ls -lR /proc/self >/tmp/load-1; cat /tmp/load-1 | sort >/tmp/load-2; rm /tmp/load-?; done";
/// The most CPUs in the plugin and in the script's mask.
const CPUS_LIMIT: u32 = 64;
/// The shortest quantum: compared with it, the markers between quanta cost little.
const QUANTUM_LEAST: u64 = 1000;

pub fn run(options: Exact) -> Result<ExitCode> {
    let (record, written) = match &options.record {
        Some(path) => (Record::read(path)?, None),
        None => {
            may_write(&options.output, options.force)?;
            let plan = plan(&options)?;
            let bar = ProgressBar::new_spinner().with_message("booting a node and counting");
            bar.enable_steady_tick(std::time::Duration::from_millis(200));
            let record = plan.measure();
            bar.finish_and_clear();
            let record = record?;
            let kept = keep(&options.output, |path| record.write(path))?;
            (record, Some(kept))
        }
    };
    let summary = record.summary();
    if options.json {
        return print_json(&summary).map(|printed| written.map_or(printed, |kept| kept.status(printed)));
    }
    let place = written.as_ref().map_or_else(String::new, |kept| format!("record: {}\n", kept.path.display()));
    let printed = print(&format!("{}{place}", show::exact(&summary)))?;
    Ok(written.map_or(printed, |kept| kept.status(printed)))
}

fn plan(options: &Exact) -> Result<Plan> {
    let cpus = options.cpus;
    if !(1..=CPUS_LIMIT).contains(&cpus) {
        return Err(format!("--node-cpus {cpus}: a node has 1 to {CPUS_LIMIT}").into());
    }
    let measured_cpu = options.measured.unwrap_or(cpus - 1);
    if measured_cpu >= cpus {
        return Err(format!("--measured {measured_cpu}: the node's last cpu is {}", cpus - 1).into());
    }
    if options.quantum < QUANTUM_LEAST {
        return Err(format!("--instructions {}: at least {QUANTUM_LEAST} instructions", options.quantum).into());
    }
    let load = match options.load.as_deref() {
        _ if cpus == 1 => None,
        None => Some(LOAD.to_owned()),
        Some(command) => Some(command.trim().to_owned()).filter(|command| !command.is_empty()),
    };
    let absolute =
        |path: &std::path::PathBuf| path.canonicalize().map_err(|error| format!("--share {}: {error}", path.display()));
    Ok(Plan {
        label: options.label.clone().unwrap_or_else(|| format!("Linux {}", options.kernel)),
        kernel: options.kernel.clone(),
        cpus,
        measured_cpu,
        quanta: options.quanta,
        quantum_instructions: options.quantum,
        boot_arguments: options.boot_arguments.clone(),
        load,
        shares: options.share.iter().map(absolute).collect::<std::result::Result<_, _>>()?,
        seed: options.reproducible,
        arguments: std::env::args().skip(1).collect(),
        stop: super::measure::interrupted()?,
    })
}
