// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a figure was measured: host, kernel, emulator, commit.
//!
//! The host is named by its processor and kernel, not by its name. What cannot be found out is called unknown.

use std::fs;
use std::path::Path;
use std::process::Command;

use tacet_node::Node;

/// One clause for the end of a method.
pub fn place(node: &Node, top: &Path) -> String {
    let (release, emulator) = (node.release(), emulator(node));
    format!("kernel {release}, {emulator}, host {}, commit {}, load {}", host(), commit(top), load())
}

/// What is the same for two measurements of HPL that may be put together: by counted instructions, so on whatever host.
/// The commit is the last that changed anything that runs in the node.
pub fn counted(node: &Node, top: &Path) -> String {
    format!("kernel {}, {}, commit {}", node.release(), emulator(node), last_change(top, &["sched/hpl", "tests/perf"]))
}

/// As [`place`], of what runs on the host itself.
pub fn here(top: &Path) -> String {
    format!("{}, commit {}, load {}", host(), commit(top), load())
}

fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or("unknown").to_owned()
}

/// Asks the program that runs the node; what comes before its first option of a machine starts it.
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

/// The commit that `question` to git answers with, and whether a file of `folders` is not as in it.
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
