// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs the tests of the co-kernel's pure part under Miri. Miri interprets Rust and stops at the first access that breaks
//! its rules. It takes a thousand times as long, so the tests do less of each under it (`cfg!(miri)`).
//!
//! Called by `cargo xtask miri`, and by `test` with `FULL=1`.

use crate::Result;
use crate::command::{program, run};
use crate::setup::on_path;

/// Of one day, so that a newer toolchain cannot change the result.
const TOOLCHAIN: &str = "nightly-2026-10-01";
const PACKAGE: &str = "tacet-logic";
/// Not `paging`: its shortest history takes minutes under Miri. Not `mirrored`: loom searches it.
const TESTS: [&str; 2] = ["--lib", "--test=frames"];

pub fn miri() -> Result<()> {
    install()?;
    let cargo = ["run", TOOLCHAIN, "cargo", "miri", "test", "--quiet", "--target-dir=target/miri"];
    let mut command = program("rustup");
    command.args(cargo).args(["--package", PACKAGE]).args(TESTS);
    // tests ask the host for the time and for the failures of earlier runs; they leak what a kernel keeps until it ends
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks");
    // these name the toolchain that runs xtask, which is another one
    run(command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC"))
}

fn install() -> Result<()> {
    if !on_path("rustup") {
        return Err(
            format!("miri: it is part of Rust's {TOOLCHAIN} only: install rustup, see https://rustup.rs").into()
        );
    }
    let toolchain = ["toolchain", "install", TOOLCHAIN, "--profile=minimal", "--component=miri,rust-src"];
    run(program("rustup").args(toolchain))
}
