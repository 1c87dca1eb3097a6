// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scripts of tests/outside on trees of stand-ins: programs that print what LULESH, NPB, IMB and tests of LTP print, and a
//! `tacet` that only marks what it hosts. So the scripts' order, the figures' arithmetic and the refusals are tested; nothing is measured.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

const TACET: &str = "case $1 in node) shared=; while [ \"$1\" != -- ]; do [ \"$1\" != --share ] || echo \"$2\" >>shared; shift; done; shift; exec \"$@\" ;; esac
case $1 in up | down) echo \"$1\" >>calls ;; run) while [ \"$1\" != -- ]; do shift; done; shift; echo run >>calls; exec env HOSTED=1 \"$@\" ;; esac";
const LULESH: &str = "f=1000; [ -z \"${HOSTED:-}\" ] || f=1410
echo \"   Final Origin Energy =  2.025075e+05\n        MaxRelDiff   = 1.461140e-12\nFOM                  = $f.5 (z/s)\"";
const NPB: &str = "[ -z \"${HOSTED:-}\" ] && v=SUCCESSFUL || v=UNSUCCESSFUL
echo \" Mop/s total     =                    27.18\n Verification    =               $v\"";
const IMB: &str = "[ -z \"${HOSTED:-}\" ] && time=0.60 || time=1.20
cat <<END
# Benchmarking PingPong
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.30         0.00
            8         1000         $time         0.00

# Benchmarking Barrier
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.15         0.15         0.16
END";

/// Tests of LTP: each passes natively, and its name says what it does hosted. The last one also waits longer than the limit.
const RUNTEST: &str = "# a runtest file\n\nsame01 same01\nfails01 fails01 -i 2\nskips01 skips01\nfewer01\tfewer01\nwaits01 waits01\nabsent01 absent01\n";
const LTP_TESTS: [(&str, &str); 5] = [
    ("same01", "echo same01 1 TPASS : fine; echo same01 2 TCONF : not here; exit 32"),
    ("fails01", "[ -z \"${HOSTED:-}\" ] || { echo 'a.c:3: TFAIL: bad'; exit 1; }; echo \"a.c:3: TPASS: $*\""),
    ("skips01", "[ -z \"${HOSTED:-}\" ] && echo 'a.c:1: TPASS: fine' || { echo 'a.c:1: TCONF: no'; exit 32; }"),
    ("fewer01", "echo 'a.c:1: TPASS: one'; [ -n \"${HOSTED:-}\" ] || echo 'a.c:2: TPASS: two'"),
    ("waits01", "[ -z \"${HOSTED:-}\" ] || exec sleep 60; sleep 0.2"),
];

struct Trees(tempfile::TempDir);

impl Trees {
    fn new() -> Trees {
        let trees = Trees(tempfile::tempdir().expect("a folder"));
        trees.program("programs/tacet", TACET);
        trees.program("programs/mpirun", "shift 2; exec \"$@\"");
        trees.program("tree/lulesh2.0", LULESH);
        trees.program("tree/bin/ep.S.x", NPB);
        trees.program("tree/IMB-MPI1", IMB);
        for (name, text) in LTP_TESTS {
            trees.program(&format!("tree/testcases/bin/{name}"), text);
        }
        let folder = trees.0.path().join("tree/runtest");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("syscalls"), RUNTEST).expect("written");
        trees
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    }

    fn run(&self, words: &[&str]) -> (Output, String) {
        // beside copies, so that the tree's own tacet is not found
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/outside");
        let copies = self.0.path().join("tests/outside");
        fs::create_dir_all(&copies).expect("a folder");
        for entry in fs::read_dir(scripts).expect("scripts") {
            let entry = entry.expect("a script");
            fs::copy(entry.path(), copies.join(entry.file_name())).expect("copied");
        }
        let path =
            format!("{}:{}", self.0.path().join("programs").display(), std::env::var("PATH").unwrap_or_default());
        let mut script = Command::new("sh");
        script.arg(copies.join(words[0])).args(&words[1..]).current_dir(self.0.path()).env("PATH", path);
        let output = script.output().expect("sh");
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let text = text.into_owned();
        (output, text)
    }
}

/// The words of the line that begins so.
fn figures(text: &str, start: &str) -> Vec<String> {
    let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start} in\n{text}"));
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn turns_medians_and_a_ratio() {
    let trees = Trees::new();
    let (output, text) = trees.run(&["lulesh.sh", "--tree", "tree", "--here", "--cpus", "0", "--runs", "3"]);
    assert!(output.status.success(), "{text}");
    assert_eq!(figures(&text, "FOM").last().expect("a ratio"), "1.41");
    assert!(text.contains("verification, hosted: successful in all runs"));
    let calls = fs::read_to_string(trees.0.path().join("calls")).expect("calls");
    assert_eq!(calls, "up\nrun\ndown\n".repeat(3));
}

/// The outputs may be anywhere: the node has each directory that a run needs, once, and none below another one.
#[test]
fn outputs_are_anywhere() {
    let trees = Trees::new();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let root = trees.0.path().canonicalize().expect("a folder");
    let outside = elsewhere.path().canonicalize().expect("a folder").join("deep/er");
    for (out, shared) in [
        (outside.clone(), vec![root.join("tree"), root.clone(), outside]),
        (root.join("tree/out"), vec![root.join("tree"), root.clone()]),
    ] {
        fs::remove_file(root.join("shared")).ok();
        let place = out.to_str().expect("a name");
        let (output, text) = trees.run(&["lulesh.sh", "--tree", "tree", "--cpus", "0", "--runs", "1", "--out", place]);
        assert!(output.status.success(), "{text}");
        assert!(out.join("size-30/native.1").exists() && out.join("size-30/hosted.1").exists(), "{text}");
        let said = fs::read_to_string(root.join("shared")).expect("shared directories");
        assert_eq!(said.lines().map(Path::new).collect::<Vec<_>>(), shared);
    }
}

/// NPB-CPP builds `ep.S`, NPB 3.4 `ep.S.x`.
#[test]
fn programs_of_both_suites_are_known() {
    let trees = Trees::new();
    trees.program("tree/bin/cg.S", NPB);
    let (_, text) = trees.run(&["npb.sh", "--tree", "tree", "--here", "--cpus", "0", "--runs", "1", "cg", "ep"]);
    assert_eq!(text.matches("verification, native: successful").count(), 2, "{text}");
}

#[test]
fn a_run_that_does_not_verify_fails() {
    let trees = Trees::new();
    let (output, text) = trees.run(&["npb.sh", "--tree", "tree", "--here", "--cpus", "0", "--runs", "2", "ep"]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("verification, native: successful") && text.contains("verification, hosted: FAILED"),
        "{text}"
    );
}

#[test]
fn times_are_better_if_they_are_less() {
    let trees = Trees::new();
    let (output, text) = trees.run(&["imb.sh", "--tree", "tree", "--here", "--cpus", "0", "--runs", "1"]);
    assert!(output.status.success(), "{text}");
    assert_eq!(figures(&text, "PingPong 8 B, us").last().expect("a ratio"), "0.50");
    assert_eq!(figures(&text, "Barrier, us")[2], "0.16");
}

/// Each second group is hosted first, so two share a partition; only a test that passes natively and not hosted is a failure.
#[test]
fn results_that_differ_are_named() {
    let trees = Trees::new();
    let start = ["ltp.sh", "--tree", "tree", "--here", "--cpus", "0", "--limit", "1", "--group", "1"];
    let (output, text) = trees.run(&start);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for line in [
        "tests left out, since ",
        "fails01: native pass (1 TPASS), hosted TFAIL (1 TFAIL)",
        "skips01: native pass (1 TPASS), hosted TCONF (1 TCONF)",
        "fewer01: native pass (2 TPASS), hosted pass (1 TPASS)",
        "waits01: native pass (it said nothing), hosted limit (it said nothing)",
        "5 tests, 4 differ, 3 pass natively and not hosted",
    ] {
        assert!(text.lines().any(|said| said.starts_with(line)), "no `{line}` in\n{text}");
    }
    assert!(!text.contains("same01:"), "{text}");
    assert_eq!(figures(&text, "TCONF")[1..], ["1", "2"]);
    assert_eq!(figures(&text, "  waits01").len(), 7, "{text}");
    let calls = fs::read_to_string(trees.0.path().join("calls")).expect("calls");
    assert_eq!(calls, "up\nrun\nrun\ndown\nup\nrun\nrun\ndown\nup\nrun\ndown\n");

    fs::remove_file(trees.0.path().join("calls")).expect("calls");
    let (output, text) = trees.run(&[&start[..], &["--group", "2", "sa*01", "fewer*", "skips0?"]].concat());
    assert!(output.status.code() == Some(1) && text.contains("3 tests, 2 differ, 1 pass natively"), "{text}");
    let calls = fs::read_to_string(trees.0.path().join("calls")).expect("calls");
    assert_eq!(calls, "up\nrun\nrun\nrun\ndown\n");

    let (output, text) = trees.run(&[&start[..], &["sa*01", "fewer*"]].concat());
    assert!(output.status.success() && text.contains("2 tests, 1 differ, 0 pass natively"), "{text}");

    // a partition that does not come up again ends the turns; what ran is shown
    let broken = "[ \"$1\" != up ] || [ ! -e calls ] || exit 3";
    trees.program("programs/tacet", &format!("{broken}\n{TACET}"));
    fs::remove_file(trees.0.path().join("calls")).expect("calls");
    let (output, text) = trees.run(&start);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("2 tests, 1 differ, 1 pass natively") && text.contains("3 tests did not run twice"),
        "{text}"
    );
}

#[test]
fn wrong_use_is_one_line() {
    let trees = Trees::new();
    for (words, says) in [
        (vec!["lulesh.sh"], "--tree: missing"),
        (vec!["imb.sh", "--tree"], "its value is missing"),
        (vec!["npb.sh", "--tree", "tree"], "bt.S.x: not built"),
        (vec!["lulesh.sh", "--tree", "nowhere"], "nowhere: no such directory"),
        (vec!["ltp.sh", "--tree", "programs"], "programs: no testcases/bin there"),
        (vec!["ltp.sh", "--tree", "tree", "--file", "fs"], "runtest/fs: no such runtest file"),
        (vec!["ltp.sh", "--tree", "tree", "--limit", "1m"], "--limit: 1m is not a number of seconds"),
        (vec!["ltp.sh", "--tree", "tree", "absent*"], "no test of it that is built has a name like: absent*"),
        (vec!["lulesh.sh", "--tree", "tree", "--sise", "3"], "--sise: no such option"),
    ] {
        let (output, text) = trees.run(&words);
        assert!(
            output.status.code() == Some(2) && text.lines().count() == 1 && text.contains(says),
            "{words:?}: {text}"
        );
    }
    trees.program("tree/lulesh2.0", "echo nothing; exit 3");
    let (output, text) = trees.run(&["lulesh.sh", "--tree", "tree", "--here", "--cpus", "0"]);
    assert!(!output.status.success() && text.contains("native run 1 of") && text.contains("nothing"), "{text}");
}
