// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The CPUs and the memory that `up` is going to take, checked against the machine before the module is asked.
//!
//! Called by `tacet up`; with `--dry-run` nothing else happens. It must not change anything. The module checks again.

use serde::Serialize;
use tacet_words::status::{MACHINE, USAGE};

use crate::size::LARGE_PAGE;
use crate::{CpuSet, Error, Isolation, Machine, NodeMemory, Result, format_bytes, round_up_to_large_page};

pub(crate) const DEFAULT_MEMORY: u64 = 64 << 20;
const MAX_NODES: usize = tacet_abi::TACET_MAX_NODES as usize;

/// The flags of a person.
#[derive(Debug, Clone, Default)]
pub struct PlanRequest {
    pub cpus: Option<CpuSet>,
    /// Those that may join later; with any, `cpus` may be none.
    pub spare: Option<CpuSet>,
    /// The total, split evenly over the NUMA nodes of the CPUs.
    pub memory: Option<u64>,
    /// Instead of `memory`: bytes of each node.
    pub numa_memory: Option<Vec<NodeMemory>>,
    /// Several users at a time, even where they can read each other.
    pub mix_users: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    pub cpus: CpuSet,
    /// Those that may join later.
    pub spare: CpuSet,
    /// This code chose the CPUs, not the person.
    pub cpus_proposed: bool,
    pub memory: Vec<NodeMemory>,
    /// What keeps users apart.
    pub isolation: Isolation,
    /// One user at a time is needed, and not wanted.
    pub mix_users: bool,
    /// Choices that work but may cost performance.
    pub warnings: Vec<String>,
}

impl Plan {
    pub fn make(machine: &Machine, request: &PlanRequest) -> Result<Plan> {
        let online = machine.online()?;
        let proposed = request.cpus.is_none() && request.spare.is_none();
        let cpus = if proposed { machine.propose_cpus()? } else { request.cpus.unwrap_or_default() };
        let spare = request.spare.unwrap_or_default().without(&cpus);
        let reach = cpus.union(&spare);
        if proposed && cpus.is_empty() {
            let cause = "they are one core, and the first core stays with Linux";
            return Err(Error::new(online.named(), cause, "name CPUs with --cpus, or use a machine with more")
                .with_status(MACHINE));
        }
        check_cpus(machine, &reach, &online)?;
        let memory = match &request.numa_memory {
            Some(nodes) => named(machine, nodes)?,
            None => split(machine, &reach, request.memory.unwrap_or(DEFAULT_MEMORY))?,
        };
        fits(machine, &memory)?;
        let isolation = Isolation::find(machine, &reach);
        let mix_users = request.mix_users && isolation.measures.one_user;
        let mut warnings = warnings(machine, &reach, &online, &isolation);
        if mix_users {
            warnings.push(format!("users are mixed: one can read another's data ({})", isolation.because.join(", ")));
        }
        Ok(Plan { cpus, spare, cpus_proposed: proposed, memory, isolation, mix_users, warnings })
    }

    pub fn memory_bytes(&self) -> u64 {
        self.memory.iter().fold(0, |sum, entry| sum.saturating_add(entry.bytes))
    }
}

fn check_cpus(machine: &Machine, cpus: &CpuSet, online: &CpuSet) -> Result<()> {
    let refuse =
        |cpu: u32, cause: &str, remedy: &str| Err(Error::new(format!("CPU {cpu}"), cause, remedy).with_status(USAGE));
    if cpus.is_empty() {
        return Err(Error::new("CPU list", "it is empty", "name at least one CPU, like --cpus 2-3").with_status(USAGE));
    }
    if cpus.contains(0) {
        return refuse(0, "Linux keeps its first CPU", "leave it out of --cpus");
    }
    let present = machine.present().unwrap_or(*online);
    for cpu in cpus.iter() {
        if !present.contains(cpu) && !online.contains(cpu) {
            return refuse(
                cpu,
                "this machine does not have it, or a partition has it",
                "see `lscpu -e` and `tacet status`",
            );
        }
        if !online.contains(cpu) {
            let remedy = format!("`echo 1 > /sys/devices/system/cpu/cpu{cpu}/online` as root, or choose another");
            return refuse(cpu, "it is offline", &remedy);
        }
        if !machine.hotpluggable(cpu) {
            return refuse(cpu, "Linux cannot take it offline", "choose another; see `tacet doctor`");
        }
    }
    if online.without(cpus).is_empty() {
        return Err(
            Error::new(cpus.named(), "none would be left to Linux", "leave at least one out").with_status(USAGE)
        );
    }
    Ok(())
}

fn named(machine: &Machine, wanted: &[NodeMemory]) -> Result<Vec<NodeMemory>> {
    let nodes = machine.nodes();
    let mut memory: Vec<NodeMemory> = Vec::new();
    for entry in wanted {
        let refuse = |cause: &str| {
            Err(Error::new(format!("NUMA node {}", entry.node), cause, "see `lscpu` for the nodes").with_status(USAGE))
        };
        if !nodes.contains(entry.node) {
            return refuse("this machine does not have it");
        }
        if memory.iter().any(|other| other.node == entry.node) {
            return refuse("it is given twice");
        }
        if entry.bytes == 0 {
            return refuse("its size is 0");
        }
        memory.push(NodeMemory { node: entry.node, bytes: round_up_to_large_page(entry.bytes) });
    }
    limited(memory)
}

/// Splits the memory evenly over the nodes of the CPUs, each share rounded up.
fn split(machine: &Machine, cpus: &CpuSet, bytes: u64) -> Result<Vec<NodeMemory>> {
    if bytes == 0 {
        return Err(Error::new("memory", "its size is 0", "ask for at least 2M").with_status(USAGE));
    }
    let nodes: CpuSet = cpus.iter().map(|cpu| machine.node_of(cpu)).collect();
    let share = round_up_to_large_page(bytes.div_ceil(nodes.count() as u64)).max(LARGE_PAGE);
    limited(nodes.iter().map(|node| NodeMemory { node, bytes: share }).collect())
}

/// The kernel may still not have as much in contiguous blocks; the module finds out.
fn fits(machine: &Machine, memory: &[NodeMemory]) -> Result<()> {
    for NodeMemory { node, bytes } in memory {
        if let Some(total) = machine.node_memory(*node).filter(|total| bytes > total) {
            let cause = format!("it does not fit: NUMA node {node} has {}", megabytes(total));
            let object = format!("memory of {}", format_bytes(*bytes));
            return Err(Error::new(object, cause, "ask for less with --memory").with_status(MACHINE));
        }
    }
    Ok(())
}

/// Rounded down: nobody can take the rest.
fn megabytes(bytes: u64) -> String {
    format_bytes(bytes & !((1 << 20) - 1))
}

fn limited(memory: Vec<NodeMemory>) -> Result<Vec<NodeMemory>> {
    match memory.len() {
        0 => Err(Error::new("NUMA memory", "no node is given", "write it like 0=512M,1=512M").with_status(USAGE)),
        1..=MAX_NODES => Ok(memory),
        more => {
            let cause = format!("{more} nodes; a partition can span at most {MAX_NODES}");
            Err(Error::new("NUMA nodes", cause, "choose CPUs of fewer nodes").with_status(USAGE))
        }
    }
}

fn warnings(machine: &Machine, cpus: &CpuSet, online: &CpuSet, isolation: &Isolation) -> Vec<String> {
    let kept = online.without(cpus);
    let leaks = match isolation.between_threads.as_slice() {
        [] => String::new(),
        bugs => format!(", and programs on the two can read each other's data ({})", bugs.join(", ")),
    };
    let torn = cpus.iter().filter_map(|cpu| {
        let left = machine.siblings(cpu).intersection(&kept);
        let text = format!(
            "CPU {cpu} shares its core with {}, which Linux keeps: its work there will disturb this CPU{leaks}",
            left.named()
        );
        (!left.is_empty()).then_some(text)
    });
    torn.collect()
}
