// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counts that may only fall, compared with quality.toml.
//!
//! `--tighten` writes lower counts back. Raising one is an edit of quality.toml that a reviewer sees. `--list NAME`
//! prints everything that one of them counts.

mod c;
mod calls;
mod circles;
mod count;
mod functions;
mod layers;
mod measure;
mod modules;
mod reports;
mod stack;
mod words;

use std::fs;

use crate::command::program;
use crate::{Result, build, top};

const FILE: &str = "quality.toml";
/// Limits that do not fall with their counts: what the next device may need is not what one needs now, and the next
/// compiler may need a few bytes more.
const FIXED: [&str; 3] = ["device_folder_lines", STACKS[0].0, STACKS[1].0];
/// Counts that the sources do not show: the image does, which is built for them. Each with the functions that begin on
/// such a stack.
const STACKS: [(&str, &[&str]); 2] = [
    ("core_stack_bytes", &["tacet_main"]),
    ("core_trap_stack_bytes", &["tacet_nmi", "tacet_double_fault", "tacet_machine_check"]),
];
/// What an exception in the co-kernel comes to.
const TRAP: &str = "tacet_fatal_trap";
/// What the disassembly of the image does not show.
const WRITTEN: &str = "kernel/image/hosted/stack.txt";
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
        let found = measure(&name, &sources)?;
        let (count, first) = (found.count, found.offenders.first().map_or("", String::as_str));
        let first: String = first.chars().take(SHOWN).collect();
        println!("{name:<22} {count:>4} of {allowed:<4} {first}");
        if count > allowed {
            worse.push(format!("{name} is {count}, {allowed} allowed: see `cargo xtask quality --list {name}`"));
        } else if !FIXED.contains(&name.as_str()) {
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
    let found = measure(name, &sources()?)?;
    for offender in &found.offenders {
        println!("{offender}");
    }
    println!("{name}: {}", found.count);
    Ok(())
}

fn measure(name: &str, sources: &count::Sources) -> Result<count::Count> {
    if let Some((_, roots)) = STACKS.iter().find(|(stack, _)| *stack == name) {
        let written = fs::read_to_string(top().join(WRITTEN))?;
        return Ok(stack::depth(&fs::read(build::image()?)?, &written, roots, TRAP)?);
    }
    measure::measure(name, sources).ok_or_else(|| format!("no such count: {name}: see {FILE}").into())
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
            let is_stack = STACKS.iter().any(|(stack, _)| *stack == name);
            assert!(is_stack || measure::measure(&name, &[]).is_some(), "{name}");
        }
    }
}
