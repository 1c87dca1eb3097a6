// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests exact measuring with known noise: it must find a second program on the measured CPU, distinguish it from the
//! kernel, name it and count its instructions. With a seed two runs must give the same result.
//!
//! Tests that boot a node need `cargo xtask build`, and a bare `cargo test` ignores them; `cargo xtask test` runs them
//! for each kernel line (`TACET_TEST_KERNEL`).
#![cfg(target_arch = "x86_64")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tacet_noise::exact::instruments::{Instruments, PROGRAM};

/// The intruder's work; `KNOWN` is the number of instructions in its loop.
const WAKES: u64 = 20;
const ROUNDS: u64 = 1_000_000;
const KNOWN: u64 = WAKES * ROUNDS * 2;

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn succeeded(command: &mut Command) -> Output {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The summary of a measurement during which the intruder did all its work.
fn measured(folder: &Path, words: &[&str]) -> Value {
    let share = folder.join("share");
    std::fs::create_dir_all(&share).expect("a folder");
    let intruder = share.join("tacet-intruder");
    let mut build = Command::new("cc");
    build.args(["-O2", "-fPIC", "-ffreestanding", "-fno-stack-protector", "-nostdlib", "-static", "-no-pie", "-I"]);
    succeeded(build.arg(source("exact")).arg("-o").arg(&intruder).arg(source("tests/intruder.c")));
    let load = format!(
        "until grep -q begun /tmp/tacet-said; do :; done; {} 3 {WAKES} {ROUNDS}; while :; do sleep 1; done",
        intruder.display()
    );
    let kernel = std::env::var("TACET_TEST_KERNEL").unwrap_or_else(|_| "6.12".to_owned());
    let mut command = Command::new(source("../build/bin/tacet"));
    command.args(["noise", "exact", "--force", "--json", "--kernel", &kernel, "--load", &load, "--share"]).arg(&share);
    let output = succeeded(command.args(words).current_dir(folder));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let found = list.as_array().and_then(|list| list.iter().find(|entry| entry["name"] == name));
    found.unwrap_or_else(|| panic!("{name} is not in {list:#}"))
}

/// Whether this is the known number, or up to one percent more: an interrupted block of the loop counts twice.
fn is_known(instructions: u64) -> bool {
    (KNOWN..=KNOWN + KNOWN / 100).contains(&instructions)
}

#[test]
fn the_program_runs_where_the_plugin_looks_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    Instruments::write(folder.path()).expect("written");
    let program = folder.path().join(PROGRAM);
    let bytes = std::fs::read(&program).expect("read");
    let entry = u64::from_le_bytes(bytes[24..32].try_into().expect("an ELF header"));
    assert_eq!(entry >> 21, 0x1ace_0000_0000 >> 21, "{entry:#x}");
    let markers = bytes.windows(7).filter(|w| w.starts_with(b"\x0f\x1f\x80") && w.ends_with(b"TC")).count();
    assert!(markers >= 3, "{markers} markers");
    let output = succeeded(Command::new(program).args(["3", "1000"]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.starts_with("begun\nquanta 3 cpu "), "{said}");
}

#[test]
fn mistakes_are_one_line_and_change_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("foreign"), "not a record").expect("written");
    let mistakes: [(&[&str], &str); 5] = [
        (&["--measured", "4"], "--measured 4: the node's last cpu is 3"),
        (&["--node-cpus", "65"], "--node-cpus 65"),
        (&["--instructions", "10"], "--instructions 10"),
        (&["--share", "absent"], "--share absent: No such file"),
        (&["--record", "foreign"], "foreign: not a whole exact record"),
    ];
    for (words, said) in mistakes {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tacet-noise"));
        let output = command.arg("exact").args(words).current_dir(folder.path()).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{words:?}: {output:?}");
        assert!(text.contains(said) && text.lines().count() == 1, "{words:?}: {text}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 1, "nothing was written");
}

#[test]
#[ignore = "boots a node"]
fn a_second_program_is_found_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let summary = measured(folder.path(), &["--quanta", "2000"]);
    let culprits = &summary["culprits"];
    let intruder = named(&culprits["programs"], "tacet-intruder");
    assert!(is_known(number(&intruder["instructions"])) && number(&intruder["turns"]) >= WAKES, "{culprits:#}");
    assert!(number(&summary["other_user"]["instructions"]) >= KNOWN, "{summary:#}");
    assert!(number(&summary["kernel"]["instructions"]) > 0, "{summary:#}");
    let call = named(&culprits["functions"], "__x64_sys_nanosleep");
    assert!(number(&call["calls"]) >= WAKES, "{call}");
    assert!(number(&named(&culprits["entries"], "entry_SYSCALL_64")["times"]) >= WAKES, "{culprits:#}");
    assert!(summary["meaning"].as_str().is_some_and(|text| text.contains("Do not turn these numbers into time")));
    let mut again = Command::new(source("../build/bin/tacet"));
    let again =
        succeeded(again.args(["noise", "exact", "--json", "--record", "exact.parquet"]).current_dir(folder.path()));
    assert_eq!(
        serde_json::from_slice::<Value>(&again.stdout).expect("JSON"),
        summary,
        "the record contains the measurement"
    );
}

#[test]
#[ignore = "boots two slow nodes"]
fn a_reproducible_measurement_is_the_same_each_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = [(); 2].map(|()| measured(folder.path(), &["--quanta", "300", "--reproducible"]));
    assert_eq!(first, second);
    assert!(number(&first["kernel"]["instructions"]) > 0, "{first:#}");
    assert!(number(&first["other_user"]["instructions"]) >= KNOWN, "{first:#}");
    assert!(number(&named(&first["culprits"]["functions"], "__x64_sys_nanosleep")["calls"]) >= WAKES, "{first:#}");
}
