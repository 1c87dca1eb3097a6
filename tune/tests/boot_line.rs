// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The boot line on directories that look like Debian's and Fedora's, with stand-ins for update-grub and grubby that note how
//! they were called, and can fail.

mod fake;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use fake::Fake;

const FILE: &str = "/etc/default/grub.d/tacet.cfg";
const CLAIM: [&str; 4] = ["--cpus", "4-7", "--only", "tick"];

fn tune(node: &Fake, words: &[&str]) -> Output {
    let root = node.root().display().to_string();
    Command::new(env!("CARGO_BIN_EXE_tacet-tune"))
        .args(["--root", &root, "boot-line"])
        .args(words)
        .output()
        .expect("it runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn done(node: &Fake, words: &[&str]) -> String {
    let output = tune(node, words);
    assert!(output.status.success(), "{words:?}: {}", said(&output));
    said(&output)
}

/// A machine with this tool, which appends its words to /calls, and fails if there is a file /broken.
fn with(tool: &str) -> Fake {
    let node = Fake::node();
    node.set("/sys/devices/system/cpu/nohz_full", "\n");
    node.set("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"quiet\"\n");
    let root = node.root().display().to_string();
    let script =
        format!("#!/bin/sh\necho \"$*\" >>{root}/calls\n[ ! -e {root}/broken ] || {{ echo no room >&2; exit 1; }}\n");
    node.set(tool, &script);
    fs::set_permissions(node.root().join(tool.trim_start_matches('/')), fs::Permissions::from_mode(0o755))
        .expect("executable");
    node
}

fn calls(node: &Fake) -> String {
    let calls = fs::read_to_string(node.root().join("calls")).unwrap_or_default();
    fs::remove_file(node.root().join("calls")).ok();
    calls
}

#[test]
fn debian_there_and_back() {
    let node = with("/usr/sbin/update-grub");
    let before = node.snapshot();
    assert_eq!(done(&node, &CLAIM), "nohz_full=4-7 rcu_nocbs=4-7\n");
    let would = done(&node, &[&CLAIM[..], &["--write", "--dry-run"]].concat());
    assert!(would.starts_with("would be written: nohz_full=4-7 rcu_nocbs=4-7"), "{would}");
    assert_eq!(node.differs(&before), None, "a dry run");
    done(&node, &[&CLAIM[..], &["--write"]].concat());
    assert!(node.get(FILE).ends_with("\nGRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX nohz_full=4-7 rcu_nocbs=4-7\"\n"));
    assert_eq!(node.get("/etc/default/grub"), "GRUB_CMDLINE_LINUX=\"quiet\"\n", "the site's own file");
    assert_eq!(calls(&node), "\n");
    // the same again: nothing to do
    assert_eq!(done(&node, &[&CLAIM[..], &["--write"]].concat()), "nothing to change\n");
    // booted with it, the plan lacks nothing, and nothing is lost
    node.set("/proc/cmdline", "root=/dev/vda quiet nohz_full=4-7 rcu_nocbs=4-7\n");
    node.set("/sys/devices/system/cpu/nohz_full", "4-7\n");
    assert_eq!(done(&node, &[&CLAIM[..], &["--write"]].concat()), "nothing to change\n");
    // other CPUs take the place of these
    done(&node, &["--cpus", "2-7", "--only", "tick", "--write"]);
    assert!(node.get(FILE).contains("LINUX nohz_full=2-7 rcu_nocbs=2-7\""), "{}", node.get(FILE));
    done(&node, &["--undo"]);
    assert!(!node.root().join(FILE.trim_start_matches('/')).exists());
    assert_eq!(calls(&node), "\n\n");
    assert_eq!(done(&node, &["--undo"]), "nothing to change\n");
}

#[test]
fn fedora_there_and_back() {
    let node = with("/usr/sbin/grubby");
    done(&node, &[&CLAIM[..], &["--write"]].concat());
    assert_eq!(calls(&node), "--update-kernel=ALL --args=nohz_full=4-7 rcu_nocbs=4-7\n");
    done(&node, &["--undo"]);
    assert_eq!(calls(&node), "--update-kernel=ALL --remove-args=nohz_full=4-7 rcu_nocbs=4-7\n");
    assert!(!node.root().join("etc/default/grub.d").exists());
}

/// The status is that of something undone, and a later `--undo` has nothing to do.
#[test]
fn a_tool_that_fails_leaves_the_line_as_it_was() {
    for tool in ["/usr/sbin/update-grub", "/usr/sbin/grubby"] {
        let node = with(tool);
        node.set("/broken", "");
        let output = tune(&node, &[&CLAIM[..], &["--write"]].concat());
        let status = output.status.code();
        assert!(said(&output).contains("it failed: no room"), "{}", said(&output));
        assert!(!node.root().join(FILE.trim_start_matches('/')).exists(), "{tool}");
        let debian = tool.ends_with("update-grub");
        // grubby cannot take back what it did either: the words are remembered, for --undo
        assert_eq!(status, Some(if debian { 4 } else { 3 }), "{tool}");
        fs::remove_file(node.root().join("broken")).expect("repaired");
        let undone = done(&node, &["--undo"]);
        assert_eq!(undone == "nothing to change\n", debian, "{tool}: {undone}");
    }
}

#[test]
fn what_others_wrote_is_theirs() {
    let node = with("/usr/sbin/update-grub");
    node.set("/proc/cmdline", "root=/dev/vda nohz_full=7\n");
    node.set("/sys/devices/system/cpu/nohz_full", "7\n");
    let output = tune(&node, &[&CLAIM[..], &["--write"]].concat());
    assert_eq!(output.status.code(), Some(3));
    let line = said(&output);
    assert!(line.contains("the boot line has nohz_full=7 already, which somebody else wrote"), "{line}");
    assert_eq!(calls(&node), "");
    let node = Fake::node();
    node.set("/sys/devices/system/cpu/nohz_full", "\n");
    let output = tune(&node, &[&CLAIM[..], &["--write"]].concat());
    assert!(
        output.status.code() == Some(3) && said(&output).contains("neither update-grub nor grubby"),
        "{}",
        said(&output)
    );
}
