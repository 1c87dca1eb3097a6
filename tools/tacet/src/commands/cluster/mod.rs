// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet node cluster`: one process holds a cluster (`hold.rs`), the others ask it through its door (`ask.rs`, `wire.rs`).
//!
//! Only flags, defaults and output are here; `tacet-node` owns what a cluster is.

mod ask;
mod hold;
mod wire;

use tacet_ctl::status::USAGE;
use tacet_ctl::{Error, Result};
use tacet_node::NodeSpec;
use tacet_node::cluster::ClusterSpec;

use super::node_error::from_node;
use crate::args::{ClusterCommand, NodeCluster};
use crate::output;

/// `has_memory`: the user chose the nodes' memory.
pub fn cluster(node: NodeSpec, has_memory: bool, args: NodeCluster, json: bool) -> Result<u8> {
    let Some(command) = args.command else {
        let mut spec = ClusterSpec::new(node.kernel, args.nodes.unwrap_or(2));
        if let Some(slurm) = &args.slurm {
            spec.slurm = slurm.parse().map_err(from_node).map_err(wrong)?;
        }
        let memory_mib = if has_memory { node.memory_mib } else { spec.node.memory_mib };
        spec.node = NodeSpec { memory_mib, ..node };
        spec.check().map_err(from_node).map_err(wrong)?;
        return if args.dry_run { rehearse(&spec, json) } else { hold::hold(spec, json) };
    };
    match command {
        ClusterCommand::Run(run) => ask::run(&run, json),
        ClusterCommand::Status => ask::status(json),
        ClusterCommand::Kill(node) => ask::change("kill", "be switched off", &node, json),
        ClusterCommand::Boot(node) => ask::change("boot", "boot", &node, json),
        ClusterCommand::Down { dry_run } => ask::down(dry_run, json),
    }
}

fn wrong(error: Error) -> Error {
    error.with_status(USAGE)
}

fn rehearse(spec: &ClusterSpec, json: bool) -> Result<u8> {
    let (nodes, cpus, memory_bytes) = (spec.nodes, spec.node.cpus(), u64::from(spec.node.memory_mib) << 20);
    let (kernel, slurm) = (spec.node.kernel.to_string(), spec.slurm.to_string());
    if json {
        output::json(&serde_json::json!({
            "nodes": nodes, "kernel": kernel, "slurm": slurm, "cpus": cpus, "memory_bytes": memory_bytes, "dry_run": true,
        }))?;
    } else {
        let memory = tacet_ctl::format_bytes(memory_bytes);
        let each = format!("Linux {kernel}, {cpus} CPUs and {memory} each");
        output::print(&format!("would boot {nodes} nodes with Slurm {slurm}, with {each}\n"))?;
    }
    Ok(0)
}
