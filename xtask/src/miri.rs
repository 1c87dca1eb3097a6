// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The co-kernel's pure half under Miri, which executes Rust by its rules and ends at the first access that breaks one:
//! its tests, with less of each (they ask `cfg!(miri)`), because it takes a thousand times as long.
//!
//! Called by `cargo xtask miri`, and by `test` where everything is asked for.

use crate::Result;
use crate::command::{program, run};
use crate::setup::on_path;

/// Of this day, so that what passes once passes again.
const TOOLCHAIN: &str = "nightly-2026-10-01";
const PACKAGE: &str = "tacet-logic";
/// Not `paging`, whose shortest history takes minutes so; not `mirrored`: what loom searches is executed by loom.
const TESTS: [&str; 2] = ["--lib", "--test=frames"];

pub fn miri() -> Result<()> {
    install()?;
    let cargo = ["run", TOOLCHAIN, "cargo", "miri", "test", "--quiet", "--target-dir=target/miri"];
    let mut command = program("rustup");
    command.args(cargo).args(["--package", PACKAGE]).args(TESTS);
    // of the host, tests ask the time, and where failures of earlier runs are kept; what is there from the boot to the end
    // in a kernel they leak
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks");
    // what runs us is another toolchain's
    run(command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC"))
}

fn install() -> Result<()> {
    if !on_path("rustup") {
        return Err(format!("miri: comes with Rust's {TOOLCHAIN} only: install rustup, see https://rustup.rs").into());
    }
    let toolchain = ["toolchain", "install", TOOLCHAIN, "--profile=minimal", "--component=miri,rust-src"];
    run(program("rustup").args(toolchain))
}
