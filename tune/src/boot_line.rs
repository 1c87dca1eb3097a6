// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The words of the kernel's boot line, written where the distribution's own tool keeps them, and taken out again.
//!
//! Debian's way is a file of ours in /etc/default/grub.d, which `update-grub` reads; Fedora's is `grubby`, which edits the
//! entries. Nothing else is edited: a word that the machine was booted with by other hands stays theirs, and one with the
//! same key is refused. What was written is remembered beside the journal, so `--undo` takes out exactly that. If the
//! tool fails, the file is as before.

use std::io;
use std::process::{Command, Stdio};

use serde::Serialize;
use tacet_words::status::{MACHINE, UNDONE};

use crate::error::{Error, Result};
use crate::node::{Linux, Node};
use crate::plan::Plan;

const FILE: &str = "/etc/default/grub.d/tacet.cfg";
const WRITTEN: &str = "/var/lib/tacet/tune/boot-line";
const UPDATE_GRUB: [&str; 2] = ["/usr/sbin/update-grub", "/sbin/update-grub"];
const GRUBBY: [&str; 3] = ["/usr/sbin/grubby", "/sbin/grubby", "/usr/bin/grubby"];

/// The distribution's tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    UpdateGrub,
    Grubby,
}

/// What was done, or would be.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// the words that the boot line has, or needs; empty after `--undo`
    pub words: Vec<String>,
    /// the tool; none if nothing was to be done
    pub tool: Option<Tool>,
    pub changed: bool,
}

/// The words that the plan wants at boot and that nobody else has put there: those that it lacks, and those of an earlier
/// call with which the machine was booted, since the plan does not lack them.
pub fn wanted(node: &dyn Node, plan: &Plan) -> Result<Vec<String>> {
    let (booted, ours) = (node.read("/proc/cmdline").unwrap_or_default(), written(node));
    let mut words: Vec<String> = Vec::new();
    for word in plan.parts.iter().flat_map(|part| part.boot().iter()) {
        let theirs = |other: &&str| !ours.iter().any(|one| one == other);
        let mut others = booted.split_whitespace().filter(theirs);
        if words.contains(word) || others.clone().any(|other| other == word) {
            continue;
        }
        if let Some(other) = others.find(|other| key(other) == key(word)) {
            let cause = format!("the boot line has {other} already, which somebody else wrote; {word} is wanted");
            return Err(Error::new("boot line", cause, "change that by hand").with_status(MACHINE));
        }
        words.push(word.clone());
    }
    let in_force = ours.iter().filter(|word| booted.split_whitespace().any(|other| other == *word));
    let kept: Vec<String> = in_force.filter(|word| !words.iter().any(|new| key(new) == key(word))).cloned().collect();
    words.extend(kept);
    Ok(words)
}

fn key(word: &str) -> &str {
    word.split_once('=').map_or(word, |(key, _)| key)
}

/// What an earlier call wrote.
pub fn written(node: &dyn Node) -> Vec<String> {
    node.read(WRITTEN).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Replaces what an earlier call wrote by these words; none take all of it out. With `dry_run` it only says so.
pub fn set(node: &Linux, words: Vec<String>, dry_run: bool) -> Result<Outcome> {
    let before = written(node);
    if before == words {
        return Ok(Outcome { words, tool: None, changed: false });
    }
    let tool = tool(node)?;
    if !dry_run {
        // first: whatever happens after it, `--undo` knows every word
        let all: Vec<&str> = before.iter().chain(&words).map(String::as_str).collect();
        remember(node, &all)?;
        match tool {
            Tool::UpdateGrub => debian(node, &before, &words)?,
            Tool::Grubby => fedora(node, &before, &words)?,
        }
        remember(node, &words.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    Ok(Outcome { words, tool: Some(tool), changed: !dry_run })
}

fn tool(node: &Linux) -> Result<Tool> {
    let has = |paths: &[&str]| paths.iter().any(|path| node.exists(path));
    match (has(&UPDATE_GRUB) && node.exists("/etc/default"), has(&GRUBBY)) {
        (true, _) => Ok(Tool::UpdateGrub),
        (false, true) => Ok(Tool::Grubby),
        (false, false) => Err(Error::new(
            "boot line",
            "this machine has neither update-grub nor grubby",
            "add the words of `tacet tune boot-line` to the loader's configuration by hand",
        )
        .with_status(MACHINE)),
    }
}

fn remember(node: &Linux, words: &[&str]) -> Result<()> {
    let done =
        if words.is_empty() { node.remove_file(WRITTEN) } else { node.replace(WRITTEN, &(words.join(" ") + "\n")) };
    done.map_err(|error| Error::io(WRITTEN, &error, "repeat as root"))
}

fn debian(node: &Linux, before: &[String], words: &[String]) -> Result<()> {
    place(node, words)?;
    run(node, &UPDATE_GRUB, &[]).or_else(|error| {
        place(node, before)?;
        remember(node, &before.iter().map(String::as_str).collect::<Vec<_>>())?;
        Err(error.with_status(UNDONE))
    })
}

fn place(node: &Linux, words: &[String]) -> Result<()> {
    let done = if words.is_empty() {
        node.remove_file(FILE)
    } else {
        let text = format!(
            "# written by `tacet tune boot-line --write`; `tacet tune boot-line --undo` removes it\n\
             GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {}\"\n",
            words.join(" ")
        );
        node.replace(FILE, &text)
    };
    done.map_err(|error| Error::io(FILE, &error, "repeat as root"))
}

fn fedora(node: &Linux, before: &[String], words: &[String]) -> Result<()> {
    let change = |flag: &str, words: &[String]| match words {
        [] => Ok(()),
        words => run(node, &GRUBBY, &["--update-kernel=ALL", &format!("--{flag}={}", words.join(" "))]),
    };
    change("remove-args", before).and_then(|()| change("args", words)).map_err(|error| {
        // the entries are the tool's: what it did is taken out, and what was there is put back, as far as it works
        let back = change("remove-args", words).and_then(|()| change("args", before));
        let kept = back.and_then(|()| remember(node, &before.iter().map(String::as_str).collect::<Vec<_>>()));
        if kept.is_ok() { error.with_status(UNDONE) } else { error }
    })
}

fn run(node: &Linux, paths: &[&str], words: &[&str]) -> Result<()> {
    let path = paths.iter().find(|path| node.exists(path)).unwrap_or(&paths[0]);
    let output = Command::new(node.path(path)).args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|error: io::Error| Error::io(path, &error, "repeat as root"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing").trim();
    Err(Error::new(path, format!("it failed: {last}"), "the boot line is as before").with_status(MACHINE))
}
