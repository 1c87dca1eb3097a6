// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compares the scheduler's placement, with the code that is compiled for the kernel, with a model: random machines,
//! random tasks.

use std::path::Path;
use std::process::Command;

#[test]
fn placement_agrees_with_the_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("place");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/place.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-parameter"];
    let built = Command::new(compiler).args(flags).arg(source).arg("-o").arg(&program).status().expect("a compiler");
    assert!(built.success());
    let seed = std::env::var("SEED").unwrap_or_else(|_| std::process::id().to_string());
    let done = Command::new(&program).args([&seed, "200"]).output().expect("it runs");
    assert!(done.status.success(), "seed {seed}: {}", String::from_utf8_lossy(&done.stdout));
}
