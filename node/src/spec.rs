// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The description of a node, which tests, benches and commands write. Nothing here depends on QEMU.
//!
//! Owns the meaning, the defaults and the validity of a description; `qemu/arguments.rs` turns it into a command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::kernel::KernelLine;
use crate::slurm::SlurmRelease;

/// A node to boot. Start from [`NodeSpec::new`] and change fields.
#[derive(Debug, Clone)]
pub struct NodeSpec {
    /// The kernel that it boots.
    pub kernel: KernelLine,
    /// Its CPUs and how they are arranged.
    pub topology: Topology,
    /// Memory in MiB, divided evenly among the NUMA nodes.
    pub memory_mib: u32,
    /// What executes it.
    pub accelerator: Accelerator,
    /// CPU features to switch on or off by their QEMU name (`la57`, `pcid`, `rdrand`); by default all are on.
    pub features: Vec<(String, bool)>,
    /// Which emulator, if it matters.
    pub emulator: Emulator,
    /// Words added to the kernel command line.
    pub kernel_arguments: Vec<String>,
    /// Boot systemd as process 1, with its slices and services; otherwise the agent is process 1 and nothing else runs.
    pub systemd: bool,
    /// Boot by UEFI firmware that enforces Secure Boot and trusts the key of [`crate::secure_boot`] alone.
    pub secure_boot: bool,
    /// Instrumentation loaded into the emulator; its output is [`crate::Node::plugin_log`].
    pub plugins: Vec<Plugin>,
    /// Virtual time by instruction count, one CPU after the other, with this random seed: two nodes with the same seed
    /// execute the same instructions, at a third of the speed. Such a node has no disk: its root holds busybox and the
    /// copied shares, so programs must be static. For [`crate::Node::run_once`] only.
    pub reproducible: Option<u64>,
    /// While the node computes, its clock counts instructions, one CPU after the other, so other work of the host does
    /// not make its time pass. While it idles, it waits in real time. In all else it is an ordinary node.
    pub counted_time: bool,
    /// Sockets without a processor, each with room for one like the others: their CPUs are possible, but never come.
    pub empty_sockets: u32,
    /// An NVMe disk of so many MiB, empty and gone with the node; 0: none.
    pub nvme_mib: u32,
    /// The NVMe disk takes commands of up to two to the power of so many pages (MDTS); QEMU allows 9 at most, 2 MiB. `None`:
    /// of up to 512 KiB.
    pub nvme_mdts: Option<u8>,
    /// The NVMe disk has this many virtual functions (SR-IOV), which are off until the node's Linux switches them on.
    pub nvme_functions: u32,
    /// Two more NVMe disks on the same image: "many" has two namespaces of 32 MiB, "plug" has one and can be
    /// unplugged from its port.
    pub nvme_more: bool,
    /// Devices on PCI reach memory through an IOMMU, if the kernel switches it on (`intel_iommu=on`).
    pub iommu: bool,
    /// Its place in a cluster, if it is a node of one.
    pub port: Option<Port>,
    /// Host directories visible inside at the same path.
    pub shares: Vec<Share>,
    /// The limit from the start of the emulator to the agent's first frame.
    pub boot_timeout: Duration,
    /// The limit for one command, unless the command has its own.
    pub command_timeout: Duration,
}

/// CPUs = sockets x dies x cores x threads; NUMA nodes take consecutive equal runs of CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology {
    /// Processor packages.
    pub sockets: u32,
    /// Dies of each package, each with a last-level cache of its own.
    pub dies: u32,
    /// Cores of each die.
    pub cores: u32,
    /// Hardware threads of each core.
    pub threads: u32,
    /// NUMA nodes; 1 means no NUMA.
    pub numa_nodes: u32,
}

/// What executes the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    /// KVM if a probe showed that it boots guests, else TCG; `TACET_NODE_ACCEL=tcg|kvm` overrides this.
    Auto,
    /// Emulation, one host thread for each CPU.
    Tcg,
    /// Emulation, all CPUs in one host thread.
    TcgSingle,
    /// Hardware virtualisation, or an error.
    Kvm,
}

/// Which emulator runs the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emulator {
    /// The emulator for everything except counting instructions per CPU.
    Standard,
    /// QEMU 7.2, the only version that counts instructions for the right CPU with [`NodeSpec::reproducible`] and
    /// several CPUs. Its multi-threaded TCG is not reliable.
    Counting,
}

/// A TCG plugin.
#[derive(Debug, Clone)]
pub struct Plugin {
    /// The shared object.
    pub object: PathBuf,
    /// `name=value` pairs given to it.
    pub arguments: Vec<String>,
}

/// A node's place in a cluster: its name, its network, and the software of [`crate::provision::ensure_cluster`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its host name.
    pub name: String,
    /// Its number, from 1: its hardware's address ends in it.
    pub number: u8,
    /// Where the switch listens for it.
    pub socket: PathBuf,
    /// Which Slurm that is.
    pub slurm: SlurmRelease,
}

/// A host directory inside the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The same absolute path on both sides.
    pub path: PathBuf,
    /// Live or a copy.
    pub kind: ShareKind,
}

/// How a host directory gets into the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareKind {
    /// The directory itself, read and written live.
    Live,
    /// A copy made at boot; the node's changes are lost. Reproducible runs need this.
    Copy,
}

impl NodeSpec {
    /// Four CPUs, 2 GiB, no shares.
    pub fn new(kernel: KernelLine) -> NodeSpec {
        NodeSpec {
            kernel,
            topology: Topology::flat(4),
            memory_mib: 2048,
            accelerator: Accelerator::Auto,
            features: Vec::new(),
            emulator: Emulator::Standard,
            kernel_arguments: Vec::new(),
            systemd: false,
            secure_boot: false,
            plugins: Vec::new(),
            reproducible: None,
            counted_time: false,
            empty_sockets: 0,
            nvme_mib: 0,
            nvme_mdts: None,
            nvme_functions: 0,
            nvme_more: false,
            iommu: false,
            port: None,
            shares: Vec::new(),
            boot_timeout: Duration::from_secs(120),
            command_timeout: Duration::from_secs(300),
        }
    }

    /// The number of CPUs.
    pub fn cpus(&self) -> u32 {
        self.topology.cpus()
    }

    /// Shares a directory live.
    pub fn share(mut self, path: impl AsRef<Path>) -> NodeSpec {
        self.shares.push(Share { path: path.as_ref().to_owned(), kind: ShareKind::Live });
        self
    }

    /// Adds words to the kernel command line.
    pub fn argument(mut self, words: &str) -> NodeSpec {
        self.kernel_arguments.extend(words.split_whitespace().map(str::to_owned));
        self
    }

    /// Boots systemd, which takes longer.
    pub fn with_systemd(mut self) -> NodeSpec {
        self.systemd = true;
        self.boot_timeout = Duration::from_secs(400);
        self
    }

    /// Checks the description, before anything is started.
    pub fn check(&self) -> Result<()> {
        let refuse = |cause: String, remedy: &str| Err(Error::new("node description", cause, remedy));
        let Topology { numa_nodes, .. } = self.topology;
        if self.cpus() == 0 || self.cpus() > 255 {
            return refuse(format!("{} cpus", self.cpus()), "use 1 to 255");
        }
        if numa_nodes == 0 || !self.cpus().is_multiple_of(numa_nodes) || !self.memory_mib.is_multiple_of(numa_nodes) {
            return refuse(format!("{numa_nodes} numa nodes do not divide cpus and memory"), "make them even");
        }
        if self.memory_mib < 256 {
            return refuse(format!("{} MiB of memory", self.memory_mib), "the tree needs 256 MiB");
        }
        if self.reproducible.is_some() && !matches!(self.accelerator, Accelerator::Auto | Accelerator::TcgSingle) {
            return refuse(
                "reproducible runs exist under single-threaded tcg only".into(),
                "leave the accelerator to Auto",
            );
        }
        if self.counted_time && !matches!(self.accelerator, Accelerator::Auto | Accelerator::TcgSingle) {
            return refuse(
                "counted time exists under single-threaded tcg only".into(),
                "leave the accelerator to Auto",
            );
        }
        if self.port.is_some() && self.reproducible.is_some() {
            return refuse("a reproducible node in a cluster".into(), "other nodes' packets arrive when they like");
        }
        if self.secure_boot && self.accelerator == Accelerator::Kvm {
            return refuse(
                "secure boot under kvm".into(),
                "leave the accelerator to Auto: not every host's kvm has the firmware's mode",
            );
        }
        if self.counted_time && self.reproducible.is_some() {
            return refuse("counted time in a reproducible node".into(), "its time is counted anyway");
        }
        if !self.plugins.is_empty() && self.accelerator == Accelerator::Kvm {
            return refuse("plugins need tcg".into(), "do not ask for kvm");
        }
        for share in &self.shares {
            let system = [
                "/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/tmp",
                "/usr",
            ];
            if !share.path.is_absolute() || system.iter().any(|s| share.path == Path::new(s)) {
                return refuse(
                    format!("share {}", share.path.display()),
                    "share an absolute directory that the node's system does not use itself",
                );
            }
            if share.kind == ShareKind::Live && self.reproducible.is_some() {
                return refuse(
                    format!("live share {} in a reproducible node", share.path.display()),
                    "use ShareKind::Copy",
                );
            }
        }
        Ok(())
    }
}

impl Topology {
    /// One package of single-threaded cores.
    pub const fn flat(cpus: u32) -> Topology {
        Topology { sockets: 1, dies: 1, cores: cpus, threads: 1, numa_nodes: 1 }
    }

    /// All hardware threads.
    pub fn cpus(&self) -> u32 {
        self.sockets * self.dies * self.cores * self.threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut NodeSpec)) -> bool {
        let mut spec = NodeSpec::new(KernelLine::V6_12);
        change(&mut spec);
        spec.check().is_err()
    }

    #[test]
    fn the_plain_node_is_valid() {
        assert!(!refused(|_| ()));
        assert!(!refused(|s| *s = s.clone().share("/srv/work")));
    }

    #[test]
    fn impossible_nodes_are_refused() {
        assert!(refused(|s| s.topology.cores = 0));
        assert!(refused(|s| s.topology.dies = 0));
        assert!(refused(|s| s.topology.numa_nodes = 3));
        assert!(refused(|s| s.memory_mib = 64));
        assert!(refused(|s| *s = s.clone().share("/usr")));
        assert!(refused(|s| *s = s.clone().share("relative")));
        assert!(refused(|s| (s.reproducible, s.accelerator) = (Some(1), Accelerator::Kvm)));
        assert!(refused(|s| (s.counted_time, s.accelerator) = (true, Accelerator::Tcg)));
        assert!(refused(|s| (s.counted_time, s.reproducible) = (true, Some(1))));
        assert!(refused(|s| {
            s.reproducible = Some(1);
            *s = s.clone().share("/srv");
        }));
    }
}
