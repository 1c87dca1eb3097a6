// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command on a machine without the module: each mistake gives one line and the right exit status; plans and checks
//! work from files.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn tacet(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tacet"));
    command.args(["--config", "/dev/null"]).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One line on standard error that starts with `words`, nothing on standard output.
fn fails(arguments: &[&str], status: i32, words: &str) {
    let output = tacet(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {error}");
    assert!(error.starts_with(&format!("tacet: {words}")), "{arguments:?}: {error}");
    assert_eq!(error.matches('\n').count(), 1, "{arguments:?}: {error}");
    assert!(error.contains("; "), "no remedy: {error}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
}

#[test]
fn wrong_arguments_are_one_line_and_status_2() {
    for arguments in [
        &[][..],
        &["up", "--cpus"],
        &["up", "--memory", "1G", "--numa-memory", "0=1G"],
        &["nonsense"],
        &["status", "--nonsense"],
        &["run"],
        &["run", "--nonsense", "ls"],
        &["decouple"],
        &["decouple", "0"],
        &["decouple", "1", "--cpu", "x"],
        &["recouple", "99999999999"],
        &["node"],
        &["node", "run"],
        &["compare"],
        &["compare", "--runs", "0", "true"],
        &["compare", "--rungs", "moon", "true"],
    ] {
        fails(arguments, 2, "arguments: ");
    }
}

#[test]
fn wrong_lists_and_sizes_are_one_line_and_status_2() {
    fails(&["up", "--cpus", "3-1"], 2, "CPU list `3-1`: the range `3-1` runs backwards");
    fails(&["up", "--cpus", "2000"], 2, "CPU list `2000`: ");
    fails(&["up", "--memory", "1Q"], 2, "size `1Q`: unknown unit");
    fails(&["up", "--numa-memory", "0:1G"], 2, "NUMA memory `0:1G`: it is not NODE=SIZE");
    fails(&["run", "--cpus", "a", "ls"], 2, "CPU list `a`: ");
}

#[test]
fn without_the_module_the_remedy_is_named() {
    if Path::new("/dev/tacet").exists() {
        return;
    }
    for arguments in [
        &["run", "ls"][..],
        &["run", "--", "ls", "-l"],
        &["status"],
        &["down"],
        &["ps", "--json"],
        &["log"],
        &["decouple", "1"],
        &["recouple", "1"],
    ] {
        fails(arguments, 1, "/dev/tacet: the module is not loaded; `tacet up` as root");
    }
}

#[test]
fn nodes_are_described_before_anything_is_fetched() {
    fails(&["node", "run", "--kernel", "5.4", "ls"], 2, "kernel `5.4`: ");
    fails(&["node", "shell", "--accel", "magic"], 2, "accelerator `magic`: ");
    fails(&["node", "shell", "--memory", "1X"], 2, "size `1X`: ");
    fails(&["node", "shell", "--cpus", "0"], 2, "node description: ");
    let output = tacet(&["node", "run", "--kernel", "6.1", "--cpus", "2", "--dry-run", "--", "ls", "-l"]);
    assert_eq!(text(&output.stdout), "would boot Linux 6.1 with 2 CPUs and 2 GiB, and run ls -l\n");
}

#[test]
fn wrong_configuration_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tacet.toml");
    std::fs::write(&path, "[up]\ncpu = 2\n").unwrap();
    let file = path.display().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_tacet")).args(["--config", &file, "doctor"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with(&format!("tacet: {file} line 2: unknown field `cpu`")));
    let output = Command::new(env!("CARGO_BIN_EXE_tacet")).args(["--config", "/nonexistent", "ps"]).output().unwrap();
    assert_eq!(text(&output.stderr), "tacet: /nonexistent: no such file or directory; check --config\n");
}

#[test]
fn doctor_says_the_same_in_words_and_in_json() {
    let (words, json) = (tacet(&["doctor"]), tacet(&["doctor", "--json"]));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let checks = json["checks"].as_array().unwrap();
    assert!(checks.len() >= 15, "{checks:?}");
    assert_eq!(words.status.code(), Some(if json["can_run"] == true { 0 } else { 1 }));
    for check in checks {
        let name = check["name"].as_str().unwrap();
        assert!(text(&words.stdout).contains(name), "{name}");
        assert!(["ok", "warning", "problem"].contains(&check["verdict"].as_str().unwrap()));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tacet"))
        .arg("doctor")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(141));
}

#[test]
fn man_pages_and_completions_come_from_the_arguments() {
    let dir = tempfile::tempdir().unwrap();
    assert!(tacet(&["man", &dir.path().display().to_string()]).status.success());
    let page = std::fs::read_to_string(dir.path().join("tacet-run.1")).unwrap();
    assert!(page.contains("\\-\\-populate"), "{page}");
    for shell in ["bash", "zsh", "fish"] {
        assert!(text(&tacet(&["completions", shell]).stdout).contains("numa-memory"));
    }
}
