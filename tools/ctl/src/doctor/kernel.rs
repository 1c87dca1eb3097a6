// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks of the kernel: its version and its build configuration.
//!
//! Called by `examine`.

use super::Check;
use super::config::{Config, Setting};
use crate::Machine;

/// Kernels on which the tests run: major, minor (None: any).
const TESTED: [(u32, Option<u32>); 3] = [(6, Some(1)), (6, Some(12)), (7, None)];
const OLDEST: (u32, u32) = (6, 1);

/// Options that the module needs, and why.
const NEEDED: [(&str, &str); 5] = [
    ("SMP", "more than one CPU"),
    ("HOTPLUG_CPU", "taking CPUs from Linux"),
    ("MMU_NOTIFIER", "following changes of a program's memory (any of KVM, SVA or HMM selects it)"),
    ("CONTIG_ALLOC", "contiguous memory (MEMORY_HOTREMOVE with COMPACTION, or CMA, selects it)"),
    ("TRACEPOINTS", "parking threads at the border to user mode"),
];

/// Since the first version Linux has a deadline server for ordinary threads. Before the second version (Linux commit
/// 52d15521eb75) the server counts as a runnable task: a CPU that goes offline while its threads are starved is then
/// "not properly vacated".
const COUNTS_DEADLINE_SERVER: std::ops::Range<(u32, u32)> = (6, 12)..(6, 17);
/// By these the module hears of calls of others that matter, and of other tracers of calls.
const HEARING: [&str; 2] = ["DYNAMIC_FTRACE_WITH_REGS", "KPROBES"];

const DEADLINE_SERVERS: &str = "sys/kernel/debug/sched/fair_server";

pub(super) fn checks(machine: &Machine) -> Vec<Check> {
    let config = Config::read(machine);
    vec![
        version(&machine.release()),
        options(&config),
        other_tasks(machine, &config),
        real_time(machine),
        deadline_server(machine),
    ]
}

fn version(release: &str) -> Check {
    const NAME: &str = "kernel";
    let Some(version) = parse(release) else {
        return Check::warning(
            NAME,
            format!("`{release}` cannot be read as a version"),
            "6.1, 6.12 and 7.x are tested",
        );
    };
    let tested =
        TESTED.iter().any(|(major, minor)| *major == version.0 && minor.is_none_or(|minor| minor == version.1));
    if version < OLDEST {
        Check::problem(NAME, format!("Linux {release} is older than 6.1"), "use Linux 6.1 or newer")
    } else if tested {
        Check::ok(NAME, format!("Linux {release}"))
    } else {
        Check::warning(NAME, format!("Linux {release} is not among those tested"), "6.1, 6.12 and 7.x are tested")
    }
}

/// Whether tasks that are not hosted pay for the probes of system calls.
fn other_tasks(machine: &Machine, config: &Config) -> Check {
    const NAME: &str = "other-tasks";
    let finding = "each call of each task gets dearer by some 450 instructions while something is hosted";
    if let Some(option) = HEARING.iter().find(|option| config.setting(option) == Setting::Off) {
        let remedy = "a distribution's standard kernel has it";
        return Check::warning(NAME, format!("{finding}: no CONFIG_{option}"), remedy);
    }
    if machine.text("proc/sys/kernel/ftrace_enabled").is_some_and(|text| text == "0") {
        let remedy = "`sysctl kernel.ftrace_enabled=1`, before something is hosted";
        return Check::warning(NAME, format!("{finding}: the function tracer is off"), remedy);
    }
    Check::ok(NAME, "make their calls as fast as without hosted programs")
}

/// The module does not build for these: their spinlocks sleep.
fn real_time(machine: &Machine) -> Check {
    const NAME: &str = "preemption";
    let built = Config::read(machine).setting("PREEMPT_RT") == Setting::On;
    if built || machine.text("sys/kernel/realtime").is_some_and(|text| text == "1") {
        let remedy = "use a distribution's standard kernel; a partition needs no real-time kernel";
        return Check::problem(NAME, "a PREEMPT_RT kernel: the module does not build for it", remedy);
    }
    Check::ok(NAME, "is not PREEMPT_RT")
}

fn deadline_server(machine: &Machine) -> Check {
    const NAME: &str = "deadline-server";
    let counted = parse(&machine.release()).is_some_and(|version| COUNTS_DEADLINE_SERVER.contains(&version));
    if !counted {
        return Check::ok(NAME, "does not disturb CPUs that go offline");
    }
    let on = |cpu: u32| machine.text(&format!("{DEADLINE_SERVERS}/cpu{cpu}/runtime")).is_none_or(|text| text != "0");
    if machine.online().is_ok_and(|online| !online.iter().any(on)) {
        return Check::ok(NAME, "is off");
    }
    let finding =
        "this Linux may warn, or fail to release a CPU, while real-time threads or a busy host starve that CPU's tasks";
    let remedy = format!("keep the node idle for `tacet up`, or at boot write 0 to /{DEADLINE_SERVERS}/cpu*/runtime");
    Check::warning(NAME, finding, remedy)
}

fn parse(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn options(config: &Config) -> Check {
    const NAME: &str = "kernel-config";
    let missing: Vec<String> = NEEDED
        .iter()
        .filter(|(option, _)| config.setting(option) == Setting::Off)
        .map(|(option, why)| format!("CONFIG_{option} for {why}"))
        .collect();
    if config.setting("SMP") == Setting::Unknown {
        let remedy = "install the package that has /boot/config-*; without it, the module reports missing options when it is loaded";
        return Check::warning(NAME, "the kernel's configuration is not readable", remedy);
    }
    match missing.as_slice() {
        [] => Check::ok(NAME, "has all that the module needs"),
        missing => {
            Check::problem(NAME, format!("lacks {}", missing.join(", ")), "use a distribution's standard kernel")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn versions() {
        for (release, verdict) in [
            ("6.1.0-40-cloud-amd64", Verdict::Ok),
            ("6.12.107+deb13-amd64", Verdict::Ok),
            ("7.2.12-cloud-amd64", Verdict::Ok),
            ("6.6.1", Verdict::Warning),
            ("8.0.0", Verdict::Warning),
            ("5.15.0-generic", Verdict::Problem),
            ("strange", Verdict::Warning),
        ] {
            assert_eq!(version(release).verdict, verdict, "{release}");
        }
    }
}
