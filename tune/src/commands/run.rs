// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gets programs onto the quiet CPUs, through the cgroup of their claim.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use tacet_words::status::{NOT_EXECUTABLE, NOT_FOUND};

use crate::claim::Owner;
use crate::cpus::Cpus;
use crate::error::{Error, Result};
use crate::journal;
use crate::measures::partition;
use crate::node::Node;

/// Replaces this process by the program; returns only if that fails.
pub fn run(node: &dyn Node, owner: Owner, command: &[OsString]) -> Result<ExitCode> {
    enter(node, &owner, std::process::id())?;
    if let Some(line) = unbalanced(node, &owner, std::env::var_os("OMP_PROC_BIND").is_some())? {
        eprintln!("tacet tune: {line}");
    }
    execute(command)
}

/// A warning for a program whose threads would share one CPU of several, because nothing moves them to the others.
fn unbalanced(node: &dyn Node, owner: &Owner, binds: bool) -> Result<Option<String>> {
    let state = journal::read(node)?;
    let claim = state.claims.iter().find(|claim| claim.owner == *owner);
    // a job within the node's CPUs is in the node's partition
    let group = partition::entered(node, owner);
    let kind = group.and_then(|group| node.read(&format!("{group}/cpuset.cpus.partition")).ok()).unwrap_or_default();
    let cpus = claim.map(|claim| claim.cpus.clone()).filter(|cpus| cpus.len() > 1);
    Ok(cpus.filter(|_| !binds && kind.trim() == "isolated").map(|cpus| {
        format!(
            "nothing balances {}: threads that nobody binds stay on the first; bind them (OMP_PROC_BIND=true, \
             mpiexec --bind-to core, taskset), or apply `--with balance`",
            cpus.named()
        )
    }))
}

/// Gets this process onto these CPUs, then executes the program. The process enters the node's partition; if there is
/// none, the root cgroup, outside of all slices.
pub fn bound(node: &dyn Node, cpus: &Cpus, command: &[OsString]) -> Result<ExitCode> {
    let own = std::process::id();
    let failed =
        |error: std::io::Error| Error::io(format!("this process on {}", cpus.named()), &error, "run it as root");
    let groups =
        [partition::group(&Owner::Node), partition::BASE.to_owned()].map(|group| format!("{group}/cgroup.procs"));
    if let Some(group) = groups.iter().find(|group| node.exists(group)) {
        node.write(group, &own.to_string()).map_err(failed)?;
    }
    node.set_affinity(own, cpus).map_err(failed)?;
    execute(command)
}

/// Returns only if the program cannot be executed.
fn execute(command: &[OsString]) -> Result<ExitCode> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Error::new("command", "none is given", ""));
    };
    let failed = Command::new(program).args(arguments).exec();
    let status = if failed.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE };
    Err(Error::io(program.display(), &failed, "name a program that can be executed").with_status(status))
}

/// Moves a process into the claim's cgroup and onto its CPUs. If the node claims a job's CPUs too, the job has no
/// cgroup of its own and uses the node's.
pub fn enter(node: &dyn Node, owner: &Owner, pid: u32) -> Result<()> {
    let state = journal::read(node)?;
    let Some(claim) = state.claims.iter().find(|claim| claim.owner == *owner) else {
        return Err(Error::new(owner, "nothing is applied for it", "`tacet tune status` shows what is"));
    };
    let Some(group) = partition::entered(node, owner) else {
        return Err(Error::new(owner, "its CPUs are not a partition", "apply again with `--with partition`"));
    };
    let failed = |error: std::io::Error| Error::io(format!("process {pid} into {group}"), &error, "run it as root");
    node.write(&format!("{group}/cgroup.procs"), &pid.to_string()).map_err(failed)?;
    node.set_affinity(pid, &claim.cpus).map_err(failed)
}
