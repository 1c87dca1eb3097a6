// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `analyse` and `compare`: print the statistics of records, and compare records.

use std::process::ExitCode;

use super::{print, print_json_list, read_all, tell_apart};
use crate::Result;
use crate::analyse::{Comparison, Summary, compare};
use crate::options::{Analyse, Compare};
use crate::show;

pub fn run(options: Analyse) -> Result<ExitCode> {
    let records = read_all(&options.records)?;
    let summaries: Vec<Summary> = records.iter().map(|record| record.summary(options.threshold.0)).collect();
    if options.json {
        return print_json_list(&summaries);
    }
    print(&show::summaries(&summaries))
}

pub fn compare_all(options: Compare) -> Result<ExitCode> {
    let mut records = read_all(&options.records)?;
    tell_apart(&mut records);
    let Some((base, others)) = records.split_first() else { return Err("no record".into()) };
    let comparisons: Vec<Comparison> = others.iter().map(|other| compare(other, base)).collect::<Result<_>>()?;
    if options.json {
        return print_json_list(&comparisons);
    }
    print(&show::comparisons(&comparisons))
}
