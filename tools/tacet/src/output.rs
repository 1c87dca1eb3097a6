// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The only way to standard output and standard error.
//!
//! Called by every command. If the reader of standard output has gone away, the command ends quietly, as SIGPIPE would
//! end it.

use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use tacet_ctl::{Error, Result};

/// The exit status that a shell reports for a process killed by SIGPIPE.
const BROKEN_PIPE: i32 = 128 + 13;

/// Prints one value for programs, indented.
pub fn json(value: &impl Serialize) -> Result<()> {
    let text = tacet_words::json::text(value).map_err(|error| Error::new("json", error, ""))?;
    print(&text)
}

/// Prints one of several values for programs, on one line.
pub fn json_line(value: &impl Serialize) -> Result<()> {
    let text = tacet_words::json::line(value).map_err(|error| Error::new("json", error, ""))?;
    print(&text)
}

pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(io) if io.kind() == io::ErrorKind::BrokenPipe => std::process::exit(BROKEN_PIPE),
        Err(io) => Err(Error::io("standard output", &io, "")),
    }
}

/// Prints a remark for a person to standard error, so that standard output holds results only.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "tacet: {text}");
}

/// Prints results to standard error, because a program of the user owns standard output.
pub fn aside(text: &str) {
    let _ = write!(io::stderr(), "{text}");
}

/// A table without rules. A heading that ends in `>` marks a column of numbers, aligned right.
pub fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headings.iter().map(|heading| Cell::new(heading.trim_end_matches('>'))));
    for row in rows {
        table.add_row(row);
    }
    for (column, heading) in table.column_iter_mut().zip(headings) {
        column.set_padding((0, 2));
        if heading.ends_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines().map(|line| line.trim_end().to_string() + "\n");
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_align_and_have_no_trailing_blanks() {
        let rows = [vec!["2".to_string(), "idle".to_string()], vec!["10".to_string(), "user".to_string()]];
        assert_eq!(table(&["CPU>", "MODE"], rows), "CPU  MODE\n  2  idle\n 10  user\n");
    }
}
