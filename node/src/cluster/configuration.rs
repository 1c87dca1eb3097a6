// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The configuration of an emulated cluster: what its nodes' files say. Pure: it reads and starts nothing.
//!
//! `start.sh` puts these files in place and starts the daemons. `docs/slurm.md` explains each line that a site needs too.

use std::fmt::Write;

use crate::slurm::SlurmRelease;

/// The users of a cluster besides root, with their ids on each node.
pub const USERS: [(&str, u32); 3] = [("alice", 1001), ("bob", 1002), ("carol", 1003)];

/// A cluster as its files describe it.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    pub nodes: u8,
    /// Of each node: sockets, cores of a socket, threads of a core.
    pub shape: (u32, u32, u32),
    pub memory_mib: u32,
    pub release: SlurmRelease,
    /// `TaskPlugin` of Slurm.
    pub task_plugin: String,
}

/// The name of a node, by its number from 1.
pub fn name(number: u8) -> String {
    format!("n{number}")
}

/// The address of a node in the cluster's own network.
pub fn address(number: u8) -> String {
    format!("10.77.0.{number}")
}

impl Configuration {
    pub fn hosts(&self) -> String {
        let node = |number| format!("{} {}\n", address(number), name(number));
        "127.0.0.1 localhost\n".to_owned() + &(1..=self.nodes).map(node).collect::<String>()
    }

    pub fn slurm(&self) -> String {
        let (sockets, cores, threads) = self.shape;
        let (first, names) = (name(1), (1..=self.nodes).map(name).collect::<Vec<_>>().join(","));
        let mut text = SLURM.replace("@FIRST@", &first).replace("@TASK_PLUGIN@", &self.task_plugin);
        // a node's own kernel takes some of its memory, and a node that has less than this says is drained
        let memory = self.memory_mib * 3 / 4;
        let shape = format!("SocketsPerBoard={sockets} CoresPerSocket={cores} ThreadsPerCore={threads}");
        let cpus = sockets * cores * threads;
        writeln!(text, "NodeName={names} CPUs={cpus} Boards=1 {shape} RealMemory={memory} State=UNKNOWN").ok();
        writeln!(text, "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE DefMemPerCPU=100 State=UP").ok();
        text
    }

    pub fn cgroup(&self) -> String {
        let enable = match self.release {
            SlurmRelease::Debian12 => "CgroupAutomount",
            SlurmRelease::Debian13 => "EnableControllers",
        };
        CGROUP.replace("@ENABLE@", enable)
    }
}

/// Limits of time are those of a busy host with emulated nodes. `MessageTimeout` must be a fifth of
/// `UnkillableStepTimeout` at most.
const SLURM: &str = "\
ClusterName=emulated
SlurmctldHost=@FIRST@
SlurmUser=slurm
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/var/lib/slurm/ctld
SlurmdSpoolDir=/var/lib/slurm/d
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
ProctrackType=proctrack/cgroup
TaskPlugin=@TASK_PLUGIN@
JobAcctGatherType=jobacct_gather/cgroup
JobAcctGatherFrequency=task=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PrologFlags=Contain
ReturnToService=2
SlurmdTimeout=300
KillWait=10
MessageTimeout=20
UnkillableStepTimeout=120
PlugStackConfig=/etc/slurm/plugstack.conf
SchedulerParameters=sched_min_interval=100000
";

/// A node of a cluster has no systemd: slurmd asks no dbus, and enables the controllers itself. The word for that has
/// changed, and a daemon does not start with a word that it does not know.
const CGROUP: &str = "\
CgroupPlugin=cgroup/v2
IgnoreSystemd=yes
@ENABLE@=yes
ConstrainCores=yes
ConstrainRAMSpace=yes
ConstrainDevices=no
";

#[cfg(test)]
mod tests {
    use super::*;

    fn three(release: SlurmRelease) -> Configuration {
        Configuration { nodes: 3, shape: (1, 4, 1), memory_mib: 1024, release, task_plugin: "task/cgroup".into() }
    }

    #[test]
    fn each_release_reads_only_words_that_it_knows() {
        let has = |release, word| three(release).cgroup().lines().any(|line| line == word);
        let (old, new) = (SlurmRelease::Debian12, SlurmRelease::Debian13);
        assert!(has(old, "CgroupAutomount=yes") && !has(old, "EnableControllers=yes"));
        assert!(has(new, "EnableControllers=yes") && !has(new, "CgroupAutomount=yes"));
        for release in SlurmRelease::ALL {
            let text = three(release).cgroup();
            assert!(text.contains("ConstrainCores=yes\n") && !text.contains('@'), "{text}");
        }
    }

    #[test]
    fn the_files_name_each_node_once_and_the_first_as_controller() {
        let configuration = three(SlurmRelease::Debian13);
        assert_eq!(configuration.hosts().lines().last(), Some("10.77.0.3 n3"));
        let slurm = configuration.slurm();
        assert!(slurm.contains("SlurmctldHost=n1\n") && slurm.contains("TaskPlugin=task/cgroup\n"), "{slurm}");
        assert!(slurm.contains("NodeName=n1,n2,n3 CPUs=4 Boards=1 SocketsPerBoard=1 CoresPerSocket=4"), "{slurm}");
        assert!(!slurm.contains('@'), "{slurm}");
    }

    #[test]
    fn a_step_that_cannot_be_killed_is_waited_for_five_messages() {
        let value = |key: &str| {
            let line = SLURM.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
            line.trim_start_matches('=').parse::<u32>().unwrap_or_default()
        };
        assert!(value("MessageTimeout") > 0 && value("UnkillableStepTimeout") >= 5 * value("MessageTimeout"));
    }
}
