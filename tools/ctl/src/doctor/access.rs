// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks of access and of neighbours: may this user use the device, and does other software claim the CPUs?
//!
//! Called by `examine`.

use std::path::Path;

use nix::unistd::{AccessFlags, access};

use super::Check;
use crate::{CpuSet, DEVICE, Machine};

pub(super) fn checks(machine: &Machine) -> Vec<Check> {
    vec![root(machine), device(machine), locked_memory(machine), isolated(machine), cpusets(machine)]
}

/// CAP_SYS_MODULE and CAP_SYS_ADMIN.
const NEEDED_CAPABILITIES: u64 = 1 << 16 | 1 << 21;
const CAP_IPC_LOCK: u64 = 1 << 14;

fn root(machine: &Machine) -> Check {
    const NAME: &str = "root";
    let effective = capabilities(machine);
    let container = machine.exists("run/.containerenv") || machine.exists(".dockerenv");
    if effective & NEEDED_CAPABILITIES == NEEDED_CAPABILITIES {
        Check::ok(NAME, "this user may start and end partitions")
    } else if container {
        Check::warning(NAME, "a container without CAP_SYS_MODULE and CAP_SYS_ADMIN", "`tacet up` belongs on the host")
    } else {
        Check::warning(NAME, "this user may not start or end partitions", "use root for `tacet up` and `tacet down`")
    }
}

/// The effective capabilities of this process.
fn capabilities(machine: &Machine) -> u64 {
    let status = machine.text("proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0)
}

fn device(machine: &Machine) -> Check {
    const NAME: &str = "device";
    let path = machine.path("dev/tacet");
    if !path.exists() {
        return Check::ok(NAME, format!("{DEVICE} comes with the module"));
    }
    if may_use(&path) {
        Check::ok(NAME, format!("this user may use {DEVICE}"))
    } else {
        let remedy = "join its group (`ls -l /dev/tacet`), see the udev rule 60-tacet.rules";
        Check::warning(NAME, format!("this user may not use {DEVICE}"), remedy)
    }
}

fn may_use(path: &Path) -> bool {
    access(path, AccessFlags::R_OK | AccessFlags::W_OK).is_ok()
}

/// `tacet run --populate` locks memory if the user may lock memory without limit.
fn locked_memory(machine: &Machine) -> Check {
    const NAME: &str = "locked-memory";
    let limits = machine.text("proc/self/limits").unwrap_or_default();
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let unlimited = limit.is_some_and(|rest| rest.trim_start().starts_with("unlimited"));
    if unlimited || capabilities(machine) & CAP_IPC_LOCK != 0 {
        return Check::ok(NAME, "with `tacet run --populate` this user's programs are locked too");
    }
    let remedy = "to lock it too: `ulimit -l unlimited`, permanently in /etc/security/limits.d";
    Check::warning(
        NAME,
        "`tacet run --populate` faults in this user's programs ahead, but does not lock their memory",
        remedy,
    )
}

fn isolated(machine: &Machine) -> Check {
    const NAME: &str = "isolated-cpus";
    let isolated = machine.isolated();
    let proposal = machine.propose_cpus().unwrap_or_default();
    if isolated.is_empty() {
        return Check::ok(NAME, "none");
    }
    if isolated.intersection(&proposal).is_empty() {
        return Check::ok(NAME, isolated.named());
    }
    let remedy = format!(
        "`tacet up --cpus {}` takes exactly these, or drop isolcpus= and nohz_full=",
        isolated.intersection(&proposal)
    );
    Check::warning(NAME, format!("isolated for programs on Linux: {}", isolated.named()), remedy)
}

/// Exclusive cpusets (control groups version 2) lose CPUs that go offline.
fn cpusets(machine: &Machine) -> Check {
    const NAME: &str = "cpusets";
    let groups = exclusive_groups(machine);
    match groups.as_slice() {
        [] => Check::ok(NAME, "no control group has CPUs to itself"),
        groups => {
            let named: Vec<String> = groups.iter().map(|(name, cpus)| format!("{name} ({})", cpus.named())).collect();
            let finding = format!("control groups with CPUs to themselves: {}", named.join(", "));
            Check::warning(NAME, finding, "leave their CPUs out of --cpus")
        }
    }
}

/// Looks at two levels: resource managers create their groups there.
fn exclusive_groups(machine: &Machine) -> Vec<(String, CpuSet)> {
    let top = machine.path("sys/fs/cgroup");
    let mut found = Vec::new();
    for dir in subdirectories(&top).into_iter().flat_map(|dir| [vec![dir.clone()], subdirectories(&dir)].concat()) {
        let read = |file| std::fs::read_to_string(dir.join(file)).unwrap_or_default();
        let partition = read("cpuset.cpus.partition");
        if matches!(partition.split_whitespace().next(), Some("root" | "isolated")) {
            let name = dir.strip_prefix(&top).unwrap_or(&dir).display().to_string();
            found.push((name, read("cpuset.cpus.effective").parse().unwrap_or_default()));
        }
    }
    found
}

fn subdirectories(path: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()).collect();
    paths.sort();
    paths
}
