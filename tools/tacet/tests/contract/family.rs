// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rules that concern the family as a whole: near misses, help across programs, completions, the page.

use std::process::Command;

use libtest_mimic::Trial;
use serde_json::Value;
use tacet_words::status;

use crate::bench::{Bench, document, read};

type Rule = fn(&Bench);

pub fn trials(bench: &'static Bench) -> Vec<Trial> {
    let rules: [(&str, Rule); 13] = [
        ("the descriptions have all programs", described),
        ("a command of another program is suggested", near_misses),
        ("no command is one line", no_command),
        ("the programs print the statuses of the page", page),
        ("the shell completes through the programs", completes),
        ("a signal ends a measurement with its result", signals),
        ("without a machine each command says so", absent),
        ("several ranks have one status", ranks),
        ("what is hidden is offered nowhere", hides),
        ("a program that cannot run has the statuses of env", runners),
        ("static nodes: an error has the status of its cause", causes),
        ("static nodes: each answer is an object of the schema", answers),
        ("objects have the version", versions),
    ];
    let trial = |(name, check): (&str, Rule)| {
        Trial::test(name, move || {
            check(bench);
            Ok(())
        })
    };
    rules.map(trial).into()
}

fn described(bench: &Bench) {
    let all: Vec<String> = bench.commands().iter().map(|(words, _)| words.join(" ")).collect();
    for known in ["up", "node run", "static map", "noise measure", "tune job begin", "sched start"] {
        assert!(all.iter().any(|words| words == known), "{known} is not among {all:?}");
    }
    assert!(all.len() > 45, "{all:?}");
}

fn near_misses(bench: &Bench) {
    for (words, near) in [
        (&["measure"][..], "`tacet noise measure`"),
        (&["mesure"], "`tacet noise measure`"),
        (&["undo"], "`tacet tune undo`"),
        (&["stop", "--json"], "`tacet sched stop`"),
        (&["statuss"], "`status`"),
        (&["noise", "mesure"], "`measure`"),
        (&["tune", "aply"], "`apply`"),
        (&["up", "--cpu", "2"], "`--cpus`"),
    ] {
        let said = bench.run(words);
        let line = bench.complained(words, &said, status::USAGE);
        assert!(line.contains(&format!("did you mean {near}")), "{words:?}: {line}");
    }
}

fn no_command(bench: &Bench) {
    for words in [&[][..], &["noise"], &["tune"], &["sched"], &["node"], &["static"], &["tune", "job"]] {
        let line = bench.complained(words, &bench.run(words), status::USAGE);
        assert!(line.starts_with("no command is given; see `tacet"), "{words:?}: {line}");
    }
}

/// The page has a row for each status, and no other.
fn page(_: &Bench) {
    let text = read(&document("command-line.md"));
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse::<u8>().ok());
    let rows: Vec<u8> = rows.collect();
    let known = [
        status::DONE,
        status::NO,
        status::USAGE,
        status::MACHINE,
        status::UNDONE,
        status::RUNNER,
        status::NOT_EXECUTABLE,
        status::NOT_FOUND,
    ];
    assert_eq!(rows, known);
    assert!(text.lines().all(|line| line.len() <= 180), "a page for people");
}

/// What bash would offer after the words.
fn offered(bench: &Bench, words: &[&str]) -> Vec<String> {
    let script = bench.directory().join("completions.bash");
    std::fs::write(&script, bench.run(&["completions", "bash"]).out).expect("written");
    let last = words.len() - 1;
    let line = format!(
        "source {}; COMP_WORDS=({}); COMP_CWORD={last}; _tacet tacet '{}' '{}'; echo \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.join(" "),
        words[last],
        words[last - 1]
    );
    let output = Command::new("bash").args(["--norc", "-c", &line]).output().expect("bash");
    String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect()
}

fn completes(bench: &Bench) {
    for (words, one) in [
        (&["tacet", "noise", "me"][..], "measure"),
        (&["tacet", "noise", "measure", "--dur"], "--duration"),
        (&["tacet", "tune", "job", "be"], "begin"),
        (&["tacet", "sched", "sta"], "start"),
        (&["tacet", "up", "--mem"], "--memory"),
    ] {
        let all = offered(bench, words);
        assert!(all.iter().any(|word| word == one), "{words:?}: {all:?}");
    }
    assert_eq!(offered(bench, &["tacet", "node", "run", "--kernel", "\"\""]), ["6.1", "6.12", "7"]);
    for shell in ["bash", "zsh", "fish"] {
        let said = bench.run(&["completions", shell]);
        assert!(said.status == 0 && said.out.contains("trust-clock"), "{shell}: {}", said.err);
    }
}

/// Help, completions and near misses of each shell, for each command and flag that a person is not to know.
fn hides(bench: &Bench) {
    let commands = ["provoke", "man", "completions", "describe"];
    let offered = offered(bench, &["tacet", "\"\""]);
    assert!(offered.iter().any(|word| word == "up"), "{offered:?}");
    assert!(commands.iter().all(|hidden| !offered.contains(&(*hidden).to_owned())), "{offered:?}");
    let flags = ["--machine-root", "--test-hooks", "--fail-step", "--no-populate", "--emulator-arguments"];
    let mut texts: Vec<String> =
        ["bash", "zsh", "fish"].iter().map(|shell| bench.run(&["completions", shell]).out).collect();
    texts.push(bench.run(&["--help"]).out);
    texts.push(bench.run(&["up", "--help"]).out);
    texts.extend(std::fs::read_dir(bench.pages()).expect("pages").map(|page| read(&page.expect("a page").path())));
    for text in texts {
        for hidden in flags.iter().map(|flag| flag.trim_start_matches('-')) {
            let found = text.replace('\\', "").lines().find(|line| line.contains(hidden)).map(str::to_owned);
            assert_eq!(found, None, "{hidden}");
        }
    }
}

fn runners(bench: &Bench) {
    let program = bench.directory().join("no-program");
    std::fs::write(&program, "text").expect("written");
    let program = program.display().to_string();
    for (words, status) in [
        (["static", "run", "--", "/nowhere/at/all"], status::NOT_FOUND),
        (["static", "run", "--", program.as_str()], status::NOT_EXECUTABLE),
        (["static", "run", "--nodes", "x"], status::RUNNER),
    ] {
        bench.complained(&words, &bench.run(&words), status);
    }
    for words in [&["node", "run", "--kernel", "5.4", "ls"][..], &["tune", "run", "--", "ls"]] {
        bench.complained(words, &bench.run(words), status::RUNNER);
    }
}

/// One sentence, everywhere; that it is so is a test of `tacet-static`.
fn ranks(bench: &Bench) {
    const SENTENCE: &str = "the highest of all ranks, where signal N counts as 128 + N";
    let help = bench.run(&["static", "run", "--help"]).out;
    for text in [help, read(&document("static.md")), read(&document("command-line.md"))] {
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(SENTENCE), "{text}");
    }
}

/// Each runs for an hour unless it heeds the signal.
fn signals(bench: &Bench) {
    let cpu = bench.cpu();
    for (words, status, marked) in [
        (&["noise", "measure", "--quantum", "1ms", "--trust-clock", "--force"][..], status::DONE, "record: "),
        (&["noise", "inject", "--noise", "10us@10ms"], status::DONE, "ended early by a signal"),
    ] {
        for signal in ["INT", "TERM", "HUP"] {
            let words = [words, &["--cpus", &cpu, "--duration", "1h"]].concat();
            let said = bench.run_until(&words, signal);
            assert_eq!(said.status, i32::from(status), "{words:?} {signal}: {}{}", said.out, said.err);
            assert!(said.out.contains(marked), "{words:?} {signal}: {}{}", said.out, said.err);
        }
    }
}

fn absent(bench: &Bench) {
    for words in [&["up", "--dry-run"][..], &["pico"], &["log"]] {
        let words = [&["--machine-root", "/nowhere"], words].concat();
        let said = bench.run(&words);
        assert!([status::NO, status::MACHINE].map(i32::from).contains(&said.status), "{words:?}: {}", said.err);
        bench.complained(&words, &said, u8::try_from(said.status).unwrap_or_default());
    }
    if std::path::Path::new("/dev/tacet").exists() {
        return;
    }
    for words in [&["status"][..], &["ps"], &["top"], &["down"], &["log"], &["recouple", "4711"]] {
        bench.complained(words, &bench.run(words), status::NO);
    }
}

/// Names of sets that nobody boots.
const NOBODYS: &str = "contract-of-nobody";

fn causes(bench: &Bench) {
    let text = bench.directory().join("no-image");
    std::fs::write(&text, "text").expect("written");
    let text = text.display().to_string();
    for (words, status) in [
        (&["static", "status", "--name", NOBODYS][..], status::NO),
        (&["static", "kill", "1", "--name", NOBODYS], status::NO),
        (&["static", "console", "0", "--name", NOBODYS], status::NO),
        (&["static", "drain", "0", "--name", NOBODYS], status::NO),
        (&["static", "return", "0", "--name", NOBODYS], status::NO),
        (&["static", "reset", "0", "--name", NOBODYS, "--dry-run"], status::NO),
        (&["static", "power-off", "0", "--control", "/nowhere/control"], status::NO),
        (&["static", "drain", "x"], status::USAGE),
        (&["static", "boot", "--down", "--name", NOBODYS], status::NO),
        (&["static", "status", "--name", "a/b"], status::USAGE),
        (&["static", "boot", "--name", NOBODYS, "--image", "/nowhere/image"], status::USAGE),
        (&["static", "boot", "--name", NOBODYS, "--image", &text], status::USAGE),
        (&["static", "kill", "1", "--signal", "NONE"], status::USAGE),
        (&["static", "map", "/nowhere/at/all"], status::USAGE),
        (&["static", "status", "--control", "/nowhere/control"], status::NO),
        (&["iod", "--listen", "127.0.0.1:4070", "--key", "/nowhere/key"], status::MACHINE),
    ] {
        bench.complained(words, &bench.run(words), status);
        let words = [words, &["--json"]].concat();
        let said = bench.run(&words);
        let line = bench.complained(&words, &said, status);
        let object = bench.described(&said, "error.json");
        assert_eq!(object["error"]["message"], line, "{words:?}");
    }
}

fn answers(bench: &Bench) {
    let metal = ["static", "boot", "--metal", "--address", "10.1.0.2/24", "--iod", "10.1.0.1:4070", "--key", "metal"];
    for (words, field) in [
        (&["static", "boot", "--down", "--dry-run", "--name", NOBODYS][..], "ended"),
        (&metal[..], "nodes"),
        (&["iod", "--listen", "127.0.0.1:4070", "--key", "key", "--dry-run"], "key_exists"),
    ] {
        let said = bench.run(&[words, &["--json"]].concat());
        assert_eq!((said.status, said.err.as_str()), (0, ""), "{words:?}");
        assert!(bench.described(&said, "static.json").get(field).is_some(), "{words:?}: {}", said.out);
    }
}

/// Commands that only ask have an answer on every machine.
fn versions(bench: &Bench) {
    for words in [
        &["up", "--dry-run", "--cpus", "1", "--memory", "64M"][..],
        &["doctor"],
        &["doctor", "--slurm"],
        &["compare", "--dry-run", "true"],
        &["tune", "plan", "--cpus", "1"],
        &["tune", "status"],
        &["tune", "list"],
        &["tune", "list", "vmstat"],
        &["sched", "status"],
        &["sched", "start", "--dry-run"],
    ] {
        let said = bench.run(&[&["--json"], words].concat());
        let answer: Value = serde_json::from_str(&said.out)
            .unwrap_or_else(|error| panic!("{words:?}: {error}: {} {}", said.out, said.err));
        let objects = answer.as_array().cloned().unwrap_or_else(|| vec![answer]);
        assert!(
            !objects.is_empty() && objects.iter().all(|object| object["json_version"] == 1),
            "{words:?}: {}",
            said.out
        );
    }
}
