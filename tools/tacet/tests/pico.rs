// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet pico` on a fake machine: the module's file as a table, and as the JSON that docs/json/pico.json describes.

use std::path::Path;
use std::process::{Command, Output};

const TEXT: &str = "\
partition up
device 0000:00:04.0 nvme shared works
device 0000:00:05.0 nvme shared none Linux uses all 8 queues
grant 71 descriptor 3 device 0000:00:04.0 namespace 1 block 512 first 8 count 131072 rights rw valid using 0
0000:00:04.0 cpu 2 queue 9 works calls 399 commands 512 read 1048576 written 4096 at-once 2 forwarded 1 0 2 0 0 0 0 0
";

fn pico(text: &str, switch: &str, arguments: &[&str]) -> Output {
    let fake = tempfile::tempdir().unwrap();
    for (path, text) in [("sys/kernel/tacet/pico", text), ("sys/module/tacet/parameters/fast_paths", switch)] {
        let path = fake.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_tacet"));
    command.args(["--config", "/dev/null", "pico", "--machine-root"]).arg(fake.path()).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    ended(output, 0)
}

fn ended(output: &Output, status: i32) -> String {
    assert_eq!((output.status.code(), output.stderr.len()), (Some(status), 0), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_table_for_people() {
    let text = said(&pico(TEXT, "Y\n", &[]));
    let expected = "\
DEVICE        KIND  MODE    STATE  QUEUES
0000:00:04.0  nvme  shared  works       1
0000:00:05.0  nvme  shared  none        0
0000:00:05.0: no fast path: Linux uses all 8 queues

DEVICE        CPU  QUEUE  CALLS  COMMANDS   READ  WRITTEN  AT-ONCE  FORWARDED  BECAUSE-OF
0000:00:04.0    2      9    399       512  1 MiB    4 KiB        2          3  alignment:2 state:1

PID  DESCRIPTOR  DEVICE        NAMESPACE  RIGHTS      FIRST-BYTE    SIZE  STATE
 71           3  0000:00:04.0          1  read,write        4096  64 MiB  valid
";
    assert_eq!(text, expected);
}

#[test]
fn one_line_without_a_partition_or_a_device() {
    assert_eq!(ended(&pico("partition none\n", "N\n", &[]), 1), "no partition is up: no device has a fast path\n");
    let off = said(&pico("partition up\n", "N\n", &[]));
    assert!(off.starts_with("no device has a fast path: they are off; ") && off.lines().count() == 1, "{off}");
    let none = said(&pico("partition up\n", "Y\n", &[]));
    assert_eq!(none, "no device has a fast path: no device can have one\n");
}

/// What is wrong with it by docs/json/pico.json.
fn wrong(json: &serde_json::Value) -> Option<String> {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json/pico.json").canonicalize().unwrap();
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    let index = compiler.compile(schema.to_str().unwrap(), &mut schemas).unwrap();
    schemas.validate(json, index).err().map(|error| format!("{error:#}"))
}

#[test]
fn json_is_what_its_schema_says() {
    let json = |text: &str| {
        let none = i32::from(text.starts_with("partition none"));
        serde_json::from_str(&ended(&pico(text, "Y\n", &["--json"]), none)).unwrap()
    };
    for text in [TEXT, "partition none\n", &format!("{TEXT}more 40\n")] {
        assert_eq!(wrong(&json(text)), None);
    }
    let json: serde_json::Value = json(TEXT);
    assert_eq!(json["devices"][0]["queues"][0]["forwarded"]["alignment"], 2);
    assert_eq!(json["devices"][1]["why_not"], "Linux uses all 8 queues");
    let less = serde_json::json!({ "json_version": 1, "devices": [] });
    assert!(wrong(&less).is_some(), "the schema requires nothing");
}

#[test]
fn a_file_of_another_module_is_one_line() {
    let output = pico("something else\n", "Y\n", &[]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.starts_with("tacet: /sys/kernel/tacet/pico: unknown line `something else`; "), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}
