// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `import`: makes a record of another tool's output, and prints its summary.

use std::process::ExitCode;

use super::measure::THRESHOLD_NS;
use super::{may_write, print, print_json};
use crate::Result;
use crate::import::import;
use crate::options::Import;
use crate::show;

pub fn run(options: Import) -> Result<ExitCode> {
    may_write(&options.output, options.force)?;
    let mut record = import(&options.file, options.format, options.interval)?;
    if let Some(label) = options.label {
        record.about.label = label;
    }
    record.write(&options.output)?;
    let summary = record.summary(THRESHOLD_NS);
    if options.json {
        return print_json(&summary);
    }
    print(&format!("{}record: {}\n", show::summaries(&[summary]), options.output.display()))
}
