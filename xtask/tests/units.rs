// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The units that the packages install: `install.sh` installs each, none is enabled, each command is one that the family has,
//! and systemd accepts them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn units() -> Vec<(String, String)> {
    let entries = fs::read_dir(top().join("packaging/systemd")).expect("units");
    let units = entries.map(|entry| {
        let entry = entry.expect("a unit");
        (entry.file_name().into_string().expect("a name"), fs::read_to_string(entry.path()).expect("a unit"))
    });
    units.collect()
}

fn values<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect()
}

/// What begins also ends: by the command that the packages install, or, as a daemon, of systemd's SIGTERM.
#[test]
fn each_unit_is_installed_and_undoes_what_it_did() {
    let (script, units) = (fs::read_to_string(top().join("packaging/install.sh")).expect("a script"), units());
    assert!(units.len() >= 3, "{units:?}");
    for (name, unit) in &units {
        let line = format!("put 644 \"$source/packaging/systemd/{name}\" \"$etc/systemd/system/{name}\"");
        assert!(script.contains(&line), "install.sh does not install {name}");
        assert!(!script.contains("systemctl enable"), "nothing is enabled by default");
        if name == "tacet-job-sweep.timer" {
            assert_eq!(values(unit, "OnUnitActiveSec"), ["1min"]);
            continue;
        }
        let (start, stop) = (values(unit, "ExecStart"), values(unit, "ExecStop"));
        let pair = match name.as_str() {
            "tacet.service" => ("@PREFIX@/bin/tacet up", Some("@PREFIX@/bin/tacet down --force")),
            "tacet-tune.service" => ("@PREFIX@/bin/tacet tune apply", Some("@PREFIX@/bin/tacet tune undo")),
            "tacet-job-sweep.service" => ("@PREFIX@/bin/tacet job sweep", None),
            "tacet-iod.service" => {
                ("@PREFIX@/bin/tacet iod --all-users --key /var/lib/tacet-iod/nodes.key $TACET_IOD", None)
            }
            _ => panic!("{name}: this test does not know it"),
        };
        assert_eq!((start, stop), (vec![pair.0], Vec::from_iter(pair.1)), "{name}");
    }
}

#[test]
fn systemd_accepts_each_unit() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("systemd-analyze is not installed here: the units are not verified");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = folder.path().to_str().expect("a name");
    let program = folder.path().join("bin/tacet");
    fs::create_dir(folder.path().join("bin")).expect("a folder");
    fs::write(&program, "#!/bin/sh\n").expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    for (name, unit) in units() {
        if name.ends_with(".timer") {
            continue; // it names a unit that is not there
        }
        let path = folder.path().join(&name);
        let verify = |unit: &str| {
            fs::write(&path, unit.replace("@PREFIX@", prefix)).expect("a unit");
            let output =
                Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output().expect("output");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            said.lines().filter(|line| line.contains(&name)).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(verify(&unit), Vec::<String>::new());
        assert_ne!(verify(&unit.replace("Type=", "Typ=")), Vec::<String>::new(), "it sees a wrong key");
    }
}
