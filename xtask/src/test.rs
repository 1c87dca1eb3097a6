// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every check and every test, in the order in which a mistake is cheapest to find: what needs no node first.
//!
//! `make test` runs what shows most for its time, `make test-more` the rest, `FULL=1 make test` everything.
//!
//! By default a test that boots a node runs on one kernel line, and `FULL=1` runs it on all. The lines are named to the
//! tests in `TACET_TEST_KERNEL`. Each part has a budget for two idle cores, as it is in a clone in which nothing was built.
//! With `--quick`, once all is built, it is 3 minutes. These are aims: a part that takes longer is named, and fails nothing.
//! The commands that nodes execute are those that the tests are built with (`FULL=1`: a user's, for release).

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tacet_node::accelerator::VARIABLE;
use tacet_node::{Cache, Kernel, KernelLine, provision};

use crate::command::{cargo, program, run};
use crate::setup::FREESTANDING;
use crate::tally::{Budgets, Part, Tally};
use crate::{Result, build, docs, kernels, miri, notebook, page, quality, top};

/// The co-kernel's crates: some exist only freestanding, others have parts that do.
const KERNEL: [&str; 6] =
    ["tacet-arch", "tacet-core", "tacet-host-linux", "tacet-host-static", "tacet-image", "tacet-image-static"];

const CHECKS: Part = Part::new("checks", [10, 10, 0, 10]);
const LINTS: Part = Part::new("lints of the co-kernel", [10, 20, 0, 20]);
const UNIT_TESTS: Part = Part::new("lints and unit tests", [130, 400, 0, 400]);
const MIRI: Part = Part::new("unit tests under Miri", [0, 0, 0, 900]);
const NOTEBOOK: Part = Part::new("the example notebook", [0, 0, 0, 150]);
const BUILDS: Part = Part::new("builds", [0, 200, 40, 340]);
const NODES: Part = Part::new("node library and exact measuring", [0, 0, 800, 1010]);
const STATIC: Part = Part::new("programs on static nodes", [0, 100, 220, 320]);
const SCENARIOS: Part = Part::new("scenarios", [0, 340, 1500, 4 * 3600]);

/// The tests that boot nodes of their own: package and test.
const ON_NODES: [(&str, &str); 7] = [
    ("tacet-noise", "exact"),
    ("tacet-node", "node"),
    ("tacet-node", "cluster"),
    ("tacet-node", "slurm"),
    ("tacet-node", "slurm_22_05"),
    (COMMAND, TYPED),
    (COMMAND, "ended"),
];
const COMMAND: &str = "tacet-cli";
/// The test that types what the pages show.
const TYPED: &str = "typed";
/// The line on which they run by default, and the only one on which reproducibility is tested: that costs minutes, and the
/// emulator does more for it than the kernel.
const REPRODUCED: KernelLine = KernelLine::V6_12;
/// In the names of the tests of reproducibility.
const REPRODUCIBLE: &str = "reproducible";
/// [`tacet_node::Node::boot`] names each repeated boot in this file.
const REPEATS: &str = "build/test-repeats";
/// Clippy's arguments for [`linted`].
const DENY: &str = "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";
/// Which part of their tests the runners of nodes run.
const PART: &str = "TACET_TEST_PART";
/// Which half of `make test-more` runs, 1 or 2: the runner of scenarios reads it too. Without it all runs.
const HALF: &str = "TACET_TEST_HALF";

/// What a run of the tests has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Without nodes.
    Quick,
    /// `make test`.
    First,
    /// `make test-more`.
    More,
    Full,
}

/// `make test`: checks, lints and unit tests, and the first part of what runs on nodes.
pub fn test(quick: bool, named: &[String]) -> Result<()> {
    let full = std::env::var("FULL").is_ok_and(|value| value == "1");
    let (extent, budgets) = match (quick, full) {
        (true, _) => (Extent::Quick, Budgets::Quick),
        (false, true) => (Extent::Full, Budgets::Full),
        (false, false) => (Extent::First, Budgets::Usual),
    };
    let mut tally = Tally::new(budgets);
    tally.part(&CHECKS, checks);
    tally.part(&LINTS, lints);
    tally.part(&UNIT_TESTS, |tally| {
        // a compiler may be silent for longer than a test may
        tally.check("the unit tests' programs", || run(linted().args(["test", "--quiet", "--no-run"])));
        tally.runner(linted().args(["test", "--quiet", "--no-fail-fast"]));
    });
    // another toolchain, Python's packages, and minutes
    if full {
        tally.part(&MIRI, |tally| tally.check("miri", miri::miri));
        tally.part(&NOTEBOOK, |tally| tally.check("notebook", notebook::notebook));
    }
    if extent != Extent::Quick {
        on_nodes(&mut tally, named, extent)?;
    }
    tally.end()
}

/// `make test-more`: what `make test` leaves for its time's sake. In a half, every second of the tests that boot nodes of
/// their own and every second scenario; the programs on static nodes run in both.
pub fn more(named: &[String]) -> Result<()> {
    let mut tally = Tally::new(Budgets::More);
    on_nodes(&mut tally, named, Extent::More)?;
    tally.end()
}

fn checks(tally: &mut Tally) {
    tally.check("format", || run(cargo().args(["fmt", "--all", "--check"])));
    tally.check("quality", || quality::quality(false));
    tally.check("page", || page::page(true));
    tally.check("documents", || docs::docs(true));
}

/// The co-kernel's, which no test of this host compiles: [`linted`] has all others.
fn lints(tally: &mut Tally) {
    let packages = KERNEL.iter().flat_map(|package| ["--package", package]);
    let freestanding = ["clippy", "--quiet", "--target", FREESTANDING];
    let deny = ["--", "--deny", "warnings"];
    tally.check("lints of the co-kernel", || run(cargo().args(freestanding).args(packages).args(deny)));
}

/// Cargo with Clippy in the compiler's place: one build lints and makes the tests. `cargo clippy` tells Clippy its arguments
/// in the same way.
fn linted() -> Command {
    let mut command = cargo();
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("CLIPPY_ARGS", DENY);
    command
}

fn on_nodes(tally: &mut Tally, named: &[String], extent: Extent) -> Result<()> {
    let cache = Cache::open()?;
    provision::ensure(&cache)?;
    let kernels = kernels::chosen(&cache, named)?;
    tally.part(&BUILDS, |tally| builds(tally, &cache, &kernels, extent));
    let repeats = top().join(REPEATS);
    if repeats.exists() {
        fs::remove_file(&repeats)?;
    }
    if extent != Extent::First {
        let mut commands = on_each(&kernels, extent == Extent::Full);
        if let Some(half) = half()? {
            commands = commands.into_iter().skip(half - 1).step_by(2).collect();
        }
        tally.part(&NODES, |tally| tally.runners(commands));
    }
    let of_static = ["test", "--quiet", "--package", "tacet-static-tests"];
    tally.part(&STATIC, |tally| tally.runner(of_part(extent, emulated(linted().args(of_static)))));
    let lines: Vec<String> = kernels.iter().map(|kernel| kernel.line.to_string()).collect();
    let scenarios = ["test", "--quiet", "--package", "tacet-scenarios"];
    tally.part(&SCENARIOS, |tally| {
        let mut command = linted();
        of_part(extent, emulated(command.args(scenarios)));
        tally.runner(repeats_to(&repeats, &mut command).env("TACET_TEST_KERNEL", lines.join(",")));
    });
    for line in fs::read_to_string(&repeats).unwrap_or_default().lines() {
        tally.flaky(line.to_owned());
    }
    Ok(())
}

fn half() -> Result<Option<usize>> {
    match std::env::var(HALF).as_deref() {
        Err(_) => Ok(None),
        Ok("1") => Ok(Some(1)),
        Ok("2") => Ok(Some(2)),
        Ok(other) => Err(format!("{HALF}: {other:?} is no half: 1 or 2").into()),
    }
}

/// Names the part to a runner that has both; with everything, both run.
fn of_part(extent: Extent, command: &mut Command) -> &mut Command {
    match extent {
        Extent::First => command.env(PART, "first"),
        Extent::More => command.env(PART, "more"),
        Extent::Quick | Extent::Full => command,
    }
}

/// The command is that of a user only with [`Extent::Full`]: otherwise the tests' own build of it saves minutes.
fn builds(tally: &mut Tally, cache: &Cache, kernels: &[Kernel], extent: Extent) {
    tally.check("command", || if extent == Extent::Full { build::command() } else { build::command_with(linted()) });
    tally.check("co-kernel", build::co_kernel);
    tally.check("image for static nodes", build::static_image);
    tally.check("test programs", build::user_programs);
    tally.check("test programs for static nodes", build::static_programs);
    for kernel in kernels {
        let module = || build::module(cache, kernel, &["W=1"]).and_then(without_warnings);
        tally.check(&format!("module for {}", kernel.release), module);
    }
}

/// The tests that boot nodes of their own, on their default line (or the first that was chosen), or on each line. Those of
/// reproducibility are commands of their own, so that the two lanes end together.
fn on_each(kernels: &[Kernel], full: bool) -> Vec<Command> {
    let home = kernels.iter().position(|kernel| kernel.line == REPRODUCED).unwrap_or(0);
    let (skipped, taken) = if full { (0, kernels.len()) } else { (home, 1) };
    let lines = || kernels.iter().skip(skipped).take(taken).map(|kernel| kernel.line);
    let of = |line, words: &'static [&str]| ON_NODES.map(|(package, test)| on_node(package, test, line, words));
    let mut reproduced: Vec<Command> =
        lines().filter(|line| *line == REPRODUCED).flat_map(|line| of(line, &[REPRODUCIBLE])).collect();
    // those of the command repeat nothing
    reproduced.retain(|command| command.get_args().all(|word| word != COMMAND));
    reproduced.into_iter().chain(lines().flat_map(|line| of(line, &["--skip", REPRODUCIBLE]))).collect()
}

fn on_node(package: &str, test: &str, line: KernelLine, words: &[&str]) -> Command {
    let mut command = linted();
    command.args(["test", "--quiet", "--package", package, "--test", test]);
    command.args(["--", "--include-ignored", "--test-threads=1"]).args(words);
    repeats_to(&top().join(REPEATS), emulated(&mut command)).env("TACET_TEST_KERNEL", line.to_string());
    command
}

/// What this machine's KVM does must not decide a test; a person may want it all the same.
pub fn emulated(command: &mut Command) -> &mut Command {
    if std::env::var_os(VARIABLE).is_none() {
        command.env(VARIABLE, "tcg");
    }
    command
}

fn repeats_to<'a>(file: &PathBuf, command: &'a mut Command) -> &'a mut Command {
    command.env("TACET_TEST_REPEATS", file)
}

/// The module builds without a word; what it said at the last full build counts until its source changes.
pub fn without_warnings(objects: PathBuf) -> Result<()> {
    let log = fs::read_to_string(objects.join("build.log"))?;
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
