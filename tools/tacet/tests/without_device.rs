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
        &["decouple"],
        &["decouple", "0"],
        &["decouple", "1"],
        &["decouple", "1", "--dry-run"],
        &["decouple", "1", "--cpu", "x"],
        &["recouple", "99999999999"],
        &["node"],
        &["compare"],
        &["compare", "--runs", "0", "true"],
        &["compare", "--rungs", "moon", "true"],
    ] {
        fails(arguments, 2, "");
    }
    for arguments in [&["run"][..], &["run", "--nonsense", "ls"], &["node", "run"]] {
        fails(arguments, 125, "");
    }
}

#[test]
fn wrong_lists_and_sizes_are_one_line_and_status_2() {
    fails(&["up", "--cpus", "3-1"], 2, "--cpus <LIST>: CPU list `3-1`: the range `3-1` runs backwards");
    fails(&["up", "--cpus", "2000"], 2, "CPU list `2000`: ");
    fails(&["up", "--memory", "1Q"], 2, "--memory <SIZE>: size `1Q`: unknown unit");
    fails(&["up", "--numa-memory", "0:1G"], 2, "NUMA memory `0:1G`: it is not NODE=SIZE");
    fails(&["run", "--cpus", "a", "ls"], 125, "--cpus <LIST>: CPU list `a`: ");
}

#[test]
fn without_the_module_the_remedy_is_named() {
    if Path::new("/dev/tacet").exists() {
        return;
    }
    for arguments in
        [&["status"][..], &["down"], &["ps"], &["log"], &["top"], &["decouple", "4711"], &["recouple", "1"]]
    {
        fails(arguments, 1, "/dev/tacet: the module is not loaded; `tacet up` as root");
    }
    for arguments in [&["run", "ls"][..], &["run", "--", "ls", "-l"]] {
        fails(arguments, 125, "/dev/tacet: the module is not loaded; `tacet up` as root");
    }
}

#[test]
fn nodes_are_described_before_anything_is_fetched() {
    fails(&["node", "run", "--kernel", "5.4", "ls"], 125, "kernel `5.4`: ");
    fails(&["node", "shell", "--accel", "magic"], 2, "accelerator `magic`: ");
    fails(&["node", "shell", "--memory", "1X"], 2, "--node-memory <SIZE>: size `1X`: ");
    fails(&["node", "shell", "--cpus", "0"], 2, "--node-cpus <COUNT>: `0` is not a count: ");
    fails(&["node", "run", "--node-memory", "9000T", "--dry-run", "ls"], 125, "a node of 9000 TiB: this machine has ");
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
    let laboratory = json["works"]["noise"].as_bool().unwrap();
    assert!(laboratory && text(&words.stdout).contains("Without a partition work here: `tacet noise`"));
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

/// A kernel for static nodes is not needed to refuse wrong flags; this program is an ELF file.
#[test]
fn static_nodes_are_described_before_anything_is_started() {
    let image = std::env::current_exe().unwrap().display().to_string();
    let boot = |arguments: &[&str], status, words: &str| {
        fails(&[&["static", "boot", "--image", &image][..], arguments].concat(), status, words);
    };
    boot(&["--machine", "vax"], 2, "--machine <KIND>: `vax` is none of ");
    boot(&["--metal"], 2, "");
    boot(&["--nodes", "0"], 2, "--nodes <COUNT>: `0` is not a count: ");
    boot(&["--cpus", "65"], 2, "--cpus: 65 is not possible");
    boot(&["--node-memory", "1X"], 2, "--node-memory <SIZE>: size `1X`: ");
    boot(&["--node-memory", "9000T", "--dry-run"], 3, "a node of 9000 TiB: this machine has ");
    for more in [&["--process-memory", "9000T"][..], &["--process-memory", "1G", "--node-memory", "64M"]] {
        let run = ["static", "run", "--own-nodes", "--image", &image];
        fails(&[&run[..], more, &["--", &image]].concat(), 125, "");
    }
    boot(&["--link", "com2"], 2, "--link com2: a microvm has one serial port");
    boot(&["--card", "igb"], 2, "--card igb: there is no place for this card");
    boot(&["--image", "/nowhere"], 2, "--image <FILE>: it is given twice");
    fails(&["static", "boot", "--image", "/nowhere"], 2, "/nowhere: no such file");
    boot(&["--dry-run", "--qemu", "/usr/bin/true"], 3, "/usr/bin/true: no QEMU version");
    fails(&["static"], 2, "no command is given; ");
}

#[test]
fn a_rehearsal_prints_how_each_node_would_be_started() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = tempfile::tempdir().unwrap();
    let qemu = scratch.path().join("qemu");
    std::fs::write(&qemu, "#!/bin/sh\necho QEMU emulator version 11.1.3\n").unwrap();
    std::fs::set_permissions(&qemu, PermissionsExt::from_mode(0o755)).unwrap();
    let (qemu, image) = (qemu.display().to_string(), std::env::current_exe().unwrap().display().to_string());
    let arguments =
        ["static", "boot", "--nodes", "2", "--dry-run", "--accel", "tcg", "--qemu", &qemu, "--image", &image];
    let said = text(&tacet(&arguments).stdout);
    assert_eq!(said.lines().count(), 4, "{said}");
    assert!(said.contains(&format!("{qemu} -nodefaults")) && said.contains("-machine microvm"), "{said}");
    assert!(said.contains("tacet.node=1 tacet.link=bridge") && said.contains("tacet.key=KEY"), "{said}");
}

#[test]
fn without_static_nodes_the_remedy_is_named() {
    for arguments in [&["static", "status", "--name", "none"][..], &["static", "kill", "--name", "none", "7"]] {
        fails(arguments, 1, "nodes `none`: none are booted");
    }
    fails(&["static", "console", "--name", "none", "0"], 1, "node 0 of `none`: the nodes are not booted");
    fails(&["static", "boot", "--down", "--name", "none"], 1, "nodes `none`: none are booted");
    fails(&["static", "status", "--control", "/nowhere"], 1, "/nowhere: no daemon answers");
    fails(&["static", "kill", "--signal", "NO", "7"], 2, "--signal NO: there is no such signal");
    fails(&["static", "status", "--name", "a/b"], 2, "--name a/b: it cannot be a file's name");
}

#[test]
fn a_map_needs_no_node() {
    let own = std::env::current_exe().unwrap().display().to_string();
    let output = tacet(&["static", "map", "--processes", "2", "--node-memory", "1G", &own]);
    let table = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(table.contains("heap") && table.contains("TLB entries of all processes: "), "{table}");
    let json: serde_json::Value =
        serde_json::from_slice(&tacet(&["static", "map", "--shared", "2M", "--json", &own]).stdout).unwrap();
    let shared: Vec<_> = json["runs"].as_array().unwrap().iter().filter(|run| run["part"] == "shared").collect();
    assert_eq!((shared.len(), &shared[0]["page_bytes"]), (1, &serde_json::json!(2 << 20)));
    fails(
        &["static", "map", "--node-memory", "64M", "--memory", "1G", &own],
        2,
        &format!("{own} on a node of 64 MiB: heap"),
    );
    fails(&["static", "map", "/nowhere"], 2, "/nowhere: no such file");
    fails(&["static", "map", "/etc/passwd"], 2, "/etc/passwd: it is not executable");
}

#[test]
fn nodes_of_metal_get_entries_for_grub() {
    let scratch = tempfile::tempdir().unwrap();
    let key = scratch.path().join("key").display().to_string();
    let arguments = [
        "static",
        "boot",
        "--metal",
        "--nodes",
        "2",
        "--address",
        "10.1.0.16/24",
        "--iod",
        "10.1.0.1:4070",
        "--key",
        &key,
    ];
    let output = tacet(&arguments);
    let entries = text(&output.stdout);
    let words = "multiboot2 /boot/tacet/static.elf tacet.node=1 tacet.link=net tacet.address=10.1.0.17/24 tacet.iod=10.1.0.1:4070";
    assert!(entries.contains(words), "{entries}{}", text(&output.stderr));
    assert_eq!(text(&tacet(&arguments).stdout), entries, "the key stays");
    let digits =
        |entry: &str| entry.split_once("tacet.key=").map_or("", |(_, rest)| rest.get(..64).unwrap()).to_owned();
    let set = std::fs::read_to_string(&key).unwrap().trim().to_owned();
    let mut own: Vec<String> = entries.lines().map(digits).filter(|digits| !digits.is_empty()).collect();
    own.push(set.clone());
    own.dedup();
    assert_eq!(own.len(), 3, "a key for each of two nodes, and the set's: {entries}");
    assert!(!entries.contains(&set), "the set's key is for no node");
    std::fs::write(&key, "nonsense").unwrap();
    fails(&arguments, 2, &format!("{key}: it is no key"));
}
