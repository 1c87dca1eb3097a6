// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table: each command of the family against each rule of the contract that concerns one command.

use libtest_mimic::Trial;
use tacet_words::describe::Described;
use tacet_words::status::{RUNNER, USAGE};

use crate::bench::{Bench, read};

/// They execute a program several times, and report about it: its status is not theirs.
const REPORTS: [&str; 1] = ["compare"];
/// A flag that nobody has.
const WRONG: &str = "--no-such-flag";

type Rule = fn(&Bench, &[String], &Described);

/// They change nothing but files that the user names, or the terminal. Every other command has --dry-run.
const READS: [&str; 36] = [
    "job list",
    "pico",
    "status",
    "ps",
    "top",
    "log",
    "doctor",
    "node shell",
    "node list",
    "node cluster status",
    "static status",
    "static map",
    "static console",
    "noise measure",
    "noise trace",
    "noise analyse",
    "noise compare",
    "noise predict",
    "noise report",
    "noise check",
    "noise campaign",
    "noise history",
    "noise inject",
    "noise collect",
    "noise import",
    "noise exact",
    "tune plan",
    "tune verify",
    "tune status",
    "tune list",
    "tune export",
    "tune run",
    "sched status",
    "sched top",
    "sched run",
    "sched count",
];

/// A value for each kind that a command may require.
const VALUES: [(&str, &str); 13] = [
    ("USER", "0"),
    ("RECORD", "r.parquet"),
    ("LIST", "2-3"),
    ("RUN", "run.json"),
    ("PID", "4711"),
    ("PROGRAM", "true"),
    ("COMMAND", "true"),
    ("ID", "a"),
    ("JOB", "1"),
    ("ADDRESS:PORT", "127.0.0.1:4070"),
    ("FILE", "key"),
    ("SIGNAL", "TERM"),
    ("NODE", "0"),
];

const RULES: [(&str, Rule); 7] = [
    ("its dry run is JSON, with each flag", rehearses_as_json),
    ("an output that cannot be written is told first", looks_first),
    ("it has a dry run, or changes nothing", rehearses),
    ("a wrong flag is one line", wrong_flag),
    ("it takes --json, and a wrong flag is one object", wrong_flag_as_json),
    ("its help has every flag", helps),
    ("its help and its man page have examples", shows),
];

pub fn trials(bench: &'static Bench) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (words, command) in bench.commands() {
        for (rule, check) in RULES {
            let words = words.clone();
            let name = format!("{}: {rule}", words.join(" "));
            trials.push(Trial::test(name, move || {
                check(bench, &words, command);
                Ok(())
            }));
        }
    }
    trials
}

/// Does it end with the status of the program that it executes?
pub fn runs(words: &[String], command: &Described) -> bool {
    command.flags.iter().any(|flag| flag.trailing) && !REPORTS.contains(&words.join(" ").as_str())
}

fn usage(words: &[String], command: &Described) -> u8 {
    if runs(words, command) { RUNNER } else { USAGE }
}

pub fn with<'a>(words: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    words.iter().map(String::as_str).chain(more.iter().copied()).collect()
}

fn wrong_flag(bench: &Bench, words: &[String], command: &Described) {
    let all = with(words, &[WRONG]);
    let said = bench.run(&all);
    let line = bench.complained(&all, &said, usage(words, command));
    assert!(line.contains(WRONG) && line.contains("--help"), "{line}");
    assert_eq!(said.out, "", "{all:?}");
}

fn wrong_flag_as_json(bench: &Bench, words: &[String], command: &Described) {
    for all in [with(words, &["--json", WRONG]), [&["--json"], &with(words, &[WRONG])[..]].concat()] {
        let said = bench.run(&all);
        let line = bench.complained(&all, &said, usage(words, command));
        bench.told_programs(&said, &format!("tacet {}", words.join(" ")), &line);
    }
}

fn helps(bench: &Bench, words: &[String], command: &Described) {
    let help = [&["help"], &with(words, &[])[..]].concat();
    for all in [with(words, &["--help"]), help] {
        let said = bench.run(&all);
        assert_eq!((said.status, said.err.as_str()), (0, ""), "{all:?}");
        for flag in command.flags.iter().filter_map(|flag| flag.long.as_ref()) {
            assert!(said.out.contains(&format!("--{flag}")), "{all:?} does not name --{flag}: {}", said.out);
        }
        assert!(said.out.contains(&format!("Usage: tacet {}", words.join(" "))), "{all:?}: {}", said.out);
    }
}

/// The same examples in both. That each parses is a test of each program: only it knows which values are right.
fn shows(bench: &Bench, words: &[String], command: &Described) {
    let (examples, _) = tacet_words::examples::written(&command.after_help);
    assert!(!examples.is_empty(), "{words:?} has no examples");
    let help = bench.run(&with(words, &["--help"])).out;
    let page = read(&bench.pages().join(format!("tacet-{}.1", words.join("-"))));
    let (_, page) = page.split_once("\n.SH EXAMPLES\n").unwrap_or_else(|| panic!("{words:?}: {page}"));
    let page = page.replace("\\*(Aq", "'").replace('\\', "");
    for (line, purpose) in examples {
        assert!(help.contains(&line) && help.contains(&purpose), "{words:?}: `{line}` is not in: {help}");
        assert!(page.contains(&line) && page.contains(&purpose), "{words:?}: `{line}` is not in: {page}");
    }
}

/// A dry run needs no root, and its arguments are right: it may only say that the machine or its state is not.
fn rehearses(bench: &Bench, words: &[String], command: &Described) {
    if READS.contains(&words.join(" ").as_str()) {
        return;
    }
    let all = with_required(words, command, &["--dry-run"]);
    let said = bench.run_without_root(&all);
    assert!([0, 1, 3, 125].contains(&said.status), "{all:?}: status {}: {}", said.status, said.err);
    for right in ["sudo", "needs root", "as root: repeat", "not permitted"] {
        assert!(!said.err.contains(right), "{all:?}: {}", said.err);
    }
    if said.status != 0 {
        assert!(!said.err.is_empty(), "{all:?}");
    }
}

/// These flags, and a value for each that the command requires.
fn with_required<'a>(words: &'a [String], command: &Described, flags: &[&'a str]) -> Vec<&'a str> {
    let mut more = flags.to_vec();
    let required = command.flags.iter().filter(|flag| flag.required || flag.id == "job" && flag.long.is_none());
    let mut last = Vec::new();
    for flag in required {
        let kind = flag.value.first().map_or("", String::as_str);
        let (_, value) = VALUES.iter().find(|(name, _)| *name == kind).unwrap_or_else(|| panic!("{flag:?}"));
        match &flag.long {
            Some(long) => more.extend([Box::leak(format!("--{long}").into_boxed_str()), *value]),
            None => last.push(*value),
        }
    }
    // of these, one of several flags is required
    match words.join(" ").as_str() {
        "tune job begin" => more.extend(["--cpus", "1"]),
        "grow" | "shrink" => more.extend(["--cpus", "1", "--memory", "64M"]),
        _ => {}
    }
    more.extend(last);
    with(words, &more)
}

/// Nothing but objects with the version is on standard output, whatever the switch and however it ends.
fn rehearses_as_json(bench: &Bench, words: &[String], command: &Described) {
    if READS.contains(&words.join(" ").as_str()) {
        return;
    }
    let switches = command.flags.iter().filter(|flag| flag.value.is_empty() && flag.id != "dry_run");
    let switches = switches.filter_map(|flag| flag.long.as_ref()).map(|long| format!("--{long}"));
    for switch in switches.chain(["--dry-run".to_owned()]) {
        let mut flags = vec!["--json", "--dry-run", &*Box::leak(switch.into_boxed_str())];
        flags.dedup();
        let all = with_required(words, command, &flags);
        let said = bench.run_without_root(&all);
        let objects = serde_json::Deserializer::from_str(&said.out).into_iter::<serde_json::Value>();
        let objects: Vec<_> =
            objects.map(|object| object.unwrap_or_else(|error| panic!("{all:?}: {error}: {}", said.out))).collect();
        assert!(!objects.is_empty(), "{all:?}: status {}: {}", said.status, said.err);
        for object in
            objects.iter().flat_map(|object| object.as_array().cloned().unwrap_or_else(|| vec![object.clone()]))
        {
            assert_eq!(object["json_version"], 1, "{all:?}: {}", said.out);
        }
    }
}

/// Before anything is read, measured or booted.
fn looks_first(bench: &Bench, words: &[String], command: &Described) {
    let Some(output) = command.flags.iter().find(|flag| flag.id == "output").and_then(|flag| flag.long.as_ref()) else {
        return;
    };
    let flag: &str = Box::leak(format!("--{output}").into_boxed_str());
    for (path, told) in [("/nowhere/at/all/x", "/nowhere/at/all/x: "), ("/dev/null", "/dev/null: not a regular file")] {
        let all = with_required(words, command, &[flag, path]);
        let said = bench.run(&all);
        let line = bench.complained(&all, &said, USAGE);
        assert!(line.starts_with(told), "{all:?}: {line}");
        assert_eq!(said.out, "", "{all:?}");
    }
}
