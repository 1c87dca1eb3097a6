// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks docs/troubleshooting.md: each message that it explains is one that the sources have.
//!
//! Called by `docs.rs`. It reads only.

use std::fs;
use std::path::Path;

use crate::Result;

const PAGE: &str = "docs/troubleshooting.md";
/// Folders that have messages for users.
const SOURCES: [&str; 8] =
    ["linux", "static/nodes/src", "tools", "noise/src", "tune/src", "sched/hpl/src", "static/iod/src", "pico"];

pub fn check(top: &Path) -> Result<()> {
    let page = fs::read_to_string(top.join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let mut sources = String::new();
    SOURCES.iter().try_for_each(|folder| gather(&top.join(folder), &mut sources))?;
    match unknown(&page, &joined(&sources)) {
        Some(message) => Err(format!("{PAGE}: `{message}`: no source has this message").into()),
        None => Ok(()),
    }
}

/// The first part of a message in the first column of a table that the sources do not have. `…` divides the parts.
fn unknown<'a>(page: &'a str, sources: &str) -> Option<&'a str> {
    let messages = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let mut parts = messages.flat_map(|(message, _)| message.split('…')).map(str::trim);
    parts.find(|part| !sources.contains(part))
}

/// Strings that continue on the next line, as one line: in Rust after a backslash, in C as neighbours.
fn joined(sources: &str) -> String {
    let mut text = String::with_capacity(sources.len());
    for line in sources.lines() {
        let line = line.trim();
        let open = text.strip_suffix('\\').or_else(|| text.strip_suffix('"').filter(|_| line.starts_with('"')));
        match open.map(str::len) {
            Some(length) => {
                let c = text.ends_with('"');
                text.truncate(length);
                text.push_str(if c { &line[1..] } else { line });
            }
            None => {
                text.push('\n');
                text.push_str(line);
            }
        }
    }
    text
}

fn gather(path: &Path, into: &mut String) -> Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            gather(&entry?.path(), into)?;
        }
    } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "c" || ending == "h") {
        into.push_str(&fs::read_to_string(path)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_no_source_has() {
        let sources =
            joined("refuse(\"cannot free %llu MiB of \"\n    \"memory\");\nErr(\"none \\\n    is up\".into())\n");
        assert_eq!(unknown("| `cannot free … MiB of memory` | x |\n| `none is up` | y |", &sources), None);
        assert_eq!(unknown("| `none is down` | x |", &sources), Some("none is down"));
    }
}
