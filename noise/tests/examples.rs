// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The examples for operators work as they stand: the Slurm prologue, run with a `tacet` that records its arguments, and
//! the time limit of the health check.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples");
/// Time to start, to read the record and to name the thief.
const REST_S: u64 = 30;

/// Runs the prologue in a folder with programs of ours; returns its output and the recorded lines.
fn prologue(tuned: &str, check_status: u8) -> (Output, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    };
    let log = folder.path().join("log").display().to_string();
    program("logger", &format!("echo \"logger $*\" >>{log}"));
    program(
        "tacet",
        &format!(
            "echo \"tacet $*\" >>{log}\ncase \"$1 $2\" in\n'tune status') {tuned} ;;\n*) echo said; exit {check_status} ;;\nesac"
        ),
    );
    let output = Command::new("/bin/sh")
        .arg(Path::new(EXAMPLES).join("slurm-prolog.sh"))
        .env("PATH", folder.path())
        .env("SLURM_JOB_ID", "4711")
        .output()
        .expect("it runs");
    (output, fs::read_to_string(&log).expect("recorded"))
}

#[test]
fn the_slurm_prologue_names_the_jobs_cpus() {
    let (output, log) = prologue(r#"printf '{\n  "claims": [\n    {\n      "cpus": "4-7,10",\n'"#, 0);
    assert!(output.status.success(), "{output:?}");
    assert!(log.contains("tacet noise check --cpus 4-7,10 --max-noise"), "{log}");
    assert!(log.contains("logger -t tacet-noise job 4711 on CPUs 4-7,10: said"), "{log}");
    let own = fs::read_to_string("/proc/self/status").expect("status");
    let own = own.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list").trim();
    let (_, log) = prologue("exit 2", 0);
    assert!(log.contains(&format!("tacet noise check --cpus {own} --max-noise")), "not tuned: {log}");
}

#[test]
fn only_a_noisy_node_is_drained() {
    for (check, prologue_status) in [(0, 0), (1, 1), (2, 0), (3, 0)] {
        let (output, _) = prologue("exit 2", check);
        assert_eq!(output.status.code(), Some(prologue_status), "the check ends with {check}");
    }
}

/// A noisy node is measured again to name the thief, so the limit must cover two measurements.
#[test]
fn the_health_check_has_time_for_the_repeat() {
    let text = fs::read_to_string(Path::new(EXAMPLES).join("node-health-check.conf")).expect("the example");
    let line = text.lines().find(|line| line.contains("check_cmd_status")).expect("a line");
    let after = |word: &str| line.split_once(word).map(|(_, rest)| rest.split_whitespace().next().unwrap_or_default());
    let limit_s: u64 = after(" -t ").expect("a limit").parse().expect("seconds");
    let duration = after("--duration ").expect("a duration");
    let duration_s: u64 = duration.strip_suffix('s').expect("in seconds").parse().expect("seconds");
    assert!(limit_s >= 2 * duration_s + REST_S, "{limit_s} s for {duration_s} s, twice");
}
