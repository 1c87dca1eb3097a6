// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counts that may only fall, compared with quality.toml: the tail is where taste shows.
//!
//! `--tighten` writes lower counts back. Raising one is an edit of quality.toml that a reviewer sees.

mod measure;

use std::fs;

use crate::command::program;
use crate::{Result, top};

const FILE: &str = "quality.toml";

pub fn quality(tighten: bool) -> Result<()> {
    let path = top().join(FILE);
    let text = fs::read_to_string(&path).map_err(|e| format!("{FILE}: {e}"))?;
    let sources = sources()?;
    let mut worse = Vec::new();
    let mut tightened = text.clone();
    for (name, allowed) in limits(&text)? {
        let (count, at) = measure::measure(&name, &sources).ok_or_else(|| format!("{FILE}: no such count: {name}"))?;
        println!("{name:<22} {count:>6} of {allowed:<6} {at}");
        if count > allowed {
            worse.push(format!("{name} is {count}, {allowed} allowed: {at}"));
        } else {
            tightened = tightened.replace(&format!("{name} = {allowed}\n"), &format!("{name} = {count}\n"));
        }
    }
    if tighten && tightened != text {
        fs::write(&path, tightened)?;
    }
    if worse.is_empty() { Ok(()) } else { Err(worse.join("; ").into()) }
}

/// Path and text of every source file that git knows or would add.
fn sources() -> Result<Vec<(String, String)>> {
    let output = program("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]).output()?;
    if !output.status.success() {
        return Err("quality: this is no git work tree".into());
    }
    let list = String::from_utf8(output.stdout)?;
    let ours = |path: &&str| [".rs", ".c", ".h", ".S", ".sh", ".py"].iter().any(|e| path.ends_with(e));
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
