// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints the places of all wanted fields in the kernels that Debian serves today, as the table of `docs/pico-layouts.md`.
//! Called by `cargo xtask layouts`. Words are parts of releases: only the kernels that contain one of them are read.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use tacet_layouts_tests::{Package, Reader, Result, Said, packages};

/// The kernels whose fields have the same places.
struct Layout {
    kernels: Vec<String>,
    said: Vec<Said>,
}

fn main() -> ExitCode {
    let mut layouts = Vec::new();
    let read = read(&std::env::args().skip(1).collect::<Vec<_>>(), &mut layouts);
    // a kernel that could not be read does not take the others with it
    if !layouts.is_empty() {
        print(&layouts);
    }
    match read {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("layouts: {error}");
            ExitCode::FAILURE
        }
    }
}

fn read(words: &[String], layouts: &mut Vec<Layout>) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let reader = Reader::build()?;
    let wanted =
        |package: &Package| words.is_empty() || words.iter().any(|word| package.release().contains(word.as_str()));
    let packages: Vec<Package> = packages(directory.path())?.into_iter().filter(wanted).collect();
    if packages.is_empty() {
        return Err("Debian serves no kernel of that name".into());
    }
    let mut failed = 0;
    for (index, package) in packages.iter().enumerate() {
        let said = places(&reader, package, directory.path());
        eprintln!("{} of {}: {}", index + 1, packages.len(), package.release());
        match said {
            Ok((kernel, said)) => match layouts.iter_mut().find(|layout| layout.said == said) {
                Some(layout) => layout.kernels.push(kernel),
                None => layouts.push(Layout { kernels: vec![kernel], said }),
            },
            Err(error) => {
                eprintln!("layouts: {}: {error}", package.release());
                failed += 1;
            }
        }
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} kernels could not be read", packages.len()).into()) }
}

/// One kernel: its release, and where its fields are.
fn places(reader: &Reader, package: &Package, directory: &Path) -> Result<(String, Vec<Said>)> {
    let types = package.types(directory)?;
    let said = reader.table(&types)?;
    let driver = if types.nvme.is_some() { "" } else { " (built in)" };
    for file in [Some(types.base), types.nvme, types.core].into_iter().flatten() {
        fs::remove_file(file)?;
    }
    Ok((format!("{}{driver}", types.release), said))
}

/// One row per field, one column per layout, and the kernels of each layout below.
fn print(layouts: &[Layout]) {
    let names: Vec<String> = (1..=layouts.len()).map(|number| number.to_string()).collect();
    println!("| field | {} |\n|---{}|", names.join(" | "), "|---".repeat(layouts.len()));
    for row in 0..layouts.iter().map(|layout| layout.said.len()).max().unwrap_or(0) {
        let said: Vec<&Said> = layouts.iter().filter_map(|layout| layout.said.get(row)).collect();
        let field = said.last().map_or("", |said| name(said));
        let cells: Vec<String> = said.iter().map(|said| cell(said, field)).collect();
        println!("| {field} | {} |", cells.join(" | "));
    }
    println!("\n| layout | kernels |\n|---|---|");
    for (number, layout) in names.iter().zip(layouts) {
        println!("| {number} | {} |", layout.kernels.join(", "));
    }
}

fn name(said: &Said) -> &str {
    match said {
        Said::Place(field, ..) | Said::Value(field, _) => field,
        Said::Refused(line) => line.split(':').next().unwrap_or(line),
    }
}

/// The place, with the field's own name if it stands in another structure than in the last layout.
fn cell(said: &Said, field: &str) -> String {
    let place = match said {
        Said::Place(_, offset, _) => offset.to_string(),
        Said::Value(_, value) => format!("= {value}"),
        Said::Refused(line) => format!("refused: {line}"),
    };
    if name(said) == field { place } else { format!("{place} in {}", name(said)) }
}
