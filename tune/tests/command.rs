// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command as a person uses it, on a directory in place of a node: exit statuses, one-line errors, JSON, exports.

mod fake;

use std::process::{Command, Output};

use fake::Fake;

/// Countermeasures that need neither systemd nor other threads; a directory has none.
const FILES: &str = "workqueues,writeback,vmstat,compaction";

fn tune(node: &Fake, words: &[&str]) -> Output {
    let root = node.root().display().to_string();
    Command::new(env!("CARGO_BIN_EXE_tacet-tune")).args(["--root", &root]).args(words).output().expect("it runs")
}

fn facts(node: &Fake, words: &[&str]) -> serde_json::Value {
    let output = tune(node, &[&["--json"], words].concat());
    assert!(output.status.success(), "{words:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn there_and_back() {
    let (node, before) = (Fake::node(), Fake::node());
    let claim = ["--cpus", "4-7", "--only", FILES];
    let planned = facts(&node, &[&["plan"], &claim[..]].concat());
    assert_eq!((&planned["application"], &planned["system"]), (&"4-7".into(), &"0-3".into()));
    assert_eq!(planned["parts"][0]["changes"][0]["wanted"], "f");
    let done = facts(&node, &[&["apply"], &claim[..]].concat());
    assert_eq!(done["changed"].as_array().map(Vec::len), Some(5), "{done}");
    assert_eq!(tune(&node, &["verify"]).status.code(), Some(0));
    assert_eq!(facts(&node, &["status"])["claims"][0]["cpus"], "4-7");
    node.set("/proc/sys/vm/stat_interval", "1\n");
    let verdict = tune(&node, &["verify"]);
    assert_eq!(verdict.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&verdict.stdout).contains("DRIFTED"));
    assert_eq!(tune(&node, &["undo"]).status.code(), Some(0));
    for path in ["/proc/sys/vm/stat_interval", "/proc/sys/vm/compaction_proactiveness"] {
        assert_eq!(node.get(path), before.get(path));
    }
    assert_eq!(tune(&node, &["verify"]).status.code(), Some(1), "nothing is applied");
}

/// A dry run says the same as the act that follows, and changes nothing.
#[test]
fn dry_runs() {
    let (node, untouched) = (Fake::node(), Fake::node());
    let words = |list: &serde_json::Value| -> Vec<serde_json::Value> {
        let mut words: Vec<_> = list.as_array().expect("a list").iter().map(|event| event["text"].clone()).collect();
        words.sort_by_key(ToString::to_string);
        words
    };
    let apply = ["apply", "--cpus", "4-7", "--only", FILES];
    let said = facts(&node, &[&apply[..], &["--dry-run"]].concat());
    assert_eq!(node.differs(&untouched.snapshot()), None);
    assert!(!node.has_journal());
    let done = facts(&node, &apply);
    assert_eq!((words(&said["changes"]), words(&said["restores"])), (words(&done["changed"]), vec![]));
    let before = node.snapshot();
    let said = facts(&node, &["undo", "--dry-run"]);
    assert_eq!(node.differs(&before), None);
    let done = facts(&node, &["undo"]);
    assert_eq!(said["restores"].as_array().map(Vec::len), done["restored"].as_array().map(Vec::len));
    let text = tune(&node, &["undo", "--dry-run"]);
    assert_eq!(String::from_utf8_lossy(&text.stdout), "nothing to change\n");
}

#[test]
fn mistakes_are_one_line_and_change_nothing() {
    let (node, untouched) = (Fake::node(), Fake::node());
    let mistakes: [(&[&str], u8, &str); 11] = [
        (&["apply", "--cpus", "0-7"], 2, "no CPU would be left"),
        (&["apply", "--cpus", "8"], 2, "not online"),
        (&["apply", "--only", "nonsense"], 2, "countermeasure `nonsense`: unknown"),
        (&["apply", "--with", "vmstat=3"], 2, "it takes no number"),
        (&["plan", "--with", "cache=x"], 2, "ways for the system is a number"),
        (&["list", "nonsense"], 2, "unknown"),
        (&["job", "begin", "a"], 2, "its CPUs are missing"),
        (&["run", "true"], 125, "nothing is applied for it"),
        (&["verify"], 1, "nothing is applied"),
        (&["ablate", "--laboratory", "/nowhere/tacet-noise"], 3, "no such file"),
        (&["ablate", "--laboratory", "true", "--picture", "/nowhere/x.svg"], 2, "no file can be created there"),
    ];
    for (words, status, said) in mistakes {
        let output = tune(&node, words);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status.into()), "{words:?}: {text}");
        assert!(
            text.contains(said) && text.lines().last().is_some_and(|line| line.contains(said)),
            "{words:?}: {text}"
        );
        assert!(output.stdout.is_empty(), "{words:?}");
    }
    for words in [
        &["job", "begin", "../x", "--cpus", "1"][..],
        &["plan", "--cpus", "1;2"],
        &["plan", "--cpus", ""],
        &["ablate", "--duration", "5"],
    ] {
        assert_eq!(tune(&node, words).status.code(), Some(2), "{words:?}");
    }
    assert_eq!(node.differs(&untouched.snapshot()), None);
    assert!(!node.has_journal());
}

#[test]
fn the_proposal_leaves_the_first_core() {
    let node = Fake::node();
    assert_eq!(facts(&node, &["plan", "--only", FILES])["application"], "2-7");
    node.set("/sys/devices/system/cpu/online", "0-1\n");
    let output = tune(&node, &["plan"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("one core"));
}

/// Samplers are found and named even if the user does not ask to freeze them.
#[test]
fn what_is_left_out_is_named() {
    let node = Fake::node();
    node.set("/proc/77/stat", "77 (sar) S 0 0 0 0 0 4194304 0 0 0 0 0 0 0 0 0 0 0 0 900 0 0\n");
    node.set("/proc/77/status", "Name:\tsar\nCpus_allowed_list:\t0-7\n");
    node.set("/proc/77/cgroup", "0::/user.slice\n");
    let said = |words: &[&str]| String::from_utf8(tune(&node, words).stdout).expect("text");
    let text = said(&["plan", "--cpus", "4-7", "--without", "partition,interrupts,kernel-threads,rcu,slices"]);
    let (asked_for, left_out) = text.split_once("\nleft out").expect(&text);
    assert!(!asked_for.contains("collectd"), "{text}");
    for line in [
        "collectd (40) samples, as collectd.service",
        "sar (77) samples, and has no service of its own",
        "  siblings: takes all but the first hardware thread",
    ] {
        assert!(left_out.contains(line), "{line} not in {left_out}");
    }
    assert!(!left_out.contains("  slices: "), "refused by name: {left_out}");
    let words = ["plan", "--all", "--cpus", "4-7", "--with", "cache"];
    let all = said(&words);
    let (asked_for, left_out) = all.split_once("\nleft out").expect(&all);
    assert!(asked_for.contains("-> L3:0=3;1=3 MB:0=100;1=100\n"), "{all}");
    assert!(left_out.contains("-> L3:0=3;1=3 MB:0=50;1=50\n"), "{all}");
    let with = said(&["plan", "--cpus", "4-7", "--with", "samplers", "--without", "partition"]);
    let (asked_for, left_out) = with.split_once("\nleft out").expect(&with);
    assert!(asked_for.contains("collectd.service/cgroup.freeze") && !left_out.contains("samplers"), "{with}");
    assert!(!said(&["plan", "--cpus", "4-7", "--only", FILES]).contains("left out"));
    let facts = facts(&node, &["plan", "--cpus", "4-7"]);
    let names: Vec<_> = facts["left_out"].as_array().expect("a list").iter().map(|part| &part["measure"]).collect();
    assert!(names.contains(&&"samplers".into()) && !names.contains(&&"vmstat".into()), "{names:?}");
}

#[test]
fn exports_say_what_they_lack() {
    let node = Fake::node();
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().display().to_string();
    let written = |words: &[&str], path: &str| {
        assert!(tune(&node, words).status.success());
        std::fs::read_to_string(folder.path().join(path)).expect(path)
    };
    let profile =
        written(&["export", "tuned", "-o", &at, "--cpus", "4-7", "--with", "samplers"], "tuned/tacet/tuned.conf");
    for line in [
        "[sysctl]\n",
        "\nvm.stat_interval=3600\n",
        "\nisolated_cores=4-7\n",
        "cmdline_tacet=nohz_full=4-7",
        "governor=performance",
    ] {
        assert!(profile.contains(line), "{line} not in {profile}");
    }
    assert!(profile.contains("# Not in here, or not all of it: partition, samplers\n"), "{profile}");
    let values = written(&["export", "systemd", "-o", &at, "--cpus", "4-7"], "sysctl.d/90-tacet.conf");
    assert!(values.contains("vm.stat_interval = 3600\n"));
}

/// A file that a site edited stays, and nothing is written beside it.
#[test]
fn an_export_overwrites_only_if_it_is_told_to() {
    let node = Fake::node();
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().display().to_string();
    let words = ["export", "systemd", "-o", &at, "--cpus", "4-7", "--only", "vmstat,writeback"];
    assert!(tune(&node, &words).status.success());
    assert!(tune(&node, &words).status.success(), "the same files again");
    let edited = folder.path().join("tmpfiles.d/90-tacet.conf");
    std::fs::write(&edited, "edited").expect("written");
    std::fs::remove_file(folder.path().join("sysctl.d/90-tacet.conf")).expect("removed");
    let output = tune(&node, &words);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("it exists; name another directory"), "{output:?}");
    assert!(!folder.path().join("sysctl.d/90-tacet.conf").exists(), "all or nothing");
    let facts = facts(&node, &[&words[..], &["--force"]].concat());
    assert_eq!(facts["json_version"], 1);
    assert_eq!(facts["files"].as_array().map(Vec::len), Some(2), "{facts}");
    assert_eq!(facts["files"][1]["text"], read(folder.path(), "tmpfiles.d/90-tacet.conf"));
}

/// What is exported is what the plan would change, and nothing else: a node that is as wanted needs no file.
#[test]
fn an_export_is_the_plan_and_no_more() {
    let node = Fake::node();
    let (values, files) = ("sysctl.d/90-tacet.conf", "tmpfiles.d/90-tacet.conf");
    let exported = |words: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().display().to_string();
        let output = tune(&node, &[&["export", "systemd", "-o", &at, "--cpus", "4-7"], words].concat());
        assert!(output.status.success(), "{words:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stdout).replace(&format!("{at}/"), "");
        said.lines().map(|path| (path.to_owned(), read(folder.path(), path))).collect::<Vec<_>>()
    };
    let only = |words| exported(&["--only", words]);
    let paths = |found: &[(String, String)]| found.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&only("vmstat")), [values]);
    assert_eq!(paths(&only("writeback")), [files]);
    assert_eq!(paths(&only("vmstat,writeback")), [values, files], "no slice is bound, none is exported");
    node.set("/proc/sys/vm/stat_interval", "3600\n");
    assert_eq!(paths(&only("vmstat")), [""; 0], "it is as wanted");
    assert!(only("vmstat,swap").iter().all(|(_, text)| !text.contains("stat_interval")));
}

fn read(folder: &std::path::Path, path: &str) -> String {
    std::fs::read_to_string(folder.join(path)).expect(path)
}
