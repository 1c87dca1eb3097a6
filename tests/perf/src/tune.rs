// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `tune`: the noise that the countermeasures remove from an application CPU, all together and each alone, as
//! in Table 2 of Gerofi et al. (SC '21). Writes `build/bench/tune.json`.
//!
//! In the node instructions are counted. On this machine `tacet tune ablate` measures time, and only ratios within one
//! run are reported. Unbound daemons are part of the load: the countermeasures are to move them.

use std::process::Command as Program;
use std::time::Duration;

use serde::Deserialize;
use tacet_node::{Cache, Command, Job, Node};
use tacet_noise::exact::symbols::Symbols;

use crate::Result;
use crate::configuration::{Configuration, KEPT, Settings, counted_node};
use crate::culprits::culprits;
use crate::guest::Guest;
use crate::metric::{Metric, Metrics, write};
use crate::profile::{Profile, profile};
use crate::programs::Programs;
use crate::provenance::place;

/// Daemons that compute without a break, one for each CPU of the node.
const DAEMONS: usize = 4;
/// A load that interrupts no other CPU: no code is patched, no work is queued on every CPU.
const POLITE: [&str; 3] = ["fork_exec", "file_writes", "timers"];
/// The ablation takes one profile for each countermeasure, so these are shorter by this factor.
const ABLATION_SHARE: u64 = 10;
/// The name that `tacet tune ablate` gives the row without any countermeasure.
const ALL_OFF: &str = "all of them";
/// The countermeasure that gives programs their CPUs.
const PARTITION: &str = "partition";
const SIGKILL: i32 = 9;

/// The output of `tacet tune --json plan`, as far as it is used here.
#[derive(Deserialize)]
struct Plan {
    boot_line: String,
    parts: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    measure: String,
    changes: Vec<serde_json::Value>,
}

/// The output of `tacet tune --json ablate`.
#[derive(Deserialize)]
struct Ablation {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    measure: String,
    max_noise_ratio: Option<f64>,
    noise_rate_ratio: Option<f64>,
}

/// Measures everything.
pub fn tune(cache: &Cache, settings: &Settings) -> Result<Vec<Metric>> {
    let programs = Programs::build(cache)?;
    let (default, plan) = default_linux(cache, settings, &programs)?;
    let spec = counted_node(settings.kernel, 4, &programs).argument(&plan.boot_line);
    let node = Node::boot(cache, &spec)?;
    let mut metrics = Metrics::at(&place(&node, programs.top()));
    tuned_linux(&Guest { node: &node, programs: &programs }, settings, &plan, &default, &mut metrics)?;
    node.power_off()?;
    natively(&programs, &mut metrics)?;
    let metrics = metrics.into_vec();
    write(&metrics, &programs.build_directory().join("bench/tune.json"))?;
    Ok(metrics)
}

/// The profile of default Linux, and the plan of changes for it.
fn default_linux(cache: &Cache, settings: &Settings, programs: &Programs) -> Result<(Profile, Plan)> {
    step("default Linux");
    let node = Node::boot(cache, &counted_node(settings.kernel, 4, programs))?;
    let guest = Guest { node: &node, programs };
    let plan = plan(&guest)?;
    let daemons = daemons(&guest)?;
    let taken = profile(&node, Configuration::DefaultLinux, settings, programs)?;
    end(daemons)?;
    node.power_off()?;
    if taken.max() == 0 {
        return Err("no instruction was stolen on default Linux: the plugin counts nothing".into());
    }
    Ok((taken, plan))
}

fn tuned_linux(
    guest: &Guest,
    settings: &Settings,
    plan: &Plan,
    default: &Profile,
    metrics: &mut Metrics,
) -> Result<()> {
    let taken = |settings: &Settings| profile(guest.node, Configuration::TunedLinux, settings, guest.programs);
    // without it, `tacet tune run` has no CPUs to start a program on
    let unled = |settings: &Settings| profile(guest.node, Configuration::DefaultLinux, settings, guest.programs);
    let daemons = daemons(guest)?;
    let here = self::plan(guest)?;
    apply(guest, &[])?;
    step("tuned Linux");
    let tuned = taken(settings)?;
    step("tuned Linux, polite load");
    let polite = Settings { disturbances: POLITE.map(str::to_owned).to_vec(), ..settings.clone() };
    let undisturbed = taken(&polite)?;
    culprits(&undisturbed, &Symbols::parse(&guest.shell("cat /proc/kallsyms")?));
    undo(guest)?;
    let how = format!("{}, {DAEMONS} unbound daemons, booted with `{}`", settings.describe(), plan.boot_line);
    figures(metrics, &how, default, &tuned);
    let how = format!("{}, {DAEMONS} unbound daemons, booted with `{}`", polite.describe(), plan.boot_line);
    metrics.add("interrupts_tuned", undisturbed.interrupts as f64, "interrupts", None, &how);
    metrics.add("stolen_instructions_max_tuned_polite_load", undisturbed.max() as f64, "instructions", None, &how);
    let short = Settings { quanta: (settings.quanta / ABLATION_SHARE).max(1), ..settings.clone() };
    for part in here.parts.iter().filter(|part| !part.changes.is_empty()) {
        step(&format!("without {}", part.measure));
        apply(guest, &["--without", &part.measure])?;
        let without = if part.measure == PARTITION { unled(&short)? } else { taken(&short)? };
        undo(guest)?;
        ablated(metrics, &short, &part.measure, &without, &tuned);
    }
    end(daemons)
}

fn figures(metrics: &mut Metrics, how: &str, default: &Profile, tuned: &Profile) {
    let against = format!("{how}; baseline: default Linux");
    let (max, mean) = (default.max() as f64, default.mean());
    metrics.add("stolen_instructions_max_default", max, "instructions", None, how);
    metrics.add("stolen_instructions_max_tuned", tuned.max() as f64, "instructions", Some(max), &against);
    metrics.add("stolen_instructions_mean_default", mean, "instructions", None, how);
    metrics.add("stolen_instructions_mean_tuned", tuned.mean(), "instructions", Some(mean), &against);
    let (all, interrupts) = (default.interrupts as f64, tuned.interrupts as f64);
    metrics.add("interrupts_default", all, "interrupts", None, how);
    metrics.add("interrupts_tuned_whole_load", interrupts, "interrupts", Some(all), &against);
    metrics.add("quanta_hit_tuned", tuned.hit() as f64, "quanta", Some(default.hit() as f64), &against);
}

/// Adds a row of the table.
fn ablated(metrics: &mut Metrics, short: &Settings, measure: &str, without: &Profile, tuned: &Profile) {
    let how = format!("{}; all countermeasures but {measure}; baseline: all", short.describe());
    let name = measure.replace('-', "_");
    let max = without.max() as f64;
    metrics.add(
        &format!("stolen_instructions_max_without_{name}"),
        max,
        "instructions",
        Some(tuned.max() as f64),
        &how,
    );
    let mean = without.mean();
    metrics.add(&format!("stolen_instructions_mean_without_{name}"), mean, "instructions", Some(tuned.mean()), &how);
    let rate = |p: &Profile| p.interrupts as f64 / p.stolen.len().max(1) as f64;
    let (value, all) = (rate(without), rate(tuned));
    metrics.add(&format!("interrupts_per_quantum_without_{name}"), value, "interrupts", Some(all), &how);
}

/// Adds the same table in time, on this machine; if the machine cannot be tuned, only prints why.
fn natively(programs: &Programs, metrics: &mut Metrics) -> Result<()> {
    step("this machine");
    let words = ["--json", "ablate", "--quantum", "1ms", "--duration", "1s", "--rounds", "3", "--trust-clock"];
    let output = Program::new(programs.tune()).args(words).arg("--no-trace").output()?;
    if !output.status.success() {
        eprintln!("  not measured here: {}", String::from_utf8_lossy(&output.stderr).trim());
        return Ok(());
    }
    let ablation: Ablation = serde_json::from_slice(&output.stdout)?;
    let how = "`tacet tune ablate` on the host itself: time with it switched off over time with all applied, 3 rounds";
    for row in ablation.rows {
        let name = if row.measure == ALL_OFF { "everything".to_owned() } else { row.measure.replace('-', "_") };
        for (what, ratio) in [("max_noise", row.max_noise_ratio), ("noise_rate", row.noise_rate_ratio)] {
            if let Some(ratio) = ratio {
                metrics.add(&format!("native_{what}_ratio_without_{name}"), ratio, "ratio", None, how);
            }
        }
    }
    Ok(())
}

fn plan(guest: &Guest) -> Result<Plan> {
    Ok(serde_json::from_str(&guest.run(&tuner(guest, &["--json", "plan", "--cpus", KEPT]))?)?)
}

fn apply(guest: &Guest, more: &[&str]) -> Result<()> {
    guest.run(&tuner(guest, &[&["apply", "--cpus", KEPT], more].concat())).map(drop)
}

fn undo(guest: &Guest) -> Result<()> {
    guest.run(&tuner(guest, &["undo"])).map(drop)
}

fn tuner(guest: &Guest, words: &[&str]) -> Vec<String> {
    let program = guest.programs.tune().display().to_string();
    std::iter::once(program).chain(words.iter().map(|word| (*word).to_owned())).collect()
}

fn daemons(guest: &Guest) -> Result<Job> {
    let script = format!("for i in $(seq {DAEMONS}); do while :; do :; done & done; touch /tmp/daemons; wait");
    let job = guest.node.start(&Command::new(["bash", "-c", &script]).timeout(Duration::from_secs(7200)))?;
    guest.shell("until [ -e /tmp/daemons ]; do sleep 0.1; done")?;
    Ok(job)
}

fn end(daemons: Job) -> Result<()> {
    daemons.signal(SIGKILL)?;
    daemons.wait().map(drop).map_err(Into::into)
}

fn step(name: &str) {
    eprintln!("measuring: {name}");
}
