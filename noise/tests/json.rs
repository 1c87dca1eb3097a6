// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the command prints with `--json` is what docs/json says: real output against the schemas, and the columns of a
//! real record against the table in docs/json/README.md.

use std::path::{Path, PathBuf};
use std::process::Command;

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;
use tacet_noise::record::thieves::{Event, Kind, Source, Stopped, Thieves};

fn documents() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/json").canonicalize().expect("docs/json")
}

/// The error of the schema, or nothing.
fn judged(schema: &str, value: &Value) -> Result<(), String> {
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    let path = documents().join(format!("{schema}.json"));
    let index = compiler.compile(path.to_str().expect("text"), &mut schemas).expect("a schema");
    schemas.validate(value, index).map_err(|error| format!("{schema}: {error:#}"))
}

fn accepts(schema: &str, value: &Value) {
    judged(schema, value).unwrap_or_else(|error| panic!("{error}\n{value:#}"));
}

fn said(words: &[&str], at: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_tacet-noise")).args(words).arg("--json").current_dir(at).output();
    let output = output.expect("it runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}: {output:?}"))
}

#[test]
fn every_command_says_what_its_schema_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for (method, quantum) in [("fwq", "50us"), ("ftq", "50us"), ("selfish", "200ns")] {
        let file = format!("{method}.parquet");
        let words = ["measure", "--method", method, "--quantum", quantum, "--duration", "50ms", "-o", &file];
        accepts("noise-summary", &said(&words, at));
        accepts("noise-analyse", &said(&["analyse", &file], at));
        accepts("noise-compare", &said(&["compare", &file, &file], at));
        accepts("noise-check", &said(&["check", "--record", &file, "--max-noise", "1h", "--rate", "1e-9"], at));
        accepts("noise-check", &said(&["check", "--record", &file, "--max-noise", "1ns"], at));
    }
    accepts("noise-history", &said(&["history", "--history", "none"], at));
    for (limit, verdict) in [("1h", "not_enough"), ("1ns", "noisy")] {
        let words = ["check", "--max-noise", limit, "--duration", "50ms", "--history", "checks", "--trust-clock"];
        accepts("noise-check", &said(&words, at));
        let history = said(&["history", "--history", "checks", "-n", "1"], at);
        accepts("noise-history", &history);
        assert_eq!(history[0]["verdict"], verdict, "{history}");
    }
    let all = said(&["history", "--history", "checks"], at);
    assert_eq!(all.as_array().map(Vec::len), Some(2), "no verdict about a record: {all}");
    accepts("noise-report", &said(&["report", "fwq.parquet", "ftq.parquet", "--figures", "figures"], at));
    accepts("noise-inject", &said(&["inject", "--noise", "20us@1ms", "--duration", "5ms"], at));
    for synchronise in ["barrier", "allreduce", "stencil"] {
        let words = ["predict", "--threads", "64", "--interval", "1ms", "--noise", "1us@10ms", "--simulate", "1s"];
        accepts("noise-predict", &said(&[&words[..], &["--synchronise", synchronise]].concat(), at));
    }
    accepts(
        "noise-predict",
        &said(&["predict", "--threads", "64", "--interval", "1ms", "--record", "fwq.parquet"], at),
    );
}

/// Latencies have no rate, and no command calls them noise.
#[test]
fn latencies_are_as_the_schemas_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let histogram = "# Histogram\n000002 000990\n000003 000009\n# Min Latencies: 00002\n# Max Latencies: 00044\n\
        # Histogram Overflows: 00001\n";
    std::fs::write(at.join("cyclictest.txt"), histogram).expect("written");
    let summary = said(&["import", "cyclictest.txt", "-o", "l.parquet"], at);
    accepts("noise-summary", &summary);
    assert_eq!((&summary["method"], &summary["noise_rate"]), (&"latency".into(), &Value::Null));
    accepts("noise-compare", &said(&["compare", "l.parquet", "l.parquet"], at));
    accepts("noise-report", &said(&["report", "l.parquet", "l.parquet"], at));
    said(&["measure", "--samples", "3", "--quantum", "50us", "-o", "n.parquet"], at);
    for words in [
        &["check", "--record", "l.parquet", "--max-noise", "1h"][..],
        &["predict", "--record", "l.parquet", "--threads", "2", "--interval", "1ms"],
        &["compare", "l.parquet", "n.parquet"],
        &["report", "l.parquet", "n.parquet", "-o", "mixed.html"],
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_tacet-noise")).args(words).current_dir(at).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && text.contains("latencies"), "{words:?}: {text}");
    }
}

/// A schema that accepts anything would prove nothing.
#[test]
fn a_schema_refuses_what_it_does_not_describe() {
    let folder = tempfile::tempdir().expect("a folder");
    let summary = said(&["measure", "--samples", "3", "--quantum", "50us"], folder.path());
    accepts("noise-summary", &summary);
    let changed = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
        let mut copy = summary.clone();
        change(copy.as_object_mut().expect("an object"));
        judged("noise-summary", &copy)
    };
    assert!(changed(&|summary| drop(summary.remove("noise_rate"))).is_err());
    assert!(changed(&|summary| drop(summary.remove("json_version"))).is_err());
    assert!(changed(&|summary| drop(summary.insert("json_version".into(), 2.into()))).is_err());
    assert!(changed(&|summary| drop(summary.insert("new".into(), 1.into()))).is_err());
    assert!(changed(&|summary| drop(summary.insert("samples".into(), "3".into()))).is_err());
}

/// A trace needs root and BPF, so its thieves are made here.
#[test]
fn thieves_are_as_the_schema_says() {
    let event =
        Event { start_ns: -5, length_ns: 90, kind: Kind::Kworker, name: "work".into(), origin: Some("cpu 1".into()) };
    let source = |kind| Source {
        kind,
        name: "a name".into(),
        origin: None,
        cpus: vec![0],
        count: 1,
        total_ns: 2,
        longest_ns: 2,
        explained_ns: 1.5,
        share: 0.5,
        remedy: "isolate the CPU".into(),
    };
    let kinds = [
        Kind::Timer,
        Kind::Interrupt,
        Kind::Ipi,
        Kind::Nmi,
        Kind::Softirq,
        Kind::Kworker,
        Kind::KernelThread,
        Kind::Task,
        Kind::PageFault,
        Kind::Migration,
        Kind::Hardware,
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let mut summary = said(&["measure", "--samples", "3", "--quantum", "50us"], folder.path());
    summary.as_object_mut().expect("an object").remove("json_version");
    for stopped in [None, Some(Stopped { cpu: 0, start_ns: 1, noise_ns: 2, events: vec![event] })] {
        let sources = kinds.map(source).to_vec();
        let thieves = Thieves { sources, stopped, unobserved: vec!["SMIs".into()], ..Thieves::default() };
        let mut facts = serde_json::json!({"json_version": 1, "summary": summary, "thieves": thieves});
        accepts("noise-trace", &facts);
        facts["thieves"]["sources"][0]["kind"] = "ghost".into();
        assert!(judged("noise-trace", &facts).is_err());
    }
}

/// An exact measurement needs a node, so its record is made here; the command reads it.
#[test]
fn an_exact_summary_is_as_the_schema_says() {
    use tacet_noise::exact::{record, summary};
    let folder = tempfile::tempdir().expect("a folder");
    let name = || "a name".to_owned();
    let culprits = summary::Culprits {
        entries: vec![summary::Entry { name: name(), times: 1, instructions: 40 }],
        functions: vec![summary::Function { name: name(), calls: 1, instructions: 30 }],
        programs: vec![summary::Program { name: None, pid: 7, turns: 1, instructions: 9 }],
    };
    let quantum = record::Quantum { program: 1000, kernel: 40, other: 9, entries: 1, interrupts: 1, exceptions: 0 };
    for (seed, sees_interrupts) in [(None, false), (Some(3), true)] {
        let about = record::About {
            schema: record::SCHEMA,
            version: name(),
            label: name(),
            host: name(),
            kernel_release: name(),
            kernel_arguments: String::new(),
            arguments: Vec::new(),
            began_unix_s: 0,
            cpus: 4,
            measured_cpu: 3,
            load: seed.map(|_| name()),
            seed,
            plugin_interface: 4,
            sees_interrupts,
            culprits: culprits.clone(),
        };
        let made = record::Record { about, quanta: vec![record::Quantum::default(), quantum] };
        made.write(&folder.path().join("exact.parquet")).expect("written");
        let mut summary = said(&["exact", "--record", "exact.parquet"], folder.path());
        accepts("noise-exact", &summary);
        assert_eq!(summary["stolen"]["instructions"], 49);
        summary["stolen"]["tail"][0] = serde_json::json!([2, 0]);
        assert!(judged("noise-exact", &summary).is_err());
    }
}

/// The table of columns has exactly the columns of a record, with their types and in their order.
#[test]
fn the_columns_are_those_of_the_table() {
    let folder = tempfile::tempdir().expect("a folder");
    said(&["measure", "--samples", "3", "--quantum", "50us", "-o", "a.parquet"], folder.path());
    let file = std::fs::File::open(folder.path().join("a.parquet")).expect("a record");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let schema = reader.metadata().file_metadata().schema_descr();
    let columns: Vec<String> =
        schema.columns().iter().map(|column| format!("{} {}", column.name(), column.physical_type())).collect();
    let text = std::fs::read_to_string(documents().join("README.md")).expect("README.md");
    let table = text.split("## Columns of a record").nth(1).expect("the table");
    let rows = table.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (format!("{} {}", cells[1].trim_matches('`'), cells[2]), cells[3].to_owned())
    });
    let (always, of_nodes): (Vec<_>, Vec<_>) = rows.partition(|(_, records)| records == "all");
    assert_eq!(always.into_iter().map(|(column, _)| column).collect::<Vec<_>>(), columns);
    let of_nodes: Vec<_> = of_nodes.into_iter().map(|(column, _)| column).collect();
    assert_eq!(of_nodes, ["run INT32", "rank INT32", "node INT32"]);
}
