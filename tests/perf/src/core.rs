// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `core`: silence, forwarding, moving, up and down, sizes. Writes `build/bench/core.json` and `core.svg`.
//!
//! Boots one node after the other: on a small host two nodes would disturb each other. A profile of default Linux
//! without a stolen instruction means that the plugin did not count; then there is no result.

use std::path::Path;
use std::process::Command;

use tacet_node::{Cache, Node};
use tacet_noise::exact::symbols::Symbols;

use crate::Result;
use crate::configuration::{Configuration, Settings, counted_node, timed_node};
use crate::culprits::culprits;
use crate::draw::draw;
use crate::guest::Guest;
use crate::instructions::instructions;
use crate::metric::{Metric, Metrics, write};
use crate::profile::{Profile, profile};
use crate::programs::Programs;
use crate::provenance::place;
use crate::sizes::sizes;
use crate::times::times;

/// CPUs of the nodes that measure forwarding.
const MANY: u32 = 10;

/// Measures everything.
pub fn core(cache: &Cache, settings: &Settings) -> Result<Vec<Metric>> {
    let programs = Programs::build(cache)?;
    let out = programs.build_directory().join("bench");
    std::fs::create_dir_all(&out)?;
    let (profiles, mut metrics) = silence(cache, settings, &programs)?;
    draw(&profiles, &out.join("core.svg"))?;

    let node = Node::boot(cache, &counted_node(settings.kernel, MANY, &programs))?;
    step("instructions of forwarded calls");
    instructions(&Guest { node: &node, programs: &programs }, &mut metrics)?;
    node.power_off()?;

    let node = Node::boot(cache, &timed_node(settings.kernel, MANY, &programs))?;
    step("times");
    times(&Guest { node: &node, programs: &programs }, &mut metrics)?;
    sizes(&mut metrics, &programs, node.release())?;
    node.power_off()?;

    let metrics = metrics.into_vec();
    write(&metrics, &out.join("core.json"))?;
    Ok(metrics)
}

/// Tests one disturbance after the other on Tacet alone, to find those that reach the core.
pub fn attribute(cache: &Cache, settings: &Settings) -> Result<()> {
    const KINDS: [&str; 10] = [
        "mmap_threads",
        "membarrier",
        "fork_exec",
        "file_writes",
        "timers",
        "module",
        "tracepoint",
        "all_cpus_work",
        "drop_caches",
        "compaction",
    ];
    let programs = Programs::build(cache)?;
    let node = Node::boot(cache, &Configuration::Tacet.node(settings, &programs))?;
    println!(
        "{:<16}{:>8}{:>8}{:>12}{:>12}{:>10}",
        "disturbance", "rounds", "hit", "interrupts", "exceptions", "maximum"
    );
    for kind in KINDS {
        let settings = Settings { disturbances: vec![kind.to_owned()], ..settings.clone() };
        let p = profile(&node, Configuration::Tacet, &settings, &programs)?;
        let rounds = p.load.get(kind).copied().unwrap_or(0.0);
        println!("{kind:<16}{rounds:>8}{:>8}{:>12}{:>12}{:>10}", p.hit(), p.interrupts, p.exceptions, p.max());
    }
    node.power_off().map(drop).map_err(Into::into)
}

/// Takes Tacet's profile alone, and names the thieves.
pub fn one(cache: &Cache, settings: &Settings) -> Result<()> {
    let programs = Programs::build(cache)?;
    let node = Node::boot(cache, &Configuration::Tacet.node(settings, &programs))?;
    let p = profile(&node, Configuration::Tacet, settings, &programs)?;
    println!("{} of {} quanta hit, at worst {}, mean {:.3}", p.hit(), p.stolen.len(), p.max(), p.mean());
    println!("{} interrupts, {} exceptions; load {:?}", p.interrupts, p.exceptions, p.load);
    culprits(&p, &co_kernel(programs.top()));
    node.power_off().map(drop).map_err(Into::into)
}

fn silence(cache: &Cache, settings: &Settings, programs: &Programs) -> Result<(Vec<Profile>, Metrics)> {
    let (mut profiles, mut metrics) = (Vec::new(), Metrics::default());
    for configuration in Configuration::ALL {
        let node = Node::boot(cache, &configuration.node(settings, programs))?;
        step(configuration.name());
        let taken = profile(&node, configuration, settings, programs)?;
        let (hit, max) = (taken.hit(), taken.max());
        eprintln!(
            "  {hit} quanta hit, at worst {max}, {} interrupts, {} exceptions",
            taken.interrupts, taken.exceptions
        );
        profiles.push(taken);
        metrics = Metrics::at(&place(&node, programs.top()));
        node.power_off()?;
    }
    let [default, isolated, tacet] = &profiles[..] else { return Err("a configuration is missing".into()) };
    if default.max() == 0 {
        return Err("no instruction was stolen on default Linux: the plugin counts nothing".into());
    }
    figures(&mut metrics, settings, [default, isolated, tacet]);
    culprits(tacet, &co_kernel(programs.top()));
    Ok((profiles, metrics))
}

fn figures(metrics: &mut Metrics, settings: &Settings, [default, isolated, tacet]: [&Profile; 3]) {
    let rounds: Vec<String> = tacet.load.iter().map(|(kind, rounds)| format!("{kind} {rounds}")).collect();
    let how = format!(
        "{}, {} instructions a quantum, counted by a plugin of the emulator: all that the CPU executed besides them; rounds of the load: {}",
        settings.describe(),
        tacet.user,
        rounds.join(", ")
    );
    let on = |p: &Profile| format!("{how}; on {}", p.configuration.name());
    let against = format!("{}; baseline: the isolated Linux CPU", on(tacet));
    let count = "instructions";
    metrics.add("stolen_instructions_max", tacet.max() as f64, count, Some(isolated.max() as f64), &against);
    metrics.add("stolen_instructions_mean", tacet.mean(), count, Some(isolated.mean()), &against);
    metrics.add("stolen_instructions_max_isolated_linux", isolated.max() as f64, count, None, &on(isolated));
    metrics.add("stolen_instructions_max_default_linux", default.max() as f64, count, None, &on(default));
    metrics.add("stolen_instructions_mean_default_linux", default.mean(), count, None, &on(default));
    metrics.add("quanta_hit", tacet.hit() as f64, "quanta", Some(isolated.hit() as f64), &against);
    metrics.add("quanta_hit_default_linux", default.hit() as f64, "quanta", None, &on(default));
    metrics.add("interrupts", tacet.interrupts as f64, "interrupts", Some(isolated.interrupts as f64), &against);
    metrics.add("interrupts_default_linux", default.interrupts as f64, "interrupts", None, &on(default));
    let own = tacet.own_count.unwrap_or(0) as f64;
    metrics.add("interrupts_own_count", own, "interrupts", None, "doorbells in user mode and foreign interrupts that the co-kernel counted, the program's start and end included");
    metrics.add("quanta", settings.quanta as f64, "quanta", None, &how);
}

/// The co-kernel's symbols, from `nm` and the image that `cargo xtask build` linked, if they exist.
pub fn co_kernel(top: &Path) -> Symbols {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| top.join("target"), Into::into);
    let image = target.join("x86_64-unknown-none/release/tacet-image");
    let output = Command::new("nm").args(["--numeric-sort", "--demangle"]).arg(image).output();
    Symbols::parse(&output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default())
}

fn step(name: &str) {
    eprintln!("measuring: {name}");
}
