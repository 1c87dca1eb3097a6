// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counts that may only fall, compared with quality.toml.
//!
//! `--tighten` writes lower counts back. Raising one is an edit of quality.toml that a reviewer sees. `--list NAME`
//! prints everything that one of them counts.

mod c;
mod calls;
mod functions;
mod layers;
mod measure;
mod reports;
mod words;

use std::fs;

use crate::command::program;
use crate::{Result, top};

const FILE: &str = "quality.toml";
/// A limit that does not fall with its count: what the next device may need is not what one needs now.
const FIXED: &str = "device_folder_lines";
/// How much of a count is told beside it.
const SHOWN: usize = 60;

/// Compares every count with its limit.
pub fn quality(tighten: bool) -> Result<()> {
    let path = top().join(FILE);
    let text = fs::read_to_string(&path).map_err(|e| format!("{FILE}: {e}"))?;
    let sources = sources()?;
    let mut worse = Vec::new();
    let mut tightened = text.clone();
    for (name, allowed) in limits(&text)? {
        let found = measure::measure(&name, &sources).ok_or_else(|| format!("{FILE}: no such count: {name}"))?;
        let (count, first) = (found.count, found.offenders.first().map_or("", String::as_str));
        let first: String = first.chars().take(SHOWN).collect();
        println!("{name:<22} {count:>4} of {allowed:<4} {first}");
        if count > allowed {
            worse.push(format!("{name} is {count}, {allowed} allowed: see `cargo xtask quality --list {name}`"));
        } else if name != FIXED {
            tightened = tightened.replace(&format!("\n{name} = {allowed}\n"), &format!("\n{name} = {count}\n"));
        }
    }
    if tighten && tightened != text {
        fs::write(&path, tightened)?;
    }
    if worse.is_empty() { Ok(()) } else { Err(worse.join("; ").into()) }
}

/// Prints everything that one count counts.
pub fn list(name: &str) -> Result<()> {
    let found = measure::measure(name, &sources()?).ok_or_else(|| format!("no such count: {name}: see {FILE}"))?;
    for offender in &found.offenders {
        println!("{offender}");
    }
    println!("{name}: {}", found.count);
    Ok(())
}

/// Path and text of every source file that git knows or would add.
fn sources() -> Result<Vec<(String, String)>> {
    let output = program("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]).output()?;
    if !output.status.success() {
        return Err("quality: this is no git work tree".into());
    }
    let list = String::from_utf8(output.stdout)?;
    let ours = |path: &&str| [".rs", ".c", ".h", ".S", ".sh", ".py", "Cargo.toml"].iter().any(|e| path.ends_with(e));
    let read = |path: &str| Some((path.to_owned(), fs::read_to_string(top().join(path)).ok()?));
    Ok(list.lines().filter(ours).filter_map(read).collect())
}

/// `name = number` lines.
fn limits(text: &str) -> Result<Vec<(String, usize)>> {
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines
        .map(|line| match line.split_once(" = ").map(|(name, number)| (name, number.parse())) {
            Some((name, Ok(number))) => Ok((name.to_owned(), number)),
            _ => Err(format!("{FILE}: not `name = number`: {line}").into()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_names_and_numbers() {
        assert_eq!(limits("# a\n\nb = 3\n").expect("limits"), [("b".to_owned(), 3)]);
        assert!(limits("b: 3\n").is_err());
    }

    #[test]
    fn every_limit_of_the_file_is_a_count() {
        let text = fs::read_to_string(top().join(FILE)).expect(FILE);
        for (name, _) in limits(&text).expect("limits") {
            assert!(measure::measure(&name, &[]).is_some(), "{name}");
        }
    }
}
