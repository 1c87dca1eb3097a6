// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every check and every test, in the order in which a mistake is cheapest to find.
//!
//! The node library's tests run once for each kernel line, the scenarios of tests/node once for all of them; the lines
//! are named to both in `TACET_TEST_KERNEL`.

use tacet_node::{Cache, KernelLine, provision};

use crate::command::{cargo, program, run};
use crate::setup::FREESTANDING;
use crate::tally::Tally;
use crate::{Result, build, kernels, quality, top};

/// Crates that exist only freestanding.
const KERNEL: [&str; 3] = ["tacet-core", "tacet-image", "tacet-metal"];

/// The line on which reproducibility is tested: it costs minutes, and is the emulator's doing more than the kernel's.
const REPRODUCED: KernelLine = KernelLine::V6_12;

pub fn test(quick: bool, named: &[String]) -> Result<()> {
    let mut tally = Tally::default();
    tally.check("format", run(cargo().args(["fmt", "--all", "--check"])));
    tally.check("quality", quality::quality(false));
    lints(&mut tally);
    tally.runner(cargo().args(["test", "--quiet", "--no-fail-fast"]));
    if !quick {
        on_nodes(&mut tally, named)?;
    }
    tally.end()
}

fn lints(tally: &mut Tally) {
    let deny = ["--", "--deny", "warnings"];
    tally.check("lints", run(cargo().args(["clippy", "--quiet", "--all-targets"]).args(deny)));
    let packages = KERNEL.iter().flat_map(|package| ["--package", package]);
    let freestanding = ["clippy", "--quiet", "--target", FREESTANDING];
    tally.check("lints of the co-kernel", run(cargo().args(freestanding).args(packages).args(deny)));
}

fn on_nodes(tally: &mut Tally, named: &[String]) -> Result<()> {
    let cache = Cache::open()?;
    provision::ensure(&cache)?;
    tally.check("command", build::command());
    tally.check("co-kernel", build::co_kernel());
    tally.check("test programs", build::user_programs());
    let kernels = kernels::chosen(&cache, named)?;
    for kernel in &kernels {
        let built = build::module(&cache, kernel, &["W=1"]).and_then(without_warnings);
        tally.check(&format!("module for {}", kernel.release), built);
    }
    for kernel in &kernels {
        let mut command = cargo();
        command.args(["test", "--quiet", "--package", "tacet-node", "--test", "node"]);
        command.args(["--", "--include-ignored", "--test-threads=1"]);
        if kernel.line != REPRODUCED {
            command.args(["--skip", "reproducible"]);
        }
        tally.runner(command.env("TACET_TEST_KERNEL", kernel.line.to_string()));
    }
    let lines: Vec<String> = kernels.iter().map(|kernel| kernel.line.to_string()).collect();
    let scenarios = ["test", "--quiet", "--package", "tacet-scenarios"];
    tally.runner(cargo().args(scenarios).env("TACET_TEST_KERNEL", lines.join(",")));
    Ok(())
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
