// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The MPI program with both MPIs on 2, 4 and 8 ranks of one machine, and `collect` on its runs. Ranks share CPUs, so
//! no test looks at times: all assertions are exact.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tacet_noise::collect::{RunFile, collect, read_runs, write_ranks};
use tacet_noise::record::Record;
use tacet_noise::record::across::{BUCKETS, Histogram, bucket_of};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/mpi");
const SAMPLES: u64 = 10;

/// The compilers' suffixes; setup installs both.
const MPIS: [&str; 2] = ["mpich", "openmpi"];

/// The program, built once by the compiler of that MPI.
fn program(mpi: &'static str) -> &'static Path {
    static BUILT: [OnceLock<PathBuf>; 2] = [const { OnceLock::new() }; 2];
    BUILT[usize::from(mpi == MPIS[1])].get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(mpi);
        make(&["-B", &format!("MPICC=mpicc.{mpi}"), &format!("OUT={}", out.display())]);
        out.join("tacet-mpi-fwq")
    })
}

fn make(words: &[&str]) {
    let mut make = Command::new("make");
    let output =
        make.args(["-s", "-C", SOURCES, "CFLAGS=-O2 -Wall -Wextra -Werror"]).args(words).output().expect("make");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn launch(mpi: &'static str, ranks: u32, words: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(format!("mpirun.{mpi}"));
    if mpi == "openmpi" {
        // By default it refuses root, and more ranks than CPUs.
        command.arg("--oversubscribe").envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        command.env("OMPI_MCA_mpi_yield_when_idle", "1");
    }
    command.args(["-n", &ranks.to_string()]).arg(program(mpi)).args(words).current_dir(folder).output().expect("mpirun")
}

/// A run of a few short quanta, read back.
fn run(mpi: &'static str, ranks: u32, words: &[&str], folder: &Path) -> RunFile {
    let always = ["--oversubscribe", "--units", "2000", "--samples", "10", "-o", "a.run"];
    let output = launch(mpi, ranks, &[&always, words].concat(), folder);
    assert!(output.status.success(), "{mpi} {ranks} {words:?}: {output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("run time: min "), "{output:?}");
    RunFile::read(&folder.join("a.run")).expect("a run")
}

fn of_samples(record: &Record) -> Histogram {
    let mut histogram = Histogram::default();
    record.noise().length_ns.iter().for_each(|length| histogram.add(bucket_of(*length as u64), 1));
    histogram
}

#[test]
fn decisions_agree_with_hand_computed_ones() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check");
    make(&["-B", "check", &format!("OUT={}", out.display())]);
}

#[test]
fn every_rank_has_its_samples() {
    let folder = tempfile::tempdir().expect("a folder");
    for mpi in MPIS {
        for ranks in [2, 4, 8] {
            for mode in ["start", "step"] {
                let run = run(mpi, ranks, &["--mode", mode, "--kernel", "daxpy"], folder.path());
                assert_eq!((run.rows.len() as u32, run.nodes, run.stored_nodes), (ranks, 1, 1));
                assert!(run.stored.len() as u32 == ranks && run.stored.iter().all(|(_, samples)| samples.len() == 10));
                let record = collect(&[run], None).expect("a record");
                let across = record.about.across.as_ref().expect("many ranks");
                assert_eq!(across.histogram.total(), u64::from(ranks) * SAMPLES);
                assert_eq!(of_samples(&record), across.histogram, "{mpi} {ranks} {mode}");
                assert!(across.runs[0].min_run_ns <= across.runs[0].max_run_ns && across.runs[0].min_run_ns > 0);
                // The program's summary agrees with its samples.
                let noise = record.noise();
                let longest = noise.length_ns.iter().copied().fold(0.0, f64::max);
                assert_eq!(longest, across.max_noise_ns as f64);
                assert!((noise.rate - across.noise_rate).abs() <= noise.rate * 1e-12);
                assert!(across.measured_ns.abs_diff(record.samples.length_ns.iter().sum()) <= 1);
            }
        }
    }
}

/// Eight ranks as four nodes: raw samples of the two with the longest noise, a histogram of all.
#[test]
fn only_the_worst_nodes_are_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    for mpi in MPIS {
        let run = run(mpi, 8, &["--split", "2", "--worst", "2"], folder.path());
        assert_eq!((run.nodes, run.stored_nodes, run.stored.len()), (4, 2, 4));
        let mut noise = BTreeMap::new();
        for row in &run.rows {
            let longest: &mut u64 = noise.entry(row.node).or_default();
            *longest = (*longest).max(row.longest_ns - row.shortest_ns);
        }
        let mut worst: Vec<(u64, u32)> = noise.into_iter().map(|(node, longest)| (u64::MAX - longest, node)).collect();
        worst.sort_unstable();
        let mut expected: Vec<u32> = worst[..2].iter().map(|(_, node)| *node).collect();
        expected.sort_unstable();
        let mut stored: Vec<u32> = run.stored.iter().map(|(index, _)| run.rows[*index].node).collect();
        stored.dedup();
        assert_eq!(stored, expected);
        assert_eq!(run.histogram.total(), 8 * SAMPLES);
    }
    let none = run("mpich", 4, &["--worst", "0"], folder.path());
    assert!(none.stored.is_empty() && none.stored_nodes == 0 && none.histogram.total() == 4 * SAMPLES);
    let summary = collect(&[none], None).expect("a record").summary(1.0);
    assert!(summary.samples == 40 && summary.per_cpu.is_empty() && summary.shortest_ns > Some(0));
}

/// Combines runs into a record that every command can read.
#[test]
fn runs_become_one_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for (name, mpi) in [("one.run", "mpich"), ("two.run", "openmpi")] {
        run(mpi, 4, &["--split", "1", "--worst", "3"], folder.path());
        std::fs::rename(at("a.run"), at(name)).expect("renamed");
    }
    let runs = read_runs(&[at("one.run"), at("two.run")]).expect("runs");
    let mut sum = runs[0].histogram.clone();
    sum.merge(&runs[1].histogram);
    let record = collect(&runs, Some("both".into())).expect("a record");
    assert_eq!(record.about.across.as_ref().map(|across| &across.histogram), Some(&sum));
    assert_eq!(record.samples.len() as u64, 2 * 3 * SAMPLES);
    record.write(&at("noise.parquet")).expect("written");
    assert_eq!(Record::read(&at("noise.parquet")).expect("read"), record);
    write_ranks(&runs, &at("noise.ranks.parquet")).expect("written");
    assert!(Record::read(&at("noise.ranks.parquet")).is_err());

    let facts = |words: &[&str]| -> serde_json::Value {
        let output = noise(words, folder.path());
        assert!(output.status.success(), "{words:?}: {output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let again = noise(&["collect", "--json", "one.run", "two.run"], folder.path());
    assert!(String::from_utf8_lossy(&again.stderr).contains("--force"), "{again:?}");
    let collected = facts(&["collect", "--json", "--force", "one.run", "two.run", "--label", "both"]);
    assert_eq!(facts(&["analyse", "--json", "noise.parquet"])[0], collected);
    assert_eq!((&collected["samples"], &collected["across"]["ranks"]), (&80.into(), &8.into()));
    assert_eq!(collected["per_cpu"].as_array().map(Vec::len), Some(6));
    let same = facts(&["compare", "--json", "noise.parquet", "noise.parquet"]);
    assert_eq!((&same[0]["effect_size"], &same[0]["max_noise_ratio"]), (&0.0.into(), &1.0.into()));
    let words = ["predict", "--json", "--threads", "64", "--interval", "1ms", "--simulate", "1s", "--threshold", "1ns"];
    assert!(facts(&[&words[..], &["--record", "noise.parquet"]].concat())["simulation"].is_object());
    assert_eq!(
        noise(&["check", "--record", "noise.parquet", "--max-noise", "1h"], folder.path()).status.code(),
        Some(2),
        "ten samples of a rank are not enough to say"
    );
    let text = noise(&["analyse", "noise.parquet"], folder.path());
    assert!(String::from_utf8_lossy(&text.stdout).contains("from the histogram of all cores"), "{text:?}");
}

fn noise(words: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tacet-noise")).args(words).current_dir(folder).output().expect("it runs")
}

/// Each truncated version of a run, and each version with a changed byte, is refused in one line. The histogram is most
/// of a small file, so only every 31st of its bytes is changed: this covers each position within a number.
#[test]
fn damaged_runs_are_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    run("mpich", 2, &[], folder.path());
    let path = folder.path().join("a.run");
    let whole = std::fs::read(&path).expect("read");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("rewritten");
        let error = RunFile::read(&path).err().expect("refused").to_string();
        assert!(error.lines().count() == 1 && error.contains("a.run: not a whole run"), "{error}");
    };
    let text = u64::from_le_bytes(whole[104..112].try_into().expect("eight bytes")) as usize;
    let histogram = 112 + text + 8..112 + text + 8 * usize::from(BUCKETS) - 8;
    let positions: Vec<usize> = (0..whole.len()).filter(|at| !histogram.contains(at) || at % 31 == 0).collect();
    positions.iter().for_each(|length| refused(&whole[..*length]));
    for at in positions {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        refused(&bytes);
    }
    refused(&[&whole[..], b"more"].concat());
}

#[test]
fn mistakes_are_one_line_and_leave_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mistakes: [(&[&str], &str); 5] = [
        (&["--quantum", "5"], "`5` is not a duration"),
        (&["--samples", "0"], "`0` is not a count"),
        (&["--mode", "stop"], "`stop` is neither start nor step"),
        (&["--oversubscribe", "--units", "9", "--samples", "99999999"], "samples on each rank are too many"),
        (&["--oversubscribe", "-o", "no/folder"], "no/folder: cannot write the run"),
    ];
    for (words, said) in mistakes {
        let output = launch("mpich", 2, words, folder.path());
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{words:?}: {output:?}");
        assert!(text.contains(said) && text.lines().count() == 1, "{words:?}: {text}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "{words:?}");
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    let output = launch("mpich", cpus + 1, &["--samples", "1"], folder.path());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("no CPU is left") && text.contains("--oversubscribe"), "{output:?}");
}

#[test]
fn runs_of_different_work_are_not_mixed() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = [("a.run", "register"), ("b.run", "daxpy")];
    for (name, kernel) in names.iter().rev() {
        run("mpich", 2, &["--kernel", kernel], folder.path());
        std::fs::rename(folder.path().join("a.run"), folder.path().join(name)).expect("renamed");
    }
    for (words, said) in [(["a.run", "b.run"], "its kernel differs"), (["a.run", "a.run"], "given twice")] {
        let output = noise(&[&["collect"], &words[..]].concat(), folder.path());
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(said) && text.lines().count() == 1, "{text}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2, "no record is left");
}

/// Both programs measure with the same instructions.
#[test]
fn the_loops_are_the_same_as_in_the_tool() {
    let code = |path: &Path, function: &str| {
        let mut objdump = Command::new("objdump");
        objdump.args(["--no-show-raw-insn", &format!("--disassemble={function}")]);
        let text = String::from_utf8_lossy(&objdump.arg(path).output().expect("objdump").stdout).into_owned();
        let word = |line: &str| Some(line.split_once(":\t")?.1.split_whitespace().next()?.to_owned());
        text.lines().filter_map(word).collect::<Vec<_>>()
    };
    for function in ["noise_fwq_register", "noise_fwq_daxpy"] {
        let tool = code(Path::new(env!("CARGO_BIN_EXE_tacet-noise")), function);
        assert!(tool.len() > 10);
        for mpi in MPIS {
            assert_eq!(code(program(mpi), function), tool, "{function} {mpi}");
        }
    }
    let source = std::fs::read_to_string(Path::new(SOURCES).join("format.h")).expect("format.h");
    assert!(source.contains(&format!("FWQ_VERSION \"{}\"", env!("CARGO_PKG_VERSION"))));
}
