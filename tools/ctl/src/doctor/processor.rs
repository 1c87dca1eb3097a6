// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks of the processor: its kind, how many CPUs can be taken, and whether a hypervisor allows to start them.
//!
//! Called by `examine`.

use super::Check;
use crate::Machine;

pub(super) fn checks(machine: &Machine) -> Vec<Check> {
    vec![architecture(), cpus(machine), guest(machine), apic(machine), fred(machine)]
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
