// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet static run` as a batch system's job starts it: with CPUs and a control group of the job, and the end by a kill of
//! everything in the group, as Slurm ends a job.

use std::fs;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::case::Case;
use crate::left::naming;
use crate::nodes::{Nodes, is_root, tacet};
use crate::place::program;
use crate::process::{self, until};
use crate::unplug::{job_of, send};

pub fn cases() -> Vec<Case> {
    // Without a group of one's own the name says that nothing is tested.
    let case = if is_root() && Group::make().is_ok() {
        Case::own("a job of a batch system has and ends all that run started", job)
    } else {
        Case::own("a job of a batch system: LEFT OUT, needs root and control groups of version 2", || Ok(()))
    };
    vec![case]
}

/// A control group; dropping it removes it.
struct Group(PathBuf);

impl Group {
    fn make() -> Result<Group> {
        let mounts = fs::read_to_string("/proc/mounts").map_err(|error| error.to_string())?;
        let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let of = |words: Vec<&str>| (words.get(2) == Some(&"cgroup2")).then(|| words[1].to_owned());
        let top = mounts.find_map(of).ok_or("no control groups of version 2 are mounted")?;
        let path = PathBuf::from(top).join(format!("tacet-test-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Group(path))
    }

    fn processes(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        fs::remove_dir(&self.0).ok();
    }
}

fn job() -> Result<()> {
    let group = Group::make()?;
    let own = allowed("self").into_iter().next().unwrap_or_default();
    let cpu = own.split(['-', ',']).next().unwrap_or_default().to_owned();
    let run = tacet(&["run", "--own-nodes", "--nodes", "2", "--", &program("ends-static"), "spin"]);
    let mut step = Command::new("sh");
    step.args(["-c", "echo 0 >\"$0/cgroup.procs\" && exec taskset -c \"$@\""]).arg(&group.0).arg(&cpu);
    step.arg(run.get_program()).args(run.get_args());
    let child = process::start(&mut step)?;
    // the shell and taskset have become the command
    let (pid, name) = (child.id(), format!("run-{}", child.id()));
    let nodes = ManuallyDrop::new(Nodes { name: name.clone() });
    until("the job runs", || job_of(&nodes, pid).is_some())?;

    let (here, named) = (group.processes(), naming(&format!("/{name}/")));
    let emulators = named.len();
    if emulators < 2 || !named.iter().chain(&[pid]).all(|pid| here.contains(pid)) {
        return Err(format!("processes {named:?} of the job {pid}, in its group: {here:?}"));
    }
    for pid in &here {
        let cpus = allowed(&pid.to_string());
        if cpus.is_empty() || cpus.iter().any(|list| *list != cpu) {
            return Err(format!("process {pid} of the job may run on {cpus:?}, not only on {cpu}"));
        }
    }

    until("the group is empty", || {
        here.iter().chain(&group.processes()).for_each(|pid| drop(send("KILL", *pid)));
        group.processes().is_empty()
    })?;
    process::finish(child)?;
    until("nothing names its nodes", || naming(&format!("/{name}/")).is_empty())
}

/// The CPUs on which each thread of a process may run.
fn allowed(process: &str) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
    let list =
        |text: String| Some(text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_owned());
    texts.filter_map(list).collect()
}
