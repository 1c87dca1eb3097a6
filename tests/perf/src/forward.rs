// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `forward`: what one forwarded call costs, by the way that its proxy waited, and what programs cost that make
//! many (`forward_programs.rs`), on each kernel. Writes `build/bench/forward.json`.
//!
//! Each call is a step of its own: the program marks its begin, and the plugin notes what every CPU has executed. A step
//! belongs to a path by what Linux's CPUs did in it: none switched tasks (the proxy still ran), one halted in the proxy's own
//! context, the proxy slept and its CPU took the interrupt, or it slept and another CPU took it. A figure is the median
//! of a path's steps; a step with a tick is dearer and does not move it. Before each call a loop in user mode lasts
//! until Linux's CPUs are idle, or not: the program is run with and without it.
//!
//! Looks (loops with a PAUSE) depend on the host's load; they are told apart and belong to no other figure.

use std::fs;

use tacet_node::{Cache, Command, KernelLine, Node};
use tacet_noise::exact::log::{Log, Step};

use crate::Result;
use crate::configuration::{Settings, counted_node};
use crate::forward_account;
use crate::forward_contended::contended;
use crate::forward_programs;
use crate::guest::Guest;
use crate::metric::{Metric, Metrics, write};
use crate::programs::Programs;
use crate::provenance::place;
use crate::times::middle;

/// Linux keeps the CPUs before this one.
const FIRST: usize = 2;
const PARTITION: &str = "2-3";
const CALLS: usize = 400;
/// Rounds of the loop before a call, after which Linux's CPUs idle.
const GAP: &str = "50000";
/// The job that tells where a call's instructions go, instead of the figures.
const ACCOUNT: &str = "account";
/// Fewer steps of a path have no median worth a figure.
const LEAST: usize = 20;

/// How the node's module is set, and the loop before the calls. An emulated call takes longer than the 50 us for which a
/// core looks by itself: in the second and the third phase it looks for as long as it may.
const PHASES: [&str; 3] = [
    "halt=N core_looks_us=50",
    "halt=Y core_looks_us=10000 proxy_looks_us=0",
    "halt=Y core_looks_us=10000 proxy_looks_us=1000",
];

/// As the module is set by itself.
const DEFAULTS: &str = "halt=Y core_looks_us=50 proxy_looks_us=5";

/// How the proxy waited for the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    /// It looked for the thread, and the core for the answer: nothing was interrupted.
    Looked,
    /// It still ran when the core gave the thread back.
    Running,
    /// Its CPU halted in its own context.
    Halted,
    /// It slept, and its CPU took the interrupt.
    Asleep,
    /// It slept, and another CPU took the interrupt.
    Elsewhere,
}

const PATHS: [(Path, &str, &str); 5] = [
    (Path::Looked, "looked", "the proxy and the core looked for each other"),
    (Path::Running, "running", "the proxy still ran when the answer came"),
    (Path::Halted, "halted", "the CPU halted in the proxy's own context"),
    (Path::Asleep, "asleep", "the proxy slept and its CPU took the interrupt"),
    (Path::Elsewhere, "elsewhere", "the proxy slept and another CPU took the interrupt"),
];

/// Measures each kernel, or the one that `settings.jobs` name.
pub fn forward(cache: &Cache, settings: &Settings) -> Result<Vec<Metric>> {
    let programs = Programs::build(cache)?;
    let out = programs.build_directory().join("bench");
    let mut metrics = Vec::new();
    let accounts = settings.jobs.iter().any(|job| job == ACCOUNT);
    let named = settings.jobs.iter().any(|job| job != ACCOUNT);
    for kernel in [KernelLine::V6_1, KernelLine::V6_12, KernelLine::V7] {
        if named && !settings.jobs.iter().any(|job| job.parse().ok() == Some(kernel)) {
            continue;
        }
        eprintln!("measuring: {kernel}");
        if accounts {
            // a CPU halts
            let text = forward_account::account(cache, kernel, &programs, PHASES[1], PARTITION)?;
            fs::create_dir_all(&out)?;
            fs::write(out.join(format!("forward-account-{kernel}.md")), text)?;
        } else {
            metrics.extend(one(cache, kernel, &programs)?);
            metrics.extend(contended(cache, kernel, &programs)?);
        }
    }
    if accounts {
        return Ok(metrics);
    }
    write(&metrics, &out.join("forward.json"))?;
    Ok(metrics)
}

fn one(cache: &Cache, kernel: KernelLine, programs: &Programs) -> Result<Vec<Metric>> {
    let node = Node::boot(cache, &counted_node(kernel, 4, programs))?;
    let guest = Guest { node: &node, programs };
    let mut metrics = Metrics::at(&place(&node, programs.top()));
    let native = native(&guest)?;
    // loads the module
    guest.up(PARTITION)?;
    guest.down()?;
    let mut steps = Vec::new();
    for phase in PHASES {
        up(&guest, phase)?;
        for (cpu, gap) in [("0", GAP), ("1", GAP), ("0,1", GAP), ("0,1", "0")] {
            steps.extend(hosted(&guest, cpu, gap)?);
        }
        guest.down()?;
    }
    paths(&steps, native, &kernel.to_string(), &mut metrics);
    up(&guest, PHASES[0])?;
    let taxed = beside_a_hosted_program(&guest)?;
    metrics.add(
        &format!("tracepoint_tax_instructions_{kernel}"),
        taxed - native,
        "instructions",
        Some(native),
        "what a native getppid of a program that is not hosted costs more while another program is hosted, median; \
         baseline: the call while nothing is hosted",
    );
    guest.down()?;
    up(&guest, DEFAULTS)?;
    forward_programs::whole(&guest, &kernel.to_string(), &mut metrics)?;
    guest.down()?;
    node.power_off()?;
    Ok(metrics.into_vec())
}

/// The partition, with the module's parameters as in this phase.
pub fn up(guest: &Guest, phase: &str) -> Result<()> {
    set(guest, phase)?;
    guest.up(PARTITION)
}

/// Parameters of the module: NAME=VALUE and so on.
pub fn set(guest: &Guest, parameters: &str) -> Result<()> {
    let folder = "cd /sys/module/tacet/parameters";
    guest.shell(&format!("{folder}; for set in {parameters}; do echo ${{set#*=}} > ${{set%=*}}; done"))?;
    Ok(())
}

/// Kernel instructions of a native call, on Linux's last CPU.
fn native(guest: &Guest) -> Result<f64> {
    let cpu = FIRST - 1;
    guest.native("forward", &[CALLS.to_string(), "1".to_owned(), cpu.to_string(), "0".to_owned()])?;
    let steps = steps(guest.node)?;
    Ok(middle(steps.iter().map(|step| step[cpu].kernel as f64).collect()))
}

fn hosted(guest: &Guest, cpus: &str, gap: &str) -> Result<Vec<Vec<Step>>> {
    let mut argv = ["taskset", "-c", cpus].map(str::to_owned).to_vec();
    argv.extend([guest.programs.tacet().display().to_string()]);
    argv.extend(["run", "--populate", "--"].map(str::to_owned));
    argv.push(guest.programs.program("forward"));
    argv.extend([CALLS.to_string(), "1".to_owned(), "-1".to_owned(), gap.to_owned()]);
    guest.run(&argv)?;
    steps(guest.node)
}

/// The native call, while a hosted program sleeps on Linux.
fn beside_a_hosted_program(guest: &Guest) -> Result<f64> {
    let tacet = guest.programs.tacet().display().to_string();
    let sleeper = guest.node.start(&Command::new([&tacet, "run", "--", "sleep", "60"]))?;
    guest.shell(&format!("for i in $(seq 100); do {tacet} ps | grep -q sleep && exit 0; sleep 0.1; done; exit 1"))?;
    let taxed = native(guest)?;
    guest.shell("pkill -x sleep")?;
    drop(sleeper);
    Ok(taxed)
}

fn steps(node: &Node) -> Result<Vec<Vec<Step>>> {
    let log = Log::parse(&fs::read_to_string(node.plugin_log())?);
    if log.steps.len() != CALLS {
        return Err(format!("the plugin saw {} steps of {CALLS}", log.steps.len()).into());
    }
    Ok(log.steps)
}

/// The path that the step's call took. Without a loop before the call the proxy may be on its way to sleep at the mark:
/// then the switch counts in the next step, whose call woke it.
fn path(step: &[Step]) -> Path {
    let linux = &step[..FIRST.min(step.len())];
    let awake = linux.iter().filter(|cpu| cpu.interrupts > 0 && cpu.kernel > 0).count();
    match () {
        () if linux.iter().any(|cpu| cpu.halts > 0) => Path::Halted,
        () if step.iter().all(|cpu| cpu.switches == 0 && cpu.interrupts == 0) => Path::Looked,
        () if linux.iter().all(|cpu| cpu.switches == 0) => Path::Running,
        () if awake > 1 => Path::Elsewhere,
        () => Path::Asleep,
    }
}

fn paths(steps: &[Vec<Step>], native: f64, kernel: &str, metrics: &mut Metrics) {
    for (which, name, how) in PATHS {
        let own: Vec<&Vec<Step>> = steps.iter().filter(|step| path(step) == which).collect();
        metrics.add(
            &format!("forward_{name}_calls_{kernel}"),
            own.len() as f64,
            "calls",
            None,
            &format!("of {} forwarded getppid calls: {how}", steps.len()),
        );
        if own.len() < LEAST {
            continue;
        }
        let sum = |count: fn(&Step) -> u64, cpus: std::ops::Range<usize>| {
            middle(own.iter().map(|step| step[cpus.clone()].iter().map(count).sum::<u64>() as f64).collect())
        };
        let last = own[0].len();
        let mut add = |side: &str, value: f64, unit, baseline, what: &str| {
            let method = format!("one forwarded getppid, median of {}: {how}; {what}", own.len());
            metrics.add(&format!("forward_{name}_{side}_{kernel}"), value, unit, baseline, &method);
        };
        let others = |cpu: &Step| cpu.kernel.saturating_sub(cpu.looks);
        let what = "on Linux's CPUs, without looks; baseline: the native call";
        add("linux", sum(others, 0..FIRST), "instructions", Some(native), what);
        let what = "on the partition's CPUs, without looks; baseline: the native call";
        add("core", sum(others, FIRST..last), "instructions", Some(native), what);
        add("looks", sum(|cpu| cpu.looks, 0..last), "instructions", None, "of looks, on all CPUs");
        add("interrupts", sum(|cpu| cpu.interrupts, 0..last), "interrupts", None, "on all CPUs, doorbells included");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(switches: [u64; 2], halts: u64, interrupts: [u64; 2]) -> Vec<Step> {
        let cpu = |i: usize| Step { kernel: 100, switches: switches[i], interrupts: interrupts[i], ..Step::default() };
        let mut cpus = vec![cpu(0), cpu(1), Step::default(), Step::default()];
        cpus[0].halts = halts;
        cpus
    }

    #[test]
    fn a_step_has_the_path_that_its_switches_and_interrupts_show() {
        assert_eq!(path(&step([0, 0], 0, [0, 0])), Path::Looked);
        assert_eq!(path(&step([0, 0], 0, [1, 0])), Path::Running);
        assert_eq!(path(&step([0, 0], 1, [1, 0])), Path::Halted);
        assert_eq!(path(&step([1, 0], 0, [1, 0])), Path::Asleep);
        assert_eq!(path(&step([1, 1], 0, [1, 1])), Path::Elsewhere);
    }

    #[test]
    fn a_path_with_few_calls_has_no_figure() {
        let mut metrics = Metrics::at("here");
        let mut steps = vec![step([1, 0], 0, [1, 0]); LEAST];
        steps.extend(vec![step([0, 0], 0, [1, 0]); LEAST - 1]);
        paths(&steps, 50.0, "k", &mut metrics);
        let names: Vec<String> = metrics.into_vec().into_iter().map(|metric| metric.metric).collect();
        assert!(names.contains(&"forward_asleep_linux_k".to_owned()));
        assert!(names.contains(&"forward_running_calls_k".to_owned()));
        assert!(!names.contains(&"forward_running_linux_k".to_owned()));
    }
}
