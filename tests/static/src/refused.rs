// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bad input gets one line with the object, the cause and the remedy, and the right status.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::Result;
use crate::case::Case;
use crate::nodes::Nodes;
use crate::place::program;
use crate::{process, real};

pub fn cases() -> Vec<Case> {
    vec![
        Case::shared("refuses what is no program", refuses_what_is_no_program),
        Case::shared("refuses what is too large", refuses_what_is_too_large),
        Case::shared("refuses other nodes than the booted ones", refuses_other_nodes),
    ]
}

fn refuses_what_is_no_program(nodes: &Nodes) -> Result<()> {
    let scratch = real::scratch()?;
    let write = |name: &str, bytes: &[u8]| {
        let path = scratch.path().join(name);
        fs::write(&path, bytes).and_then(|()| fs::set_permissions(&path, PermissionsExt::from_mode(0o755)))?;
        Ok(path.display().to_string())
    };
    let text = |error: std::io::Error| error.to_string();
    let script = write("script", b"#!/bin/sh\n").map_err(text)?;
    let mut other = fs::read(program("hello-static")).map_err(text)?;
    other[18] = 183;
    let other = write("arm", &other).map_err(text)?;
    fails(nodes, &[], "/nowhere/program", 127, "/nowhere/program: no such file")?;
    fails(nodes, &[], "no-such-program", 127, "no-such-program: it is not found along PATH")?;
    fails(nodes, &[], &script, 126, "it is a script; name its interpreter")?;
    fails(nodes, &[], &other, 126, "ELF machine 183")?;
    fails(nodes, &[], "/etc/passwd", 126, "/etc/passwd: it is not executable")
}

fn refuses_what_is_too_large(nodes: &Nodes) -> Result<()> {
    let hello = program("hello-static");
    fails(nodes, &["--memory", "4G"], &hello, 125, "on a node of 512 MiB: heap of process 0: ")?;
    fails(nodes, &["--shared", "1G"], &hello, 125, "shared memory: ")
}

fn refuses_other_nodes(nodes: &Nodes) -> Result<()> {
    let hello = program("hello-static");
    fails(nodes, &["--cpus", "2"], &hello, 125, "--cpus: ")?;
    fails(nodes, &["--nodes", "9"], &hello, 125, "--nodes 9: ")
}

fn fails(nodes: &Nodes, flags: &[&str], word: &str, status: i32, words: &str) -> Result<()> {
    let ended = process::run(&mut nodes.run(flags, &[word]), b"")?;
    let error = ended.error_text();
    let good = ended.status == status && error.lines().count() == 1 && error.contains(words) && ended.stdout.is_empty();
    if good { Ok(()) } else { Err(format!("{word}: status {}, expected `{words}`: {error}", ended.status)) }
}
