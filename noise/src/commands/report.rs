// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `report`: writes a page about one or several records and their figures as files, and prints the table.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use super::{is_free, may_write, print, print_json, read_all, tell_apart};
use crate::Result;
use crate::analyse::{Comparison, Summary};
use crate::measure::machine;
use crate::options::{Format, Report};
use crate::record::{Method, Record};
use crate::report::figures::{Figure, figures};
use crate::report::{Material, RECORDS_LIMIT, page, png, svg};
use crate::show;

/// A name that no figure has.
const PROBE: &str = "tacet-figure";

#[derive(Debug, Serialize)]
struct Facts {
    page: PathBuf,
    page_bytes: usize,
    figures: Vec<PathBuf>,
    records: Vec<Summary>,
    /// Each further record against the first, as `compare` says it; without those that cannot be compared.
    comparisons: Vec<Comparison>,
    predictions: Vec<Predicted>,
}

/// What the page says of a record at scale.
#[derive(Debug, Serialize)]
struct Predicted {
    label: String,
    threads: u64,
    interval_ns: f64,
    slowdown: f64,
    slowdown_low: Option<f64>,
    slowdown_high: Option<f64>,
}

pub fn run(options: Report) -> Result<ExitCode> {
    if options.records.len() > RECORDS_LIMIT {
        return Err(format!(
            "{} records: at most {RECORDS_LIMIT} on a page, since more colours cannot be distinguished",
            options.records.len()
        )
        .into());
    }
    may_write(&options.output, options.force)?;
    // the folder may be made, so it is enough if that is possible
    let there = options.figures.as_deref().and_then(|folder| folder.ancestors().find(|folder| folder.exists()));
    there.map_or(Ok(()), |folder| may_write(&folder.join(PROBE), true))?;
    let mut records = read_all(&options.records)?;
    if options.redact {
        records.iter_mut().for_each(Record::redact);
    }
    tell_apart(&mut records);
    let latencies = records.iter().filter(|record| record.about.method == Method::Latency).count();
    if latencies > 0 && latencies < records.len() {
        return Err("wake-up latencies and noise are different quantities: make a page of each".into());
    }
    let threads = options.threads.unwrap_or_else(|| threads(&records));
    let material = Material::of(&records, options.threshold, threads, options.interval);
    let figures = figures(&material);
    let page = page(&material, &figures)?;
    let files = match &options.figures {
        Some(folder) => files(folder, options.format, &figures)?,
        None => Vec::new(),
    };
    // Draws everything before it writes anything.
    files.iter().try_for_each(|(path, _)| is_free(path, options.force))?;
    if let Some(folder) = &options.figures {
        let failed = |error| format!("{}: cannot make the folder for figures: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let page_and_files = files.iter().map(|(path, bytes)| (path.as_path(), bytes.as_slice()));
    all_or_none(page_and_files.chain([(options.output.as_path(), page.as_bytes())]))?;
    let facts = Facts {
        page: options.output,
        page_bytes: page.len(),
        figures: files.into_iter().map(|(path, _)| path).collect(),
        records: material.records.iter().map(|record| record.summary.clone()).collect(),
        comparisons: material.comparisons.iter().filter_map(|one| one.as_ref().ok()).cloned().collect(),
        predictions: predictions(&material),
    };
    if options.json {
        return print_json(&facts);
    }
    let figures = facts.figures.iter().map(|path| format!("figure: {}\n", path.display())).collect::<String>();
    let verdicts = material.verdicts().map(|line| line + "\n").collect::<String>();
    print(&format!("{verdicts}{}{figures}page: {}\n", show::summaries(&facts.records), facts.page.display()))
}

/// The user's machine: as many threads as it has CPUs, or as the records have cores.
fn threads(records: &[Record]) -> u64 {
    let cores = |record: &Record| match &record.about.across {
        Some(across) => across.runs.iter().map(|run| run.ranks).max().unwrap_or(1),
        None => record.about.cpus.len() as u64,
    };
    records.iter().map(cores).chain([machine::online_cpus() as u64]).max().unwrap_or(1)
}

fn predictions(material: &Material<'_>) -> Vec<Predicted> {
    let of_noise = material.records.iter().filter(|record| record.about.method != Method::Latency);
    let one = |record: &crate::report::Pictured<'_>| Predicted {
        label: record.about.label.clone(),
        threads: record.prediction.threads,
        interval_ns: record.prediction.interval_ns,
        slowdown: record.prediction.slowdown,
        slowdown_low: record.prediction.slowdown_low,
        slowdown_high: record.prediction.slowdown_high,
    };
    of_noise.map(one).collect()
}

/// The path and the contents of each figure's file.
fn files(folder: &Path, format: Format, figures: &[Figure<'_>]) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    for figure in figures {
        let picture = svg(figure)?;
        if format != Format::Svg {
            files.push((folder.join(format!("{}.png", figure.name)), png(&picture)?));
        }
        if format != Format::Png {
            files.push((folder.join(format!("{}.svg", figure.name)), picture.into_bytes()));
        }
    }
    Ok(files)
}

/// If one cannot be written, those before it are removed.
fn all_or_none<'a>(files: impl Iterator<Item = (&'a Path, &'a [u8])>) -> Result<()> {
    let mut written = Vec::new();
    for (path, bytes) in files {
        if let Err(error) = write(path, bytes) {
            written.iter().for_each(|path| drop(fs::remove_file(path)));
            return Err(error);
        }
        written.push(path);
    }
    Ok(())
}

/// Writes the file completely or not at all; an existing file stays unchanged until the new one is complete.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let done = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
    if done.is_err() {
        let _ = fs::remove_file(&partial);
    }
    done.map_err(|error| format!("{}: cannot write: {error}", path.display()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_cannot_be_written_leaves_no_figure() {
        let folder = tempfile::tempdir().expect("a folder");
        let (figure, page) = (folder.path().join("a.svg"), folder.path().join("gone").join("page.html"));
        let files = |page| [(figure.as_path(), &b"x"[..]), (page, &b"y"[..])].into_iter();
        assert!(all_or_none(files(&page)).is_err());
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
        let page = folder.path().join("page.html");
        all_or_none(files(&page)).expect("written");
        assert!(figure.exists() && page.exists());
    }
}
