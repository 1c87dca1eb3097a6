// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `status`: shows whether HPL schedules, how it ended if not, and its counts.

use std::path::Path;
use std::process::ExitCode;

use comfy_table::{CellAlignment, Table, presets::NOTHING};
use libbpf_rs::MapHandle;
use serde::Serialize;
use tacet_words::Failure;

use super::print;
use crate::figures::{self, Figures};
use crate::layout::{CLASSES, Counts, Load};
use crate::record::{self, End, Program, Record};
use crate::scheduler::VERIFIED_INSTRUCTIONS_LIMIT;
use crate::topology::{self, CPU_DIRECTORY, Topology};
use crate::{Result, support};

/// The state of HPL; programs rely on these words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// HPL schedules
    Loaded,
    NeverLoaded,
    /// the user or the kernel ended it
    Ended,
    /// the process that stayed with it died, and the scheduler with it
    Died,
}

#[derive(Debug, Serialize)]
struct Facts {
    state: State,
    /// the kernel's name of the current scheduler; none for Linux's own
    scheduler: Option<String>,
    end: Option<End>,
    process: Option<u32>,
    trickle_cpu: Option<u32>,
    /// for each program; a test checks it
    verified_instructions_limit: u32,
    programs: Vec<Program>,
    total: Option<Figures>,
    cpus: Vec<Cpu>,
    /// online CPUs that were offline when HPL started: it places no task there before its next start
    cpus_not_used: Vec<u32>,
}

#[derive(Debug, Serialize)]
struct Cpu {
    cpu: u32,
    hpc_processes: u32,
    hpc_tasks: u32,
    hpc_launchers: u32,
    #[serde(flatten)]
    figures: Figures,
}

pub fn run(json: bool) -> Result<ExitCode> {
    let record = Record::read()?;
    let state = state(record.as_ref(), record::is_held());
    let mut facts = Facts {
        state,
        scheduler: support::loaded(),
        end: record.as_ref().and_then(|record| record.end.clone()),
        process: record.as_ref().map(|record| record.process),
        trickle_cpu: record.as_ref().map(|record| record.trickle_cpu),
        verified_instructions_limit: VERIFIED_INSTRUCTIONS_LIMIT,
        programs: record.as_ref().map(|record| record.programs.clone()).unwrap_or_default(),
        total: None,
        cpus: Vec::new(),
        cpus_not_used: Vec::new(),
    };
    let mut rows = Vec::new();
    if let Some(record) = record.as_ref().filter(|_| state == State::Loaded) {
        let total;
        (rows, total) = live(record)?;
        facts.total = Some(total.into());
        facts.cpus = rows.iter().map(Cpu::from).collect();
        facts.cpus_not_used = not_used(record, rows.iter().map(|(cpu, ..)| *cpu));
    }
    if json {
        return print(&tacet_words::json::text(&facts)?);
    }
    let table = if rows.is_empty() { String::new() } else { table(&rows) };
    print(&format!("{}\n{table}{}", headline(&facts), note(&facts.cpus_not_used)))
}

/// The CPUs whose place HPL does not know: they were offline when it started.
fn not_used(record: &Record, online: impl Iterator<Item = u32>) -> Vec<u32> {
    online.filter(|cpu| !record.cpus.is_empty() && !record.cpus.contains(cpu)).collect()
}

/// A line about each of them.
fn note(cpus: &[u32]) -> String {
    let line = |cpu: &u32| {
        format!(
            "cpu {cpu} was offline when HPL started: HPL places no task there before its next start (`tacet sched stop`, \
             then `start`)\n"
        )
    };
    cpus.iter().map(line).collect()
}

fn state(record: Option<&Record>, is_held: bool) -> State {
    match record {
        None => State::NeverLoaded,
        Some(_) if is_held => State::Loaded,
        Some(record) if record.end.is_some() => State::Ended,
        Some(_) => State::Died,
    }
}

type Row = (u32, Counts, Load);

/// The counts of each online CPU, and of all together, from the scheduler's maps.
fn live(record: &Record) -> Result<(Vec<Row>, Counts)> {
    let directory = Path::new(CPU_DIRECTORY);
    let cpus: Vec<u32> = Topology::read(directory)?.places.into_keys().collect();
    let (counts, loads) = maps(record)?;
    let (counts, loads) = (figures::counts(&counts, &topology::possible(directory)?)?, figures::loads(&loads, &cpus)?);
    let total = figures::sum(&counts);
    let of = |cpu| counts.get(&cpu).copied().unwrap_or_default();
    Ok((loads.into_iter().map(|(cpu, load)| (cpu, of(cpu), load)).collect(), total))
}

/// The maps of the running scheduler with counts and loads.
pub fn maps(record: &Record) -> Result<(MapHandle, MapHandle)> {
    let open = |number| {
        MapHandle::from_map_id(number)
            .map_err(|error| Failure::machine(format!("cannot read HPL's counts: {error}: this needs root")))
    };
    Ok((open(record.counts_map)?, open(record.loads_map)?))
}

impl From<&Row> for Cpu {
    fn from((cpu, counts, load): &Row) -> Cpu {
        Cpu {
            cpu: *cpu,
            hpc_processes: load.processes,
            hpc_tasks: load.tasks,
            hpc_launchers: load.launchers,
            figures: (*counts).into(),
        }
    }
}

fn headline(facts: &Facts) -> String {
    let linux = match &facts.scheduler {
        Some(other) => format!("{other} schedules"),
        None => "Linux's own scheduler schedules".to_owned(),
    };
    match facts.state {
        State::Loaded => {
            let cpu = facts.trickle_cpu.map(|cpu| format!(", trickle on cpu {cpu}")).unwrap_or_default();
            format!("HPL schedules (process {}{cpu})", facts.process.unwrap_or_default())
        }
        State::NeverLoaded => format!("HPL has not been loaded since boot: {linux}"),
        State::Died => format!("the process that stayed with HPL died, and the kernel unloaded HPL: {linux}"),
        State::Ended => {
            let end = facts.end.as_ref();
            let reason = end.map(|end| end.reason.clone()).unwrap_or_default();
            let message = end.map(|end| end.message.clone()).filter(|text| !text.is_empty());
            format!("HPL ended ({reason}{}): {linux}", message.map(|text| format!(": {text}")).unwrap_or_default())
        }
    }
}

/// One line for each CPU.
pub fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    let switched = CLASSES.iter().skip(1).map(|class| format!("to {class}"));
    let heads = ["cpu", "hpc tasks"].map(str::to_owned).into_iter().chain(switched);
    let rest = ["migrations", "hpc migrations", "kept off", "trickle ms"].map(str::to_owned);
    table.set_header(heads.chain(rest));
    for (cpu, counts, load) in rows {
        let mut cells = vec![cpu.to_string(), load.tasks.to_string()];
        cells.extend(counts.switches.iter().skip(1).map(u64::to_string));
        cells.push(counts.migrations.iter().sum::<u64>().to_string());
        cells.push(counts.migrations[crate::layout::HPC].to_string());
        cells.push(counts.kept_off.to_string());
        cells.push(format!("{:.1}", counts.trickle_ns as f64 / 1e6));
        table.add_row(cells);
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(cpus: &[u32]) -> Record {
        let time = serde_json::json!({ "secs": 1, "nanos": 0 });
        let text = serde_json::json!({
            "process": 7, "since": { "secs_since_epoch": 0, "nanos_since_epoch": 0 },
            "options": {
                "groups": [], "daemons": [], "trickle": time, "trickle_period": time, "trickle_cpu": null,
                "quantum": time, "foreground": false
            },
            "trickle_cpu": 0, "cpus": cpus, "counts_map": 1, "loads_map": 2, "programs": [], "end": null
        });
        serde_json::from_value(text).expect("a record")
    }

    /// A CPU that was offline at the start and is online now is named; one that went and came is not.
    #[test]
    fn a_cpu_that_came_later_is_named() {
        let started = record(&[0, 1, 2]);
        assert_eq!(not_used(&started, [0, 2, 3].into_iter()), [3]);
        assert!(not_used(&started, [0, 1, 2].into_iter()).is_empty());
        assert!(not_used(&record(&[]), [0, 3].into_iter()).is_empty(), "an older record knows nothing of it");
        assert!(note(&[3]).starts_with("cpu 3 was offline when HPL started: HPL places no task there before"));
        assert_eq!(note(&[]), "");
    }
}
