// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands: each reads or makes records, and prints a table or JSON.

mod analyse;
mod check;
mod collect;
mod exact;
mod generate;
mod import;
mod inject;
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
use crate::record::Record;

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

/// Whether a result may be written to `path`; called before the work whose result it is. A device or a folder would be
/// replaced by the file, so it is refused even with `--force`.
fn may_write(path: &Path, force: bool) -> Result<()> {
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
