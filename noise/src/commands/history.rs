// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `history`: shows the verdicts of earlier checks.

use std::process::ExitCode;

use super::{print, print_json_list};
use crate::options::History;
use crate::{Result, history, show};

pub fn run(options: &History) -> Result<ExitCode> {
    let path = options.history.clone().map_or_else(history::usual_place, Ok)?;
    let (mut entries, broken) = history::read(&path)?;
    if broken > 0 {
        eprintln!("note: {}: {broken} lines are no verdicts", path.display());
    }
    if let Some(last) = options.last {
        entries.drain(..entries.len().saturating_sub(last as usize));
    }
    if options.json {
        return print_json_list(&entries);
    }
    print(&show::history(&entries))
}
