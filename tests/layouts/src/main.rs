// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints the places of all wanted fields in every kernel that Debian serves today, as the table of `docs/pico-layouts.md`.
//! Called by `cargo xtask layouts`. Words are parts of releases: only the kernels that contain one of them are read.

use std::process::ExitCode;

use tacet_layouts_tests::{Reader, Result, Said, packages};

fn main() -> ExitCode {
    match table(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("layouts: {error}");
            ExitCode::FAILURE
        }
    }
}

fn table(words: &[String]) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let reader = Reader::build()?;
    let mut header = String::new();
    for package in packages(directory.path())? {
        let release = package.release();
        if !words.is_empty() && !words.iter().any(|word| release.contains(word.as_str())) {
            continue;
        }
        let types = package.types(directory.path())?;
        let said = reader.table(&types)?;
        if header.is_empty() {
            header = format!("| kernel | driver | {} |", said.iter().map(name).collect::<Vec<_>>().join(" | "));
            println!("{header}\n{}|", "|---".repeat(said.len() + 2));
        }
        let driver = if types.nvme.is_some() { "module" } else { "built in" };
        println!("| {release} | {driver} | {} |", said.iter().map(cell).collect::<Vec<_>>().join(" | "));
        for file in [Some(types.base), types.nvme, types.core].into_iter().flatten() {
            std::fs::remove_file(file)?;
        }
    }
    if header.is_empty() { Err("no kernel of that name".into()) } else { Ok(()) }
}

/// The member alone: a field may stand in one structure or in another.
fn name(said: &Said) -> &str {
    match said {
        Said::Place(field, ..) | Said::Value(field, _) => field,
        Said::Refused(line) => line.split(':').next().unwrap_or(line),
    }
}

fn cell(said: &Said) -> String {
    match said {
        // the size tells more than the place where both vary
        Said::Place(_, offset, bytes) => format!("{offset} ({bytes})"),
        Said::Value(_, value) => format!("= {value}"),
        Said::Refused(line) => format!("**{line}**"),
    }
}
