// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks whether Slurm, as it is configured on this node, can give jobs CPUs of a partition.
//!
//! Called by `tacet doctor --slurm`. `site.rs` reads the files; here each value that matters is judged, with its remedy. A
//! problem is what makes `srun --tacet` fail, or drains a node, or harms another job; everything else is a warning.

mod site;
#[cfg(test)]
mod tests;

pub use site::{Answers, Site};

use site::PLUGIN;

use super::Check;

const CONTAIN: &str = "PrologFlags=Contain in slurm.conf";

/// All checks, in the order in which a person would solve problems.
pub fn examine(site: &Site) -> Vec<Check> {
    if site.path.is_empty() {
        let remedy = "SLURM_CONF names the file; `scontrol show config` must work on a node without it";
        return vec![Check::problem("slurm-conf", "no slurm.conf is here, and no controller answers", remedy)];
    }
    vec![
        Check::ok("slurm-conf", site.path.clone()),
        groups(site),
        confined(site),
        task_plugin(site),
        prologue(site),
        plugin(site),
        topology(site),
        overrides(site),
        memory(site),
        preemption(site),
        start(site),
        node(site),
    ]
}

/// Is the value in a list like `task/cgroup,task/affinity`?
fn has(list: &str, value: &str) -> bool {
    list.split(',').any(|item| item.trim().eq_ignore_ascii_case(value))
}

fn groups(site: &Site) -> Check {
    const NAME: &str = "slurm-cgroups";
    let tracking = site.conf.get("ProctrackType").unwrap_or("proctrack/cgroup");
    let version = site.cgroup.get("CgroupPlugin").unwrap_or("autodetect");
    if !tracking.eq_ignore_ascii_case("proctrack/cgroup") {
        return Check::problem(
            NAME,
            format!("ProctrackType={tracking}"),
            "ProctrackType=proctrack/cgroup in slurm.conf",
        );
    }
    if version.eq_ignore_ascii_case("cgroup/v1") || version.eq_ignore_ascii_case("disabled") || !site.unified {
        let remedy =
            "CgroupPlugin=cgroup/v2, and control groups of version 2 alone: version 1 forgets a CPU that leaves";
        return Check::problem(NAME, format!("CgroupPlugin={version}, or version 1 is mounted"), remedy);
    }
    Check::ok(NAME, "processes are in control groups of version 2")
}

fn confined(site: &Site) -> Check {
    const NAME: &str = "slurm-cores";
    if site.cgroup.get("ConstrainCores").is_some_and(|value| value.eq_ignore_ascii_case("yes")) {
        return Check::ok(NAME, "jobs are confined to their CPUs");
    }
    let remedy = "ConstrainCores=yes in cgroup.conf: the job's control group names its CPUs";
    Check::problem(NAME, "ConstrainCores is not set: no job is confined to its CPUs", remedy)
}

fn task_plugin(site: &Site) -> Check {
    const NAME: &str = "slurm-tasks";
    let plugins = site.conf.get("TaskPlugin").unwrap_or("task/none");
    if !has(plugins, "task/cgroup") {
        return Check::problem(NAME, format!("TaskPlugin={plugins}"), "TaskPlugin=task/cgroup in slurm.conf");
    }
    if has(plugins, "task/affinity") {
        let finding =
            "task/affinity binds tasks: steps with `--exact` or `--cpu-bind` fail if all of their CPUs have left";
        return Check::warning(NAME, finding, "TaskPlugin=task/cgroup alone");
    }
    Check::ok(NAME, format!("TaskPlugin={plugins}"))
}

fn prologue(site: &Site) -> Check {
    const NAME: &str = "slurm-prologue";
    let flags = site.conf.get("PrologFlags").unwrap_or("");
    if has(flags, "RunInJob") {
        let remedy = "remove RunInJob, or use scripts instead of the plugin";
        return Check::problem(NAME, "PrologFlags=RunInJob: Slurm does not call the plugin's prologue", remedy);
    }
    // each of them implies it
    if ["Contain", "X11"].iter().any(|flag| has(flags, flag)) {
        return Check::ok(NAME, "each job has an extern step, in which its CPUs leave Linux");
    }
    Check::problem(NAME, "jobs have no extern step, in which their CPUs would leave Linux", CONTAIN)
}

fn plugin(site: &Site) -> Check {
    const NAME: &str = "slurm-plugin";
    let Some(line) = site.plugins.iter().find(|line| line.contains(PLUGIN)) else {
        let finding = format!("{} names no {PLUGIN}", site.plugstack);
        return Check::problem(NAME, finding, format!("add the line `optional {PLUGIN}`, then restart slurmd"));
    };
    if line.starts_with("required") {
        let remedy = format!("write `optional {PLUGIN}`: the plugin itself ends the tasks of a job that it refuses");
        return Check::warning(NAME, "it is required: a failure of it stops slurmd, or drains a node", remedy);
    }
    match site.plugin_file.as_deref() {
        None => {
            let remedy =
                "`make -C packaging/slurm install`; PLUGINS= names the folder (`scontrol show config`: PluginDir)";
            Check::problem(NAME, format!("{PLUGIN} is not in Slurm's folder of plugins"), remedy)
        }
        Some(file) => Check::ok(NAME, format!("{file}, optional")),
    }
}

/// slurmd counts by hwloc, which does not see CPUs that are away.
fn topology(site: &Site) -> Check {
    const NAME: &str = "slurm-topology";
    const WRITE: &str =
        "before the first `tacet up` of a boot: `lstopo-no-graphics --of xml /var/lib/tacet/topology.xml`";
    let Some(file) = site.slurmd.get("HWLOC_XMLFILE") else {
        let finding = "a slurmd that starts while CPUs are away counts too few, and its node is drained (\"Low CPUs\")";
        let remedy = format!("{WRITE}; HWLOC_XMLFILE=that file and HWLOC_THISSYSTEM=1 in {}", site.slurmd_file);
        return Check::problem(NAME, finding, remedy);
    };
    if site.slurmd.get("HWLOC_THISSYSTEM") != Some("1") {
        let remedy = format!("add HWLOC_THISSYSTEM=1 in {}", site.slurmd_file);
        return Check::problem(NAME, "slurmd has HWLOC_XMLFILE, but not HWLOC_THISSYSTEM=1: it binds nothing", remedy);
    }
    match site.topology_cpus {
        None => Check::problem(NAME, format!("{file} is not there, or describes no CPU"), WRITE),
        Some(counted) if counted < site.cpus => {
            Check::problem(NAME, format!("{file} has {counted} CPUs, this machine {}", site.cpus), WRITE)
        }
        Some(counted) => Check::ok(NAME, format!("slurmd always counts the {counted} CPUs of {file}")),
    }
}

fn overrides(site: &Site) -> Check {
    const NAME: &str = "slurm-overrides";
    let parameters = site.conf.get("SlurmdParameters").unwrap_or("");
    if !has(parameters, "config_overrides") {
        return Check::ok(NAME, "slurmd's own count is believed");
    }
    let finding = "config_overrides hides CPUs that slurmd has not counted: a job can get another job's CPUs";
    Check::problem(NAME, finding, "remove config_overrides from SlurmdParameters; a topology file does what it is for")
}

fn memory(site: &Site) -> Check {
    const NAME: &str = "slurm-memory";
    if site.conf.get("MemSpecLimit").is_some_and(|value| value != "0") {
        return Check::ok(NAME, "MemSpecLimit keeps memory from jobs");
    }
    let remedy = "MemSpecLimit=MIB in the NodeName line: at least what `tacet up --memory` takes";
    Check::warning(NAME, "jobs on Linux are promised the partition's memory too", remedy)
}

fn preemption(site: &Site) -> Check {
    const NAME: &str = "slurm-preemption";
    let mode = site.conf.get("PreemptMode").unwrap_or("OFF");
    if !has(mode, "SUSPEND") && !has(mode, "GANG") {
        return Check::ok(NAME, format!("PreemptMode={mode}"));
    }
    let finding = format!(
        "PreemptMode={mode}: a suspended job keeps its CPUs in the partition, and no other job can begin there"
    );
    Check::warning(NAME, finding, "PreemptMode=REQUEUE or CANCEL for jobs with --tacet")
}

/// Only from then on a plugin can put a program before a task's own.
fn start(site: &Site) -> Check {
    const NAME: &str = "slurm-start";
    const SINCE: (u32, u32) = (23, 11);
    match site.version {
        None => {
            Check::ok(NAME, "no controller says which Slurm it is: before 23.11 users write `tacet run` themselves")
        }
        Some((major, minor)) if (major, minor) < SINCE => {
            let finding =
                format!("in Slurm {major:02}.{minor:02} the plugin cannot start `tacet run` before a program");
            Check::warning(NAME, finding, "users write `srun --tacet tacet run ./a.out`")
        }
        Some(_) => Check::ok(NAME, "the plugin starts `tacet run` before each program"),
    }
}

fn node(site: &Site) -> Check {
    const NAME: &str = "slurm-node";
    if site.reason.is_empty() {
        return Check::ok(NAME, "the controller has no complaint about this node");
    }
    let finding = format!("the controller says: {}", site.reason);
    if site.reason.contains("Low ") && site.reason.contains("CPUs") || site.reason.contains("Low socket") {
        let remedy = "slurmd counted while CPUs were away: see slurm-topology, restart slurmd, `scontrol update nodename=NODE state=resume`";
        return Check::problem(NAME, finding, remedy);
    }
    Check::warning(NAME, finding, "`scontrol show node` says more")
}
