// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whoever watches a measurement on a terminal sees its counts; a file gets none of them.

use std::path::Path;
use std::process::Command;

use rexpect::session::spawn_command;
use tacet_noise::measure::machine::{allowed_cpus, cpu_list};

/// Longer than a measurement takes on any machine.
const PATIENCE_MS: u64 = 120_000;

fn measure(folder: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tacet-noise"));
    command.args(["measure", "--trust-clock", "--quantum", "1ms", "--duration", "3s", "--force", "--output"]);
    command.arg(folder.join("r.parquet")).args(more).env("TERM", "xterm");
    command
}

#[test]
fn a_terminal_shows_the_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut terminal = spawn_command(measure(folder.path(), &["--live"]), Some(PATIENCE_MS)).expect("a terminal");
    terminal
        .exp_regex(r"s left, [1-9][0-9]* samples, [0-9]+ detours, the largest [^\n]* on CPU [0-9]+")
        .expect("counts");
    terminal.exp_string("record: ").expect("the table follows");
    terminal.exp_eof().expect("the end");
}

/// Nobody asked to disturb a CPU.
#[test]
fn if_every_cpu_is_measured_the_terminal_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = cpu_list(&allowed_cpus().expect("CPUs"));
    let mut terminal = spawn_command(measure(folder.path(), &["--cpus", &all]), Some(PATIENCE_MS)).expect("a terminal");
    let said = terminal.exp_string("record: ").expect("the end");
    assert!(said.contains("every CPU is measured") && !said.contains("s left,"), "{said}");
    terminal.exp_eof().expect("the end");
}

#[test]
fn a_file_and_a_program_get_no_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = measure(folder.path(), &["--live"]).output().expect("run");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success() && !said.contains("left") && !said.contains("measuring"), "{said}");
    let mut terminal =
        spawn_command(measure(folder.path(), &["--live", "--json"]), Some(PATIENCE_MS)).expect("a terminal");
    let said = terminal.exp_eof().expect("the end");
    assert!(said.trim_start().starts_with('{') && !said.contains("s left,"), "{said}");
}
