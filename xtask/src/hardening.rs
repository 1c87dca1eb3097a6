// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `make hardening`: the scenarios of processes, memory, faults and fast paths on a kernel that checks itself.
//!
//! Owns what a part is, and the table of `docs/conformance.md`. The kernel is built once ([`provision::debug`]); the runner
//! of the scenarios is that of `make test`, which fails a scenario after which the kernel's log has a report.

use std::fs;
use std::time::Duration;

use clap::ValueEnum;
use tacet_node::{Cache, Kernel, KernelLine, provision};

use crate::command::{cargo, program};
use crate::ran::Ran;
use crate::{Result, build, test, top};

/// Where results are written.
const PAGE: &str = "docs/conformance.md";
/// The lines around the table there.
const BEGIN: &str = "<!-- results of make hardening -->";
const END: &str = "<!-- end of results -->";
const HEAD: &str = "| Part | Result | Kernel's source | Day |\n|---|---|---|---|\n";
/// The runner tells each scenario when it ends: the longest may take 1800 s, and more on this kernel.
const SILENCE: Duration = Duration::from_secs(2 * 3600);

/// Scenarios that are run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Programs that move, have children, execute others, are debugged and killed
    Processes,
    /// Memory of the partition, and Linux's beneath it
    Memory,
    /// A core that fails, hostile input, a partition that starts and ends
    Faults,
    /// Queues of NVMe disks
    FastPaths,
}

impl Part {
    const ALL: [Part; 4] = [Part::Processes, Part::Memory, Part::Faults, Part::FastPaths];

    /// The scripts of tests/faults, or some scenarios of one. A scenario takes ten times as long here as on another
    /// kernel: left out is what needs a larger machine, what does again with more threads or programs what another does,
    /// what shows only the co-kernel's side, where no checker looks, and machines that end.
    fn scripts(self) -> &'static [&'static str] {
        match self {
            Part::Processes => &[
                "moves.sh there_and_back",
                "moves.sh many_threads",
                "moves.sh births_and_deaths",
                "moves.sh files",
                "moves.sh children",
                "moves.sh execute",
                "debug.sh debugger",
                "debug.sh tracer",
                "debug.sh core_file",
                "kills.sh",
                "users.sh privileged",
                "users.sh namespaces",
                "suite.sh exact",
            ],
            Part::Memory => &[
                "memory.sh anonymous",
                "memory.sh rights",
                "memory.sh stacks",
                "memory.sh strangers",
                "memory.sh roomless",
                "memory.sh numbers",
                "memory.sh killed",
                "memory.sh left",
                "memory.sh core_files",
                "pressure.sh",
                "oom.sh group",
            ],
            Part::Faults => &[
                "crash.sh",
                "fuzz.sh root",
                "fuzz.sh user",
                "partition.sh choices",
                "partition.sh steps",
                "partition.sh refusals",
                "partition.sh cycles",
                "hotplug.sh foreign",
                "hotplug.sh suspend",
                "hotplug.sh unload",
            ],
            Part::FastPaths => &[
                "nvme.sh pairs",
                "nvme.sh deaf",
                "nvme.sh served",
                "nvme.sh revoked",
                "nvme.sh tables",
                "nvme.sh beside_cache",
                "nvme.sh resets",
                "nvme.sh removals",
                "nvme_life.sh namespaces",
                "nvme_flights.sh freezes",
                "nvme_virtual.sh two_functions",
            ],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Part::Processes => "processes",
            Part::Memory => "memory",
            Part::Faults => "faults",
            Part::FastPaths => "fast-paths",
        }
    }
}

/// Runs the parts, or all if none is named; those of them whose name or script contains one of `only`.
pub fn hardening(named: &[Part], only: &[String], list: bool, write: bool) -> Result<()> {
    if list {
        for part in Part::ALL {
            println!("{:10} {}", part.name(), part.scripts().join(", "));
        }
        return Ok(());
    }
    if write && !only.is_empty() {
        return Err("hardening: --write tells of whole parts, not of --only some scenarios".into());
    }
    let parts = if named.is_empty() { &Part::ALL } else { named };
    let cache = Cache::open()?;
    let kernel = provision::debug::provide(&cache)?;
    builds(&cache, &kernel)?;
    let (source, day) = (provision::debug::version(&cache)?, today()?);
    let mut rows = Vec::new();
    let mut failed = Vec::new();
    for part in parts {
        let ran = Ran::within(&mut runner(*part, only), SILENCE, |line| println!("{line}"));
        if let Some(why) = &ran.failure {
            failed.push(format!("{}: {why}", part.name()));
        }
        rows.push(row(*part, &result(&ran), &source, &day));
    }
    print!("{HEAD}{}", rows.concat());
    if write {
        let page = top().join(PAGE);
        fs::write(&page, written(&fs::read_to_string(&page)?, &rows)?)?;
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ").into()) }
}

fn builds(cache: &Cache, kernel: &Kernel) -> Result<()> {
    build::command()?;
    build::co_kernel()?;
    build::user_programs()?;
    build::module(cache, kernel, &["W=1"]).and_then(test::without_warnings)
}

fn runner(part: Part, only: &[String]) -> std::process::Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "tacet-scenarios", "--", &KernelLine::Debug.to_string()]);
    let named =
        if only.is_empty() { part.scripts().iter().map(|word| (*word).to_owned()).collect() } else { only.to_vec() };
    for word in named {
        command.args(["--only", &word]);
    }
    test::emulated(&mut command);
    command
}

fn result(ran: &Ran) -> String {
    match (&ran.failure, ran.failed) {
        (None, _) => format!("{} passed", ran.passed),
        (Some(_), 1..) => format!("{} passed, {} failed", ran.passed, ran.failed),
        (Some(why), 0) => format!("{} passed, then {why}", ran.passed),
    }
}

fn row(part: Part, result: &str, source: &str, day: &str) -> String {
    format!("| {} | {result} | linux-source-6.12 {source} | {day} |\n", part.name())
}

fn today() -> Result<String> {
    let output = program("date").args(["-u", "+%Y-%m-%d"]).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The page with these rows in the places of the same parts; the other parts keep what they have.
fn written(page: &str, rows: &[String]) -> Result<String> {
    let (before, rest) = page.split_once(BEGIN).ok_or(format!("{PAGE}: no line {BEGIN}"))?;
    let (table, after) = rest.split_once(END).ok_or(format!("{PAGE}: no line {END}"))?;
    let mut text = format!("{before}{BEGIN}\n\n{HEAD}");
    for part in Part::ALL {
        let of_part = |line: &&str| line.starts_with(&format!("| {} |", part.name()));
        let new = rows.iter().map(|row| row.trim_end()).find(of_part);
        let never = row(part, "not run", "-", "-").replace("linux-source-6.12 ", "");
        text.push_str(new.or_else(|| table.lines().find(of_part)).unwrap_or(never.trim_end()));
        text.push('\n');
    }
    Ok(format!("{text}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_names_scripts_that_are_there() {
        for part in Part::ALL {
            for named in part.scripts() {
                let script = named.split(' ').next().unwrap_or_default();
                assert!(top().join("tests/faults").join(script).is_file(), "{named}");
            }
        }
    }

    #[test]
    fn a_run_replaces_its_own_rows_alone() {
        let old = row(Part::Memory, "3 passed", "1-1", "2026-01-01");
        let page = format!("# A\n\n{BEGIN}\n\n{HEAD}{old}\n{END}\nmore\n");
        let new = row(Part::Faults, "1 passed, 2 failed", "1-2", "2026-01-02");
        let text = written(&page, std::slice::from_ref(&new)).expect("has a table");
        assert!(text.starts_with("# A\n\n") && text.ends_with("\nmore\n"));
        assert!(text.contains(&old) && text.contains(&new), "{text}");
        assert!(text.contains("| processes | not run | - | - |\n"), "{text}");
        // a second time nothing grows
        assert_eq!(written(&text, &[new]).expect("has a table"), text);
        assert!(written("# no table", &[]).is_err());
    }

    #[test]
    fn a_runner_that_died_did_not_pass() {
        let mut ran = Ran::of(program("sh").args(["-c", "echo 2 passed, 0 failed; exit 3"]), |_| ());
        assert!(result(&ran).starts_with("2 passed, then exit"), "{}", result(&ran));
        (ran.failed, ran.passed) = (1, 4);
        assert_eq!(result(&ran), "4 passed, 1 failed");
    }

    #[test]
    fn the_page_has_its_table() {
        let page = fs::read_to_string(top().join(PAGE)).expect("the page");
        assert_eq!(written(&page, &[]).expect("has a table"), page);
    }
}
