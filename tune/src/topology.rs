// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Chooses the application's CPUs if the user does not.
//!
//! It reads /sys and takes whole cores only, because the threads of a core share all that matters. CPU 0's core stays
//! with the system, because work that the kernel ties to a CPU is often there. Reads only.

use tacet_words::status::MACHINE;

use crate::cpus::Cpus;
use crate::error::{Error, Result};
use crate::journal::State;
use crate::node::Node;
use crate::plan;

/// Fugaku gives 2 cores of 50 to the system. On a large machine with several NUMA nodes, all system cores are in the
/// first.
const CORES_FOR_A_SYSTEM_CORE: usize = 32;

/// The hardware threads of a CPU's core, including the CPU itself.
pub fn siblings(node: &dyn Node, cpu: u32) -> Cpus {
    let text = node.read(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
    let siblings = text.ok().and_then(|text| Cpus::from_list(&text)).unwrap_or_default();
    siblings.union(&[cpu].into_iter().collect())
}

/// NUMA nodes with memory, and the CPUs of each.
pub fn memory_nodes(node: &dyn Node) -> Vec<(u32, Cpus)> {
    let list = |path: &str| node.read(path).ok().and_then(|text| Cpus::from_list(&text)).unwrap_or_default();
    let nodes = list("/sys/devices/system/node/has_memory");
    nodes.iter().map(|number| (number, list(&format!("/sys/devices/system/node/node{number}/cpulist")))).collect()
}

/// The CPUs to propose for the application: all cores except the first ones, one for each 32 cores.
pub fn propose(node: &dyn Node, state: &State) -> Result<Cpus> {
    let online = plan::online(node, state)?;
    let mut cores: Vec<Cpus> = Vec::new();
    for cpu in online.iter() {
        if !cores.iter().any(|core| core.contains(cpu)) {
            cores.push(siblings(node, cpu).intersection(&online));
        }
    }
    let kept = cores.len().div_ceil(CORES_FOR_A_SYSTEM_CORE);
    // an offline sibling looks like a core of its own, but is not among the first cores
    let rest = cores.iter().skip(kept).fold(Cpus::default(), |all, core| all.union(core));
    if rest.is_empty() {
        return Err(Error::new(
            "node",
            "it has one core, which the system needs",
            "tune a node with two cores or more",
        )
        .with_status(MACHINE));
    }
    Ok(rest)
}

/// Warnings about a choice of CPUs, in sentences.
pub fn objections(node: &dyn Node, application: &Cpus) -> Vec<String> {
    let mut said = Vec::new();
    if application.contains(0) {
        said.push("CPU 0 is the application's: the kernel ties work of its own to it".to_owned());
    }
    let split = |cpu: &u32| !siblings(node, *cpu).is_subset(application);
    let shared: Cpus = application.iter().filter(split).collect();
    if !shared.is_empty() {
        said.push(format!("{} share a core with the system's: what runs there is felt", shared.named()));
    }
    let outside = memory_nodes(node).into_iter().filter(|(_, cpus)| cpus.overlaps(application)).count();
    if outside > 1
        && memory_nodes(node).iter().any(|(_, cpus)| cpus.overlaps(application) && !cpus.is_subset(application))
    {
        said.push("the application and the system share a memory node".to_owned());
    }
    said
}
