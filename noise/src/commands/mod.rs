// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands: each reads or makes records, and prints a table or JSON.

mod analyse;
mod campaign;
mod check;
mod collect;
mod exact;
mod generate;
mod history;
mod import;
mod inject;
mod live;
mod measure;
mod predict;
mod report;
mod trace;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use tacet_words::{Failure, Tool};

use crate::Result;
use crate::examples::described;
use crate::options::{Command, Options};
use crate::record::{Record, partial};

const TOOL: Tool = Tool { name: "tacet noise", command: described, runners: &[] };

/// The whole program.
pub fn main() -> ExitCode {
    match TOOL.parse::<Options>() {
        Ok(options) => {
            run(options.command).unwrap_or_else(|error| TOOL.fail(Failure::status_of(&*error), &error, false))
        }
        Err(status) => status,
    }
}

/// Executes the command. Returns the exit status, or an error.
pub fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Measure(options) => measure::run(options),
        Command::Analyse(options) => analyse::run(options),
        Command::Compare(options) => analyse::compare_all(options),
        Command::Predict(options) => predict::run(options),
        Command::Check(options) => check::run(options),
        Command::Campaign(options) => campaign::run(&options),
        Command::History(options) => history::run(&options),
        Command::Report(options) => report::run(options),
        Command::Import(options) => import::run(options),
        Command::Inject(options) => inject::run(options),
        Command::Trace(options) => trace::run(options),
        Command::Collect(options) => collect::run(options),
        Command::Man { directory } => generate::man(&directory),
        Command::Completions { shell } => generate::completions(shell),
        Command::Describe => generate::describe(),
        Command::Exact(options) => exact::run(options),
    }
}

fn read_all(paths: &[PathBuf]) -> Result<Vec<Record>> {
    paths.iter().map(|path| Record::read(path)).collect()
}

/// Numbers the labels that several records have: `node7 (1)`, `node7 (2)`.
fn tell_apart(records: &mut [Record]) {
    let labels: Vec<String> = records.iter().map(|record| record.about.label.clone()).collect();
    for (index, label) in labels.iter().enumerate() {
        if labels.iter().filter(|other| *other == label).count() > 1 {
            let number = labels[..=index].iter().filter(|other| *other == label).count();
            records[index].about.label = format!("{label} ({number})");
        }
    }
}

/// Whether a result may and can be written to `path`; called before the work whose result it is. Makes the temporary
/// file beside it once, which tells of a missing, a read-only and a foreign folder.
fn may_write(path: &Path, force: bool) -> Result<()> {
    if path == Path::new("-") {
        return Err("-: standard output has the table or JSON: name a file".into());
    }
    is_free(path, force)?;
    let partial = partial(path);
    let probed = std::fs::File::create(&partial).and_then(|_| std::fs::remove_file(&partial));
    probed.map_err(|error| format!("{}: cannot write there: {error}", path.display()).into())
}

/// Writes a result that took long to measure. If that fails it goes to the folder for temporary files; the reader is told
/// where, and the command ends with 1 after it has printed what it measured.
fn keep(path: &Path, write: impl Fn(&Path) -> Result<()>) -> Result<Kept> {
    let Err(error) = write(path) else { return Ok(Kept { path: path.to_owned(), elsewhere: false }) };
    let name = path.file_name().map_or_else(|| "noise".into(), |name| name.to_string_lossy().into_owned());
    let other = std::env::temp_dir().join(format!("tacet-{}-{name}", std::process::id()));
    match write(&other) {
        Ok(()) => eprintln!("tacet noise: {error}; what was measured is in {}", other.display()),
        Err(second) => eprintln!("tacet noise: {error}; nor elsewhere: {second}; what follows is all that is left"),
    }
    Ok(Kept { path: other, elsewhere: true })
}

/// Where a result is.
struct Kept {
    path: PathBuf,
    elsewhere: bool,
}

impl Kept {
    /// The status of the command, whose output was printed with `printed`.
    fn status(&self, printed: ExitCode) -> ExitCode {
        if self.elsewhere { ExitCode::FAILURE } else { printed }
    }
}

/// Whether there is no such file, or it may be overwritten. A device or a folder would be replaced by the file, so it is
/// refused even with `--force`.
fn is_free(path: &Path, force: bool) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            Err(format!("{}: not a regular file: name another one", path.display()).into())
        }
        Ok(_) if !force => {
            Err(format!("{}: exists already: name another file, or overwrite it with --force", path.display()).into())
        }
        _ => Ok(()),
    }
}

/// Prints to standard output. A reader that closes the pipe early is not an error.
fn print(text: &str) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}").into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn print_json(facts: &impl Serialize) -> Result<ExitCode> {
    print(&tacet_words::json::text(facts)?)
}

fn print_json_list<T: Serialize>(list: &[T]) -> Result<ExitCode> {
    print(&tacet_words::json::list(list)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::examples::fixed_work;

    /// A folder that vanishes during the measurement costs no record.
    #[test]
    fn a_result_without_a_place_goes_elsewhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gone").join("r.parquet");
        let record = fixed_work(&[1, 2]);
        let kept = keep(&path, |path| record.write(path)).expect("kept");
        assert!(kept.elsewhere && kept.path.starts_with(std::env::temp_dir()));
        assert_eq!(Record::read(&kept.path).expect("whole"), record);
        std::fs::remove_file(&kept.path).expect("removed");
        let kept = keep(&folder.path().join("r.parquet"), |path| record.write(path)).expect("kept");
        assert!(!kept.elsewhere && kept.path.ends_with("r.parquet"));
    }

    #[test]
    fn same_labels_are_told_apart() {
        let mut records: Vec<Record> = ["a", "b", "a", "a"]
            .map(|label| {
                let mut record = fixed_work(&[1]);
                record.about.label = label.into();
                record
            })
            .into();
        tell_apart(&mut records);
        let labels: Vec<&str> = records.iter().map(|record| record.about.label.as_str()).collect();
        assert_eq!(labels, ["a (1)", "b", "a (2)", "a (3)"]);
    }
}
