// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processes and kernel threads, as `/proc` shows them. Reads only.

use crate::cpus::Cpus;
use crate::node::Node;

/// Flags of `include/linux/sched.h`: a kernel thread, and a thread whose affinity nobody may change.
const KERNEL_THREAD: u32 = 0x0020_0000;
const NOT_TO_BE_BOUND: u32 = 0x0400_0000;
/// Where the unified hierarchy is.
const GROUPS: &str = "/sys/fs/cgroup";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub id: u32,
    pub name: String,
    pub started: u64,
    pub allowed: Cpus,
    flags: u32,
}

impl Thread {
    pub fn is_of_the_kernel(&self) -> bool {
        self.flags & KERNEL_THREAD != 0
    }

    /// A kernel thread that is not tied to its CPU.
    pub fn may_be_bound(&self) -> bool {
        self.is_of_the_kernel() && self.flags & NOT_TO_BE_BOUND == 0
    }
}

/// `None` if it has ended, or `/proc` is not as expected.
pub fn thread(node: &dyn Node, id: u32) -> Option<Thread> {
    let stat = node.read(&format!("/proc/{id}/stat")).ok()?;
    // the name may hold any character, even parentheses
    let (head, tail) = stat.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    // proc(5) counts from 1; the first field here is the third, the state
    let field = |number: usize| tail.split_whitespace().nth(number - 3);
    let (flags, started) = (field(9)?.parse().ok()?, field(22)?.parse().ok()?);
    let status = node.read(&format!("/proc/{id}/status")).ok()?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(Thread { id, name, started, allowed: Cpus::from_list(allowed)?, flags })
}

/// All processes; each kernel thread counts as one.
pub fn all(node: &dyn Node) -> Vec<Thread> {
    let names = node.list("/proc").unwrap_or_default();
    names.iter().filter_map(|name| name.parse().ok()).filter_map(|id| thread(node, id)).collect()
}

/// All threads of all programs, not those of the kernel.
pub fn of_programs(node: &dyn Node) -> Vec<Thread> {
    let programs = all(node).into_iter().filter(|process| !process.is_of_the_kernel());
    let threads = |process: Thread| {
        let names = node.list(&format!("/proc/{}/task", process.id)).unwrap_or_default();
        let others = names.iter().filter_map(|name| name.parse().ok()).filter(|id| *id != process.id);
        let others: Vec<Thread> = others.filter_map(|id| thread(node, id)).collect();
        std::iter::once(process).chain(others)
    };
    programs.flat_map(threads).collect()
}

/// The CPUs that a process's cgroup allows: its own list, or that of the nearest group above which has one.
pub fn group_cpus(node: &dyn Node, id: u32) -> Option<Cpus> {
    let mut group = group(node, id)?;
    loop {
        let path = format!("{GROUPS}{}/cpuset.cpus.effective", group.trim_end_matches('/'));
        if let Some(cpus) = node.read(&path).ok().and_then(|text| Cpus::from_list(text.trim())) {
            return Some(cpus);
        }
        group = group.trim_end_matches('/').rsplit_once('/')?.0.to_owned();
    }
}

/// The cgroup of the unified hierarchy in which a process is: `/system.slice/sadc.service`.
pub fn group(node: &dyn Node, id: u32) -> Option<String> {
    let groups = node.read(&format!("/proc/{id}/cgroup")).ok()?;
    groups.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
}
