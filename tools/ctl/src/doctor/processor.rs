// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks of the processor: its kind, how many CPUs can be taken, and whether a hypervisor allows to start them.
//!
//! Called by `examine`.

use super::Check;
use super::config::{Config, Setting};
use crate::{CpuSet, Machine};

pub(super) fn checks(machine: &Machine) -> Vec<Check> {
    vec![
        architecture(),
        cpus(machine),
        guest(machine),
        apic(machine),
        fred(machine),
        memory_encryption(machine),
        time_stamp_counter(machine),
        clock(machine),
        microcode(machine),
    ]
}

fn architecture() -> Check {
    const NAME: &str = "architecture";
    match std::env::consts::ARCH {
        "x86_64" => Check::ok(NAME, "x86-64"),
        other => Check::problem(NAME, format!("{other} is not supported"), "use an x86-64 machine"),
    }
}

fn cpus(machine: &Machine) -> Check {
    const NAME: &str = "cpus";
    let online = match machine.online() {
        Ok(online) => online,
        Err(error) => return Check::problem(NAME, error.to_string(), "mount sysfs on /sys"),
    };
    if online.count() < 2 {
        return Check::problem(NAME, "Linux has one CPU, and it keeps one", "use a machine with more CPUs");
    }
    if !online.iter().any(|cpu| cpu != 0 && machine.hotpluggable(cpu)) {
        let remedy = "the kernel needs CONFIG_HOTPLUG_CPU, and the hypervisor, if any, must allow it";
        return Check::problem(NAME, "no CPU can be taken offline", remedy);
    }
    match machine.propose_cpus() {
        Ok(proposal) if !proposal.is_empty() => {
            Check::ok(NAME, format!("online: {}; `tacet up` takes: {}", online.named(), proposal.named()))
        }
        _ => Check::warning(
            NAME,
            format!("{} are one core", online.named()),
            "name CPUs with --cpus; Linux will disturb them",
        ),
    }
}

/// Confidential guests do not let Linux send INIT and SIPI, nor see its registers.
fn guest(machine: &Machine) -> Check {
    const NAME: &str = "guest";
    const ELSEWHERE: &str = "use a machine, or a guest without memory encryption";
    let xen_pv = machine.text("sys/hypervisor/guest_type").is_some_and(|kind| kind == "PV");
    if !machine.has_flag("hypervisor") && !xen_pv {
        return Check::ok(NAME, "not a virtual machine");
    }
    if machine.has_flag("tdx_guest") || machine.exists("dev/tdx_guest") {
        return Check::problem(NAME, "a TDX guest: it cannot start a core by INIT and SIPI", ELSEWHERE);
    }
    if machine.exists("dev/sev-guest") || machine.has_flag("sev_es") || machine.has_flag("sev_snp") {
        return Check::problem(NAME, "a SEV-ES or SEV-SNP guest: it cannot start a core by INIT and SIPI", ELSEWHERE);
    }
    if xen_pv {
        return Check::problem(NAME, "a Xen PV guest: it has no processors of its own", "use a HVM or PVH guest");
    }
    Check::warning(
        NAME,
        "a virtual machine: the host may still interrupt its CPUs",
        "pin its virtual CPUs on the host when silence matters",
    )
}

fn apic(machine: &Machine) -> Check {
    const NAME: &str = "apic";
    if machine.has_flag("x2apic") {
        Check::ok(NAME, "the processor has x2APIC")
    } else if machine.has_flag("apic") {
        Check::ok(NAME, "xAPIC")
    } else {
        Check::problem(NAME, "the processor has no local APIC that Linux sees", "boot without `nolapic`")
    }
}

/// The co-kernel enters and leaves by IDT and IRET.
fn fred(machine: &Machine) -> Check {
    const NAME: &str = "fred";
    if machine.has_flag("fred") {
        let remedy = "if a core does not start, boot with `fred=off`";
        return Check::warning(NAME, "the processor delivers events by FRED; this is not tested", remedy);
    }
    Check::ok(NAME, "events are delivered by IDT")
}

/// AMD's memory encryption (SME): cores start, and have tables, without its address bit.
fn memory_encryption(machine: &Machine) -> Check {
    const NAME: &str = "memory-encryption";
    let arguments = machine.text("proc/cmdline").unwrap_or_default();
    let chosen = arguments.split_whitespace().rev().find_map(|word| word.strip_prefix("mem_encrypt="));
    let on = match chosen {
        Some(choice) => choice == "on",
        None => Config::read(machine).setting("AMD_MEM_ENCRYPT_ACTIVE_BY_DEFAULT") == Setting::On,
    };
    if machine.has_flag("sme") && on {
        return Check::problem(NAME, "the kernel encrypts memory (SME)", "boot with `mem_encrypt=off`");
    }
    Check::ok(NAME, "the kernel does not encrypt memory")
}

/// Cores keep time by it.
fn time_stamp_counter(machine: &Machine) -> Check {
    const NAME: &str = "time-stamp-counter";
    const INEXACT: &str = "cores forward timed waits to Linux, and turns and profiles are inexact";
    let constant = machine.has_flag("constant_tsc") && machine.has_flag("nonstop_tsc");
    let sources = machine.text("sys/devices/system/clocksource/clocksource0/available_clocksource");
    if sources.is_some_and(|sources| !sources.split_whitespace().any(|source| source == "tsc")) {
        return Check::warning(NAME, "Linux found it unstable", INEXACT);
    }
    if !constant {
        return Check::warning(NAME, "the processor does not promise a constant rate in all states", INEXACT);
    }
    Check::ok(NAME, "constant, in all states")
}

/// Cores ask for the highest clock that Linux allows.
fn clock(machine: &Machine) -> Check {
    const NAME: &str = "clock";
    let Ok(proposal) = machine.propose_cpus() else {
        return Check::ok(NAME, "no CPU to look at");
    };
    let khz = |cpu: u32, file: &str| {
        machine.text(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}"))?.parse::<u64>().ok()
    };
    let limited: CpuSet = proposal
        .iter()
        .filter(|cpu| matches!((khz(*cpu, "scaling_max_freq"), khz(*cpu, "cpuinfo_max_freq")), (Some(allowed), Some(most)) if allowed < most))
        .collect();
    if limited.is_empty() {
        return Check::ok(NAME, "cores may use the highest clock that Linux offers");
    }
    let finding = format!("Linux limits the clock of {}; cores keep the limit", limited.named());
    Check::warning(NAME, finding, "raise scaling_max_freq before `tacet up`")
}

/// Linux loads microcode only while every first thread of a core is online.
fn microcode(machine: &Machine) -> Check {
    const NAME: &str = "microcode";
    if machine.exists("sys/devices/system/cpu/microcode/reload") {
        let remedy = "`tacet down` before writing to microcode/reload; or load it at boot";
        return Check::warning(
            NAME,
            "this Linux can load microcode late; with a partition up it refuses, or leaves out taken CPUs",
            remedy,
        );
    }
    Check::ok(NAME, "is loaded at boot only")
}
