// SPDX-License-Identifier: Apache-2.0 OR MIT
//! This machine, as `/sys` and `/proc` describe it.
//!
//! Called by plans, checks and log readers. It owns the paths; tests give it another root. It must never write.

use std::path::{Path, PathBuf};

use tacet_words::status::MACHINE;

use crate::{CpuSet, Error, Result, format_bytes};

#[derive(Debug, Clone)]
pub struct Machine {
    root: PathBuf,
}

impl Default for Machine {
    fn default() -> Self {
        Machine::at("/")
    }
}

impl Machine {
    /// A machine whose `/sys` and `/proc` lie under `root`.
    pub fn at(root: impl Into<PathBuf>) -> Machine {
        Machine { root: root.into() }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A small file's text without the last newline; none if it cannot be read.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let bytes = std::fs::read(self.path(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_string())
    }

    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// CPUs that Linux runs on.
    pub fn online(&self) -> Result<CpuSet> {
        self.cpu_list("online")
    }

    pub fn possible(&self) -> Result<CpuSet> {
        self.cpu_list("possible")
    }

    pub fn present(&self) -> Result<CpuSet> {
        self.cpu_list("present")
    }

    /// `isolcpus=` and `nohz_full=`; empty where the kernel has neither.
    pub(crate) fn isolated(&self) -> CpuSet {
        let list = |name| self.cpu_list(name).unwrap_or_default();
        list("isolated").union(&list("nohz_full"))
    }

    fn cpu_list(&self, name: &str) -> Result<CpuSet> {
        let path = format!("sys/devices/system/cpu/{name}");
        let text = std::fs::read_to_string(self.path(&path));
        let text = text.map_err(|io| Error::io(format!("/{path}"), &io, "sysfs must be mounted on /sys"))?;
        if text.trim() == "(null)" { Ok(CpuSet::default()) } else { text.parse() }
    }

    /// The hardware threads of the CPU's core, including the CPU itself.
    pub fn siblings(&self, cpu: u32) -> CpuSet {
        let text = self.text(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
        let mut siblings: CpuSet = text.and_then(|text| text.parse().ok()).unwrap_or_default();
        siblings.insert(cpu);
        siblings
    }

    /// Can Linux take the CPU offline?
    pub fn hotpluggable(&self, cpu: u32) -> bool {
        self.exists(&format!("sys/devices/system/cpu/cpu{cpu}/online"))
    }

    /// NUMA nodes that are online; node 0 if the kernel does not list nodes.
    pub fn nodes(&self) -> CpuSet {
        let nodes: CpuSet =
            self.text("sys/devices/system/node/online").and_then(|text| text.parse().ok()).unwrap_or_default();
        if nodes.is_empty() { [0].into_iter().collect() } else { nodes }
    }

    pub fn node_of(&self, cpu: u32) -> u32 {
        let on = |node: &u32| self.exists(&format!("sys/devices/system/cpu/cpu{cpu}/node{node}"));
        self.nodes().iter().find(on).unwrap_or(0)
    }

    /// The memory of a NUMA node, in bytes, whoever has it; none if the kernel does not say.
    pub(crate) fn node_memory(&self, node: u32) -> Option<u64> {
        let own = self.text(&format!("sys/devices/system/node/node{node}/meminfo"));
        let text = own.or_else(|| self.text("proc/meminfo").filter(|_| self.nodes().count() == 1))?;
        let (_, rest) = text.split_once("MemTotal:")?;
        rest.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    }

    /// Refuses a node in an emulator that has more memory than this machine.
    pub fn can_emulate(&self, bytes: u64) -> Result<()> {
        let all: Option<u64> = self.nodes().iter().map(|node| self.node_memory(node)).sum();
        match all {
            Some(all) if bytes > all => {
                let object = format!("a node of {}", format_bytes(bytes));
                let cause = format!("this machine has {}", format_bytes(all & !((1 << 20) - 1)));
                Err(Error::new(object, cause, "ask for less (--node-memory, --process-memory)").with_status(MACHINE))
            }
            _ => Ok(()),
        }
    }

    /// Every online CPU except the first core: Linux keeps all hardware threads of that one.
    pub fn propose_cpus(&self) -> Result<CpuSet> {
        let online = self.online()?;
        let first = online.iter().next().unwrap_or(0);
        let kept = self.siblings(0).union(&self.siblings(first));
        Ok(online.without(&kept).iter().filter(|cpu| self.hotpluggable(*cpu)).collect())
    }

    pub fn release(&self) -> String {
        self.text("proc/sys/kernel/osrelease").unwrap_or_default()
    }

    /// Flags of the first processor in `/proc/cpuinfo`.
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        let info = self.text("proc/cpuinfo").unwrap_or_default();
        let flags = info.lines().find(|line| line.starts_with("flags"));
        flags.is_some_and(|line| line.split_whitespace().any(|word| word == flag))
    }
}

/// The prefix of the running command: the directory that holds its `bin/`.
pub fn installation() -> PathBuf {
    let executable = std::env::current_exe().ok();
    let prefix = executable.as_deref().and_then(Path::parent).and_then(Path::parent);
    prefix.map_or_else(|| PathBuf::from("/usr"), Path::to_path_buf)
}
