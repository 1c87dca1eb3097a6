// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command as a person uses it: exit statuses, errors of one line, JSON, and no files left behind by failed
//! commands.

use std::path::Path;
use std::process::{Command, Output};

fn noise(words: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tacet-noise")).args(words).current_dir(folder).output().expect("it runs")
}

fn facts(words: &[&str], folder: &Path) -> serde_json::Value {
    let output = noise(words, folder);
    assert!(output.status.success(), "{words:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn the_papers_example() {
    let folder = tempfile::tempdir().expect("a folder");
    for threads in ["100000", "1e5"] {
        let words = ["predict", "--json", "--threads", threads, "--interval", "250us", "--noise", "1ms@500s"];
        let slowdown = facts(&words, folder.path())["slowdown"].as_f64().expect("a number");
        assert_eq!(format!("{slowdown:.4}"), "0.1951");
    }
    let impossible = ["predict", "--threads", "8", "--interval", "250us", "--noise", "500s@1ms"];
    let refused = noise(&impossible, folder.path());
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && text.contains("shorter than the interval"), "{text}");
}

#[test]
fn from_measuring_to_a_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for (method, quantum) in [("fwq", "50us"), ("ftq", "50us"), ("selfish", "200ns")] {
        let file = format!("{method}.parquet");
        let words = ["measure", "--method", method, "--quantum", quantum, "--duration", "2s", "-o", &file, "--json"];
        let measured = facts(&words, at);
        assert_eq!(measured["method"], method);
        assert_eq!(facts(&["analyse", "--json", &file], at)[0], measured, "the record contains the measurement");
        let accepts = ["check", "--record", &file, "--max-noise", "1h", "--rate", "1e9"];
        assert_eq!(noise(&accepts, at).status.code(), Some(0), "{method}");
    }
    // No machine repeats work without a difference of more than a nanosecond.
    let strict = noise(&["check", "--record", "fwq.parquet", "--max-noise", "1ns"], at);
    assert_eq!(strict.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&strict.stdout).contains("NOISY"));
    let same = facts(&["compare", "--json", "fwq.parquet", "fwq.parquet"], at);
    assert_eq!((&same[0]["effect_size"], &same[0]["max_noise_ratio"]), (&0.0.into(), &1.0.into()));
    let words = ["report", "--json", "fwq.parquet", "ftq.parquet", "selfish.parquet", "--figures", "figures"];
    let reported = facts(&words, at);
    let mut analysed = facts(&["analyse", "--json", "fwq.parquet"], at)[0].take();
    analysed.as_object_mut().and_then(|summary| summary.remove("json_version")).expect("a version");
    let mut drawn = reported["records"][0].clone();
    assert_ne!(drawn["label"], analysed["label"], "three records with one label are told apart");
    drawn["label"] = analysed["label"].clone();
    assert_eq!(drawn, analysed);
    assert!(std::fs::metadata(at.join("noise.html")).is_ok_and(|page| page.len() == reported["page_bytes"]));
    let figures = reported["figures"].as_array().expect("figures");
    let drawn = if analysed["cpus"].as_array().is_some_and(|cpus| cpus.len() > 1) { 10 } else { 8 };
    assert_eq!((figures.len(), listing(&at.join("figures")).len()), (drawn, drawn), "each figure in two formats");
    let predicted = facts(&["predict", "--json", "--threads", "8", "--interval", "1ms", "--record", "fwq.parquet"], at);
    assert!(predicted["slowdown"].as_f64().is_some_and(|slowdown| slowdown >= 0.0));
}

/// A measurement that cannot tell has a status of its own, and says how long one is that can.
#[test]
fn not_enough_to_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let short = noise(&["check", "--max-noise", "1h", "--duration", "20ms"], at);
    let text = String::from_utf8_lossy(&short.stdout).into_owned();
    assert!(short.status.code() == Some(2) && text.contains("NOT ENOUGH TO SAY"), "{short:?}");
    assert!(text.contains("--duration 2s") && text.lines().count() == 1, "{text}");
    let json = noise(&["check", "--max-noise", "1h", "--duration", "20ms", "--json"], at);
    let verdict: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!((&verdict["verdict"], &verdict["passed"]), (&"not_enough".into(), &false.into()));
    for words in
        [["check", "--max-noise", "1h", "--duration", "1ms"], ["measure", "--quantum", "10s", "--duration", "1s"]]
    {
        let refused = noise(&words, at);
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && text.contains("not enough to say"), "{text}");
    }
    assert!(listing(at).is_empty());
}

/// Hours of measuring are not overwritten by accident, and refused before the next hours begin.
#[test]
fn existing_files_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let content = |name: &str| std::fs::read(at.join(name)).expect("a file");
    let measure = ["measure", "--samples", "3", "--quantum", "50us", "-o", "a.parquet"];
    let report = ["report", "a.parquet", "--figures", "figures", "--format", "svg"];
    let mut figures_only = report.to_vec();
    figures_only.extend(["-o", "new.html"]);
    for words in [&measure[..], &report] {
        assert!(noise(words, at).status.success(), "{words:?}");
    }
    let before = ["a.parquet", "noise.html", "figures/time-series.svg"].map(content);
    for (words, name) in [(&measure[..], "a.parquet"), (&report, "noise.html"), (&figures_only, "figures/")] {
        let output = noise(words, at);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.lines().count() == 1, "{words:?}: {text}");
        assert!(text.contains(name) && text.contains("--force"), "{text}");
    }
    assert_eq!(before, ["a.parquet", "noise.html", "figures/time-series.svg"].map(content));
    assert!(!at.join("new.html").exists());
    for words in [&measure[..], &report] {
        assert!(noise(&[words, &["--force"]].concat(), at).status.success(), "{words:?}");
    }
    assert_ne!(before[0], content("a.parquet"));
    let device = noise(&["measure", "--samples", "3", "--force", "-o", "/dev/full"], at);
    assert!(String::from_utf8_lossy(&device.stderr).contains("not a regular file"), "{device:?}");
}

/// The output is looked at before the measurement, which would take an hour here.
#[test]
fn an_unwritable_output_costs_no_measurement() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::create_dir(at.join("closed")).expect("a folder");
    std::fs::set_permissions(at.join("closed"), std::fs::Permissions::from_mode(0o555)).expect("closed");
    let is_root = std::fs::File::create(at.join("closed").join("probe")).is_ok();
    std::fs::write(at.join("plain"), "").expect("written");
    let mut outputs = vec!["absent/x.parquet", "plain/x.parquet", "/proc/x.parquet", "-"];
    if !is_root {
        outputs.push("closed/x.parquet");
    }
    for output in outputs {
        for command in [&["measure"][..], &["trace"]] {
            let refused = noise(&[command, &["--duration", "1h", "-o", output]].concat(), at);
            let text = String::from_utf8_lossy(&refused.stderr);
            assert!(refused.status.code().is_some_and(|code| code == 1 || code == 2), "{output}: {refused:?}");
            assert!(
                text.contains(output) && text.lines().count() == 1 && refused.stdout.is_empty(),
                "{output}: {text}"
            );
        }
    }
}

fn signal_while_it_measures(child: &std::process::Child, signal: &str) {
    // The measuring threads have their own name while they measure.
    let tasks = format!("/proc/{}/task", child.id());
    let measuring = || {
        let tasks = std::fs::read_dir(&tasks).into_iter().flatten().flatten();
        tasks
            .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
            .any(|name| name == "measuring\n")
    };
    while !measuring() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let kill = format!("kill -{signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
}

/// `nohup` has SIGHUP ignored: the measurement is whole.
#[test]
fn a_signal_that_was_ignored_ends_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["measure", "--duration", "2s", "--quantum", "1ms", "--trust-clock", "-o", "r.parquet", "--json"];
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tacet-noise")]).args(words);
    let child = command.current_dir(folder.path()).stdout(std::process::Stdio::piped()).spawn().expect("it runs");
    signal_while_it_measures(&child, "HUP");
    let ended = child.wait_with_output().expect("it ends");
    let summary: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert_eq!(summary["warnings"], serde_json::json!([]), "{summary}");
}

/// Ctrl-C and its relatives end a measurement of an hour, whose result is written and marked.
#[test]
fn what_was_measured_until_a_signal_is_a_result() {
    for (signal, method) in [("INT", "fwq"), ("TERM", "ftq"), ("HUP", "selfish")] {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        let words = ["measure", "--method", method, "--duration", "1h", "--trust-clock", "-o", "r.parquet", "--json"];
        // As a script's shell starts what runs in the background.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' INT; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tacet-noise")]).args(words);
        let child = command.current_dir(at).stdout(std::process::Stdio::piped()).spawn().expect("it runs");
        signal_while_it_measures(&child, signal);
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(0), "{signal}: {ended:?}");
        let summary: serde_json::Value = serde_json::from_slice(&ended.stdout).expect("JSON");
        assert!(summary["warnings"].to_string().contains("interrupted: measured for"), "{signal}: {summary}");
        assert_eq!(listing(at), ["r.parquet"], "{signal}");
    }
}

/// As on a node with isolcpus=: the affinity at the start lacks a CPU to which the program may bind itself.
#[test]
fn a_cpu_outside_the_affinity_at_the_start_can_be_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let allowed = tacet_noise::measure::machine::allowed_cpus().expect("CPUs");
    let [first, .., last] = allowed[..] else { return eprintln!("this machine has one CPU") };
    let (here, there) = (first.to_string(), last.to_string());
    let measure = ["measure", "--samples", "3", "--quantum", "50us", "--trust-clock", "--json", "--cpus", &there];
    let mut bound = Command::new("taskset");
    let bound = bound.args(["-c", &here, env!("CARGO_BIN_EXE_tacet-noise")]).args(measure).current_dir(folder.path());
    let output = bound.output().expect("taskset");
    assert!(output.status.success(), "{output:?}");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&summary["cpus"][0], &summary["per_cpu"][0]["samples"]), (&last.into(), &3.into()));
}

#[test]
fn injected_noise_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["inject", "--json", "--noise", "20us@1ms", "--duration", "10.5ms", "--distribution", "exponential"];
    let injected = facts(&words, folder.path());
    let cpus = injected.as_array().expect("CPUs");
    assert!(!cpus.is_empty() && cpus.iter().all(|cpu| cpu["count"] == 10), "{injected}");
}

#[test]
fn mistakes_are_one_line_and_change_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("foreign"), "not a record").expect("written");
    noise(&["measure", "--method", "ftq", "--duration", "2ms", "-o", "f.parquet"], at);
    noise(&["measure", "--samples", "2", "--quantum", "50us", "-o", "w.parquet"], at);
    let before: Vec<_> = listing(at);
    let mistakes: [(&[&str], &str); 11] = [
        (&["analyse", "absent"], "absent: No such file"),
        (&["analyse", "foreign"], "foreign: not a whole noise record"),
        (&["compare", "w.parquet", "f.parquet"], "compare records of the same method"),
        (&["measure", "--cpus", "8000", "--samples", "1", "-o", "x"], "CPU 8000: this machine does not have it"),
        (
            &["measure", "--samples", "1", "--quantum", "50us", "-o", "no/such/folder"],
            "no/such/folder: cannot write there",
        ),
        (&["measure", "--method", "selfish", "--samples", "1", "-o", "x"], "--duration"),
        (&["measure", "--method", "ftq", "--units", "1", "-o", "x"], "--units"),
        (&["report", "w.parquet", "-o", "no/such/page"], "no/such/page: cannot write"),
        (&["report", "w.parquet", "foreign", "--figures", "new"], "foreign: not a whole noise record"),
        (&["check", "--rate", "-1", "--record", "w.parquet"], "--rate: must be a share of time"),
        (&["check", "--rate", "nan", "--record", "w.parquet"], "--rate"),
    ];
    for (words, said) in mistakes {
        let output = noise(words, at);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        assert!(text.contains(said) && (said.is_empty() || text.lines().count() == 1), "{words:?}: {text}");
        assert!(output.stdout.is_empty(), "{words:?}");
    }
    assert_eq!(listing(at), before);
}

fn listing(folder: &Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    names
}
