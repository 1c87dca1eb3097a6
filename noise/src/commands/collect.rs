// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `collect`: combines runs of the MPI program into one record and a table of ranks, and prints the summary.

use std::process::ExitCode;

use super::measure::THRESHOLD_NS;
use super::{may_write, print, print_json};
use crate::Result;
use crate::collect::{collect, read_runs, write_ranks};
use crate::options::Collect;
use crate::show;

pub fn run(options: Collect) -> Result<ExitCode> {
    let ranks = options.output.with_extension("ranks.parquet");
    [&options.output, &ranks].into_iter().try_for_each(|path| may_write(path, options.force))?;
    let runs = read_runs(&options.runs)?;
    let mut record = collect(&runs, options.label)?;
    if options.redact {
        record.redact();
    }
    write_ranks(&runs, &ranks)?;
    // both or none
    record.write(&options.output).inspect_err(|_| drop(std::fs::remove_file(&ranks)))?;
    let summary = record.summary(THRESHOLD_NS);
    if options.json {
        return print_json(&summary);
    }
    let text = show::summaries(&[summary]);
    print(&format!("{text}record: {}\nranks: {}\n", options.output.display(), ranks.display()))
}
