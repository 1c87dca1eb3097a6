// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program started by `execute` inherits what it would inherit without it: every test compares it with the same
//! program started directly.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// `examples/become`, which cargo builds before it runs tests.
fn become_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(|deps| deps.parent()).unwrap().join("examples/become")
}

/// Runs a shell line in which `$BECOME` stands before the program.
fn shell(line: &str, between: &str) -> Output {
    let line = line.replace("$BECOME", between);
    Command::new("sh").args(["-c", &line]).output().unwrap()
}

/// Runs the line with and without `become`; both must give the same result.
fn same(line: &str) -> Output {
    let with = shell(line, &become_program().display().to_string());
    let without = shell(line, "");
    assert_eq!(with, without, "{line}");
    with
}

#[test]
fn status_and_signals_are_the_programs_own() {
    assert_eq!(same("exec $BECOME sh -c 'exit 42'").status.code(), Some(42));
    assert_eq!(same("exec $BECOME sh -c 'kill -9 $$'").status.signal(), Some(9));
    same("$BECOME sh -c 'echo out; echo err >&2'");
    same("echo in | $BECOME cat");
}

#[test]
fn signal_dispositions_are_inherited() {
    // Not SigQ: it counts for the whole user.
    for trap in ["true", "trap '' PIPE", "trap '' HUP INT"] {
        let output = same(&format!("{trap}; exec $BECOME grep '^Sig[BIC]' /proc/self/status"));
        assert!(String::from_utf8_lossy(&output.stdout).contains("SigIgn"));
    }
}

#[test]
fn descriptors_are_inherited_and_no_other_is_added() {
    same("exec $BECOME ls /proc/self/fd");
    same("exec $BECOME ls /proc/self/fd 7</dev/null");
    same("exec $BECOME ls /proc/self/fd <&-");
    same("exec $BECOME sh -c 'ls /proc/self/fd >&2' 0<&- 1>&-");
}

#[test]
fn environment_and_limits_are_inherited() {
    assert_eq!(same("exec env -i A=1 B= $BECOME /usr/bin/env").stdout, b"A=1\nB=\n");
    same("ulimit -c 0; umask 027; exec $BECOME sh -c 'umask; cat /proc/self/limits'");
    same("exec $BECOME sh -c 'ps -o comm= $$ || true; cat /proc/$$/cmdline'");
}

#[test]
fn a_script_without_a_first_line_is_the_shells() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    std::fs::write(&script, "echo script $1\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = same(&format!("PATH={}:$PATH; $BECOME script 7", dir.path().display()));
    assert_eq!(output.stdout, b"script 7\n");
}

#[test]
fn failures_have_the_shells_status_and_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let make = |name: &str, text: &str, mode: u32| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.display().to_string()
    };
    let plain = make("plain", "text", 0o644);
    let orphan = make("orphan", "#!/nonexistent/interpreter\n", 0o755);
    let directory = dir.path().display().to_string();
    for (program, status, cause) in [
        ("tacet-no-such-program", 127, "not found"),
        ("/tacet/no/such/program", 127, "not found"),
        (orphan.as_str(), 127, "its interpreter does not exist"),
        (plain.as_str(), 126, "permission denied"),
        (directory.as_str(), 126, "permission denied"),
    ] {
        let output = Command::new(become_program()).arg(program).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{error}");
        assert!(error.starts_with(&format!("become: {program}: {cause}; ")), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
