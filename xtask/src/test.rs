// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every check and every test, in the order in which a mistake is cheapest to find.
//!
//! The node library's tests run once for each kernel line, the scenarios of tests/node once for all of them; the lines
//! are named to both in `TACET_TEST_KERNEL`.

use std::process::Command;

use tacet_node::{Cache, Kernel, KernelLine, provision};

use crate::command::{cargo, program, run};
use crate::setup::FREESTANDING;
use crate::tally::Tally;
use crate::{Result, build, kernels, miri, page, quality, top};

/// The co-kernel's crates: some exist only freestanding, others have parts that do.
const KERNEL: [&str; 4] = ["tacet-arch", "tacet-core", "tacet-host-linux", "tacet-image"];

/// The line on which reproducibility is tested: it costs minutes, and is the emulator's doing more than the kernel's.
const REPRODUCED: KernelLine = KernelLine::V6_12;

pub fn test(quick: bool, named: &[String]) -> Result<()> {
    let mut tally = Tally::default();
    tally.check("format", || run(cargo().args(["fmt", "--all", "--check"])));
    tally.check("quality", || quality::quality(false));
    tally.check("page", || page::page(true));
    lints(&mut tally);
    tally.runner(cargo().args(["test", "--quiet", "--no-fail-fast"]));
    // minutes, and another toolchain
    if std::env::var("FULL").is_ok_and(|value| value == "1") {
        tally.check("miri", miri::miri);
    }
    if !quick {
        on_nodes(&mut tally, named)?;
    }
    tally.end()
}

fn lints(tally: &mut Tally) {
    let deny = ["--", "--deny", "warnings"];
    tally.check("lints", || run(cargo().args(["clippy", "--quiet", "--all-targets"]).args(deny)));
    let packages = KERNEL.iter().flat_map(|package| ["--package", package]);
    let freestanding = ["clippy", "--quiet", "--target", FREESTANDING];
    tally.check("lints of the co-kernel", || run(cargo().args(freestanding).args(packages).args(deny)));
}

fn on_nodes(tally: &mut Tally, named: &[String]) -> Result<()> {
    let cache = Cache::open()?;
    provision::ensure(&cache)?;
    tally.check("command", build::command);
    tally.check("co-kernel", build::co_kernel);
    tally.check("test programs", build::user_programs);
    let kernels = kernels::chosen(&cache, named)?;
    for kernel in &kernels {
        let module = || build::module(&cache, kernel, &["W=1"]).and_then(without_warnings);
        tally.check(&format!("module for {}", kernel.release), module);
    }
    tally.runners(on_each(&kernels));
    let lines: Vec<String> = kernels.iter().map(|kernel| kernel.line.to_string()).collect();
    let scenarios = ["test", "--quiet", "--package", "tacet-scenarios"];
    tally.runner(cargo().args(scenarios).env("TACET_TEST_KERNEL", lines.join(",")));
    Ok(())
}

/// The tests that boot nodes of their own; the slow ones first.
fn on_each(kernels: &[Kernel]) -> Vec<Command> {
    let mut commands = Vec::new();
    for (package, test) in [("tacet-noise", "exact"), ("tacet-node", "node")] {
        for kernel in kernels {
            let mut command = cargo();
            command.args(["test", "--quiet", "--package", package, "--test", test]);
            command.args(["--", "--include-ignored", "--test-threads=1"]);
            if kernel.line != REPRODUCED {
                command.args(["--skip", "reproducible"]);
            }
            command.env("TACET_TEST_KERNEL", kernel.line.to_string());
            commands.push(command);
        }
    }
    commands
}

/// The module builds without a word; what it said at the last full build counts until its source changes.
fn without_warnings(objects: std::path::PathBuf) -> Result<()> {
    let log = std::fs::read_to_string(objects.join("build.log"))?;
    match log.lines().find(|line| line.contains("warning:")) {
        Some(line) => Err(line.trim().to_owned().into()),
        None => Ok(()),
    }
}

/// For benches and demos: everything built.
pub fn built() -> Result<()> {
    build::build()?;
    run(program(top().join("build/bin/tacet")).arg("--version"))
}
