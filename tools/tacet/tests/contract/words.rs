// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One vocabulary: a right value of a kind is accepted by every flag of the kind, a wrong one is refused by every one;
//! and a flag has one kind in the whole family.
//!
//! Nothing is executed: each line ends with --help, which clap answers only after it has read the values before it.

use std::collections::BTreeMap;

use libtest_mimic::Trial;

use crate::bench::Bench;
use crate::commands::with;

/// The kinds, with right words and wrong ones.
const KINDS: [(&str, &[&str], &[&str]); 5] = [
    ("SIZE", &["512M", "1G", "1Gi", "1GiB"], &["1Q", "many"]),
    ("SIZE,...", &["512M,1Gi"], &["1G,1Q"]),
    ("TIME", &["250us", "5m", "5min", "1h30m"], &["soon", "1 s"]),
    ("COUNT", &["7", "1e3"], &["0", "few"]),
    ("LIST", &["2-3", "1,4-6,8-14:2"], &["3-1", "all"]),
];

pub fn trials(bench: &'static Bench) -> Vec<Trial> {
    let kind = |(kind, right, wrong): (&'static str, &'static [&str], &'static [&str])| {
        Trial::test(format!("one vocabulary: {kind}"), move || {
            speak(bench, kind, right, wrong);
            Ok(())
        })
    };
    let mut trials: Vec<Trial> = KINDS.map(kind).into();
    trials.push(Trial::test("a flag means one thing in the family", || {
        one_meaning(bench);
        Ok(())
    }));
    trials
}

fn speak(bench: &Bench, kind: &str, right: &[&str], wrong: &[&str]) {
    let mut flags = 0;
    for (words, command) in bench.commands() {
        let long = command.flags.iter().filter(|flag| flag.value == [kind]).filter_map(|flag| flag.long.as_ref());
        for flag in long.map(|long| format!("--{long}")) {
            flags += 1;
            // with the sign, which a flag whose value may be left out needs
            let said = |value: &str| bench.run(&with(&words, &[&format!("{flag}={value}"), "--help"]));
            for value in right {
                let said = said(value);
                assert_eq!((said.status, said.err.as_str()), (0, ""), "{words:?} {flag} {value}");
            }
            for value in wrong {
                let (all, said) = (with(&words, &[&flag, value]), said(value));
                let line = bench.complained(&all, &said, u8::try_from(said.status).unwrap_or_default());
                let part = value.rsplit(',').next().unwrap_or_default();
                assert!(line.contains(&flag) && line.contains(part), "{all:?}: {line}");
                assert!([2, 125].contains(&said.status), "{all:?}: {line}");
            }
        }
    }
    assert!(flags > 0, "no flag takes a {kind}");
}

fn one_meaning(bench: &Bench) {
    let mut kinds: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for (words, command) in bench.commands() {
        for flag in &command.flags {
            if let Some(long) = &flag.long {
                let kind = flag.value.join(" ");
                kinds.entry(long.clone()).or_default().entry(kind).or_default().push(words.join(" "));
            }
        }
    }
    kinds.retain(|_, kinds| kinds.len() > 1);
    assert!(kinds.is_empty(), "flags with several meanings: {kinds:#?}");
}
