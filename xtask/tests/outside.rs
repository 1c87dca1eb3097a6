// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scripts of tests/outside on trees of stand-ins: programs that print what LULESH, NPB and IMB print, and a `tacet` that
//! only marks what it hosts. So the scripts' order, the figures' arithmetic and the refusals are tested; nothing is measured.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

const TACET: &str = "case $1 in node) shared=; while [ \"$1\" != -- ]; do [ \"$1\" != --share ] || echo \"$2\" >>shared; shift; done; shift; exec \"$@\" ;; esac
case $1 in up | down) echo \"$1\" >>calls ;; run) shift 2; echo run >>calls; HOSTED=1 exec env HOSTED=1 \"$@\" ;; esac";
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

struct Trees(tempfile::TempDir);

impl Trees {
    fn new() -> Trees {
        let trees = Trees(tempfile::tempdir().expect("a folder"));
        trees.program("programs/tacet", TACET);
        trees.program("programs/mpirun", "shift 2; exec \"$@\"");
        trees.program("tree/lulesh2.0", LULESH);
        trees.program("tree/bin/ep.S.x", NPB);
        trees.program("tree/IMB-MPI1", IMB);
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

#[test]
fn wrong_use_is_one_line() {
    let trees = Trees::new();
    for (words, says) in [
        (vec!["lulesh.sh"], "--tree: missing"),
        (vec!["imb.sh", "--tree"], "its value is missing"),
        (vec!["npb.sh", "--tree", "tree"], "bt.S.x: not built"),
        (vec!["lulesh.sh", "--tree", "nowhere"], "nowhere: no such directory"),
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
