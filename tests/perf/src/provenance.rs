// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The place of a measurement: host, kernel, emulator, commit.
//!
//! The host is described by its processor and kernel, not by its name. A part that cannot be found out is "unknown".

use std::fs;
use std::path::Path;
use std::process::Command;

use tacet_node::Node;

/// The text for the end of a method.
pub fn place(node: &Node, top: &Path) -> String {
    let (release, emulator) = (node.release(), emulator(node));
    format!("kernel {release}, {emulator}, host {}, commit {}, load {}", host(), commit(top), load())
}

/// The part of the place that two measurements of HPL must share to be combined. They count instructions, so the host
/// does not matter. The commit is the last one that changed files that run in the node.
pub fn counted(node: &Node, top: &Path) -> String {
    format!("kernel {}, {}, commit {}", node.release(), emulator(node), last_change(top, &["sched/hpl", "tests/perf"]))
}

/// Like [`place`], for a measurement on the host itself.
pub fn here(top: &Path) -> String {
    format!("{}, commit {}, load {}", host(), commit(top), load())
}

fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or("unknown").to_owned()
}

/// The emulator's version. Runs the node's emulator again with the words of its command line before its first machine
/// option, which are the words that start it.
fn emulator(node: &Node) -> String {
    let line = fs::read(format!("/proc/{}/cmdline", node.pid())).unwrap_or_default();
    let words: Vec<String> = line
        .split(|b| *b == 0)
        .map(|w| String::from_utf8_lossy(w).into_owned())
        .take_while(|w| w != "-nodefaults")
        .collect();
    let how = match node.is_kvm() {
        true => "KVM",
        false if line.windows(13).any(|part| part == b"thread=single") => "TCG, one cpu after the other",
        false => "TCG, one thread per cpu",
    };
    let version =
        words.split_first().and_then(|(program, leading)| said(Command::new(program).args(leading).arg("--version")));
    let version = version.unwrap_or_default();
    let number = version.split_once("version ").and_then(|(_, rest)| rest.split_whitespace().next());
    format!("QEMU {} {how}", number.unwrap_or("unknown"))
}

fn host() -> String {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|l| l.strip_prefix("model name")).and_then(|l| l.split(": ").nth(1));
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} with {cpus} cpus, Linux {}", model.unwrap_or("unknown"), release.trim())
}

fn commit(top: &Path) -> String {
    named(top, &["rev-parse", "--short=12", "HEAD"], &["abi", "kernel", "linux", "noise", "sched"])
}

fn last_change(top: &Path, folders: &[&str]) -> String {
    named(top, &[&["log", "-1", "--abbrev=12", "--format=%h", "--"], folders].concat(), folders)
}

/// The commit that git answers to `question`, and whether a file of `folders` differs from it.
fn named(top: &Path, question: &[&str], folders: &[&str]) -> String {
    let git = |arguments: &[&str]| said(Command::new("git").arg("-C").arg(top).args(arguments));
    let changed = git(&[&["status", "--porcelain", "--"], folders].concat()).is_some_and(|text| !text.is_empty());
    let id = git(question).filter(|id| !id.is_empty()).unwrap_or_else(|| "unknown".to_owned());
    format!("{id}{}", if changed { " with changes" } else { "" })
}

fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
