// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Combines runs of the MPI program (noise/mpi) into one record: the samples of their worst nodes as rows, the noise of
//! all cores as one histogram.

mod ranks;
mod run;
mod source;

use std::path::{Path, PathBuf};

pub use ranks::write_ranks;
pub use run::{Row, RunFile};

use crate::Result;
use crate::record::across::{Across, Histogram, Place, Run};
use crate::record::{About, Counters, Method, Record, SCHEMA, Samples};

/// Reads the runs. All must have the same mode, kernel and quantum.
pub fn read_runs(paths: &[PathBuf]) -> Result<Vec<RunFile>> {
    let mut runs: Vec<RunFile> = Vec::new();
    for path in paths {
        let run = RunFile::read(path)?;
        if let Some(first) = runs.first() {
            comparable(path, &run, first)?;
        }
        if runs.iter().any(|other| other.checksum == run.checksum) {
            return Err(format!("{}: this run was given twice: its noise would count twice", path.display()).into());
        }
        runs.push(run);
    }
    Ok(runs)
}

fn comparable(path: &Path, run: &RunFile, first: &RunFile) -> Result<()> {
    // If the user gave units, they define the quantum.
    let quantum = |run: &RunFile| (run.quantum_ns, if run.quantum_ns == 0 { run.units } else { 0 });
    let other = if run.mode != first.mode {
        "mode"
    } else if run.kernel != first.kernel {
        "kernel"
    } else if quantum(run) != quantum(first) {
        "quantum"
    } else {
        return Ok(());
    };
    Err(format!("{}: its {other} differs from that of the first run: collect runs of the same work", path.display())
        .into())
}

/// Makes a record of at least one run. A `label` replaces that of the first run.
pub fn collect(runs: &[RunFile], label: Option<String>) -> Result<Record> {
    let first = runs.first().ok_or("no run")?;
    let [version, own_label, host, kernel_release, kernel_arguments, processor, time_source] = first.facts.clone();
    let (samples, places, counters) = rows_of(runs);
    let across = across_of(runs, places)?;
    let about = About {
        schema: SCHEMA,
        version,
        label: label.unwrap_or(own_label),
        host,
        kernel_release,
        kernel_arguments,
        processor,
        arguments: first.arguments.clone(),
        began_unix_s: first.began_unix_s,
        method: Method::Fwq,
        kernel: first.kernel,
        cpus: (0..across.places.len() as u32).collect(),
        // If the user gave units and no time, the quantum is the shortest time that it took.
        quantum_ns: if first.quantum_ns > 0 { first.quantum_ns as f64 } else { across.shortest_ns.max(1) as f64 },
        units: first.units,
        time_source,
        ticks_per_second: first.rows.first().map_or(1.0, |row| row.ticks_per_second),
        memory_locked: runs.iter().all(|run| run.memory_locked),
        huge_pages: runs.iter().all(|run| run.huge_pages),
        realtime_priority: None,
        counters,
        warnings: Vec::new(),
        thieves: None,
        across: Some(across),
    };
    Ok(Record { about, samples })
}

/// The samples, position and counters of each stored core, core by core.
fn rows_of(runs: &[RunFile]) -> (Samples, Vec<Place>, Vec<Counters>) {
    let (mut samples, mut places, mut counters) = (Samples::default(), Vec::new(), Vec::new());
    for (number, run) in runs.iter().enumerate() {
        for (row, stored) in run.stored.iter().map(|(index, stored)| (&run.rows[*index], stored)) {
            let cpu = places.len() as u32;
            samples.cpu.extend(std::iter::repeat_n(cpu, stored.len()));
            samples.start_ns.extend(stored.iter().map(|(start, _)| start));
            samples.length_ns.extend(stored.iter().map(|(_, length)| length));
            samples.work_units.extend(std::iter::repeat_n(run.units, stored.len()));
            places.push(row.place(number));
            counters.push(Counters {
                cpu,
                measured_ns: row.run_ns,
                voluntary_switches: row.voluntary_switches.into(),
                involuntary_switches: row.involuntary_switches.into(),
                minor_faults: row.minor_faults.into(),
                major_faults: row.major_faults.into(),
                ..Counters::default()
            });
        }
    }
    (samples, places, counters)
}

/// The statistics of all cores together.
fn across_of(runs: &[RunFile], places: Vec<Place>) -> Result<Across> {
    let first = runs.first().ok_or("no run")?;
    let all = || runs.iter().enumerate().flat_map(|(number, run)| run.rows.iter().map(move |row| (number, run, row)));
    let mut histogram = Histogram::default();
    runs.iter().for_each(|run| histogram.merge(&run.histogram));
    let (number, _, worst) = all().max_by_key(|(_, _, row)| row.longest_ns - row.shortest_ns).ok_or("no rank")?;
    let weighted: f64 = all().map(|(_, run, row)| row.noise_rate * run.samples as f64).sum();
    Ok(Across {
        mode: first.mode,
        runs: runs.iter().map(RunFile::summary).collect(),
        places,
        max_noise_ns: worst.longest_ns - worst.shortest_ns,
        worst: worst.place(number),
        noise_rate: weighted / histogram.total().max(1) as f64,
        shortest_ns: all().map(|(_, _, row)| row.shortest_ns).min().unwrap_or(0),
        measured_ns: all().map(|(_, run, row)| row.in_quanta_ns(run.samples)).sum::<f64>().round() as u64,
        histogram,
    })
}

impl Row {
    /// The sum of its T_i, which follows from the definition of the noise rate.
    fn in_quanta_ns(&self, samples: u64) -> f64 {
        samples as f64 * self.shortest_ns as f64 * (1.0 + self.noise_rate)
    }

    fn place(&self, run: usize) -> Place {
        Place { run: run as u32, rank: self.rank, node: self.node, host: self.host.clone(), cpu: self.cpu }
    }
}

impl RunFile {
    fn summary(&self) -> Run {
        let runs_ns = || self.rows.iter().map(|row| row.run_ns);
        Run {
            label: self.facts[1].clone(),
            began_unix_s: self.began_unix_s,
            ranks: self.rows.len() as u64,
            nodes: self.nodes,
            stored_nodes: self.stored_nodes,
            samples: self.samples,
            units: self.units,
            min_run_ns: runs_ns().min().unwrap_or(0),
            max_run_ns: runs_ns().max().unwrap_or(0),
        }
    }
}
