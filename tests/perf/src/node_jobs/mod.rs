// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `jobs`: what the jobs of a batch system cost that have cores of their own. Writes `build/bench/jobs.json`.
//!
//! Owns the order of the parts and their nodes. Times are of a cluster of one node with Slurm (`begins.rs`, `account.rs`);
//! instructions are counted in a second node (`changes.rs`, `beside.rs`), and in a cluster of two (`messages.rs`).

mod account;
mod begins;
mod beside;
mod changes;
mod messages;

use std::fs;

use tacet_node::cluster::{Cluster, ClusterSpec};
use tacet_node::{Cache, Node, provision};

use crate::Result;
use crate::configuration::{Settings, counted_node, timed_node};
use crate::guest::Guest;
use crate::metric::{Metric, Metrics, write};
use crate::programs::Programs;
use crate::provenance::place;

/// Measures everything.
pub fn node_jobs(cache: &Cache, settings: &Settings) -> Result<Vec<Metric>> {
    let programs = Programs::build(cache)?;
    let out = programs.build_directory().join("bench");
    fs::create_dir_all(&out)?;

    let node = Node::boot(cache, &counted_node(settings.kernel, 4, &programs))?;
    let mut metrics = Metrics::at(&place(&node, programs.top()));
    let guest = Guest { node: &node, programs: &programs };
    eprintln!("measuring: instructions of grow and shrink");
    changes::changes(&guest, &mut metrics)?;
    eprintln!("measuring: a job beside another");
    beside::beside(&guest, settings, &mut metrics)?;
    node.power_off()?;

    let mut spec = ClusterSpec::new(settings.kernel, 1);
    provision::ensure_cluster(cache, spec.slurm)?;
    spec.node = timed_node(settings.kernel, 4, &programs);
    let cluster = Cluster::up(cache, &spec)?;
    let node = cluster.node("n1")?;
    let guest = Guest { node: &node, programs: &programs };
    let mut timed = Metrics::at(&place(&node, programs.top()));
    eprintln!("measuring: times of begin and end beside those of srun");
    begins::begins(&guest, &mut timed)?;
    eprintln!("measuring: the CPU time of a computing job");
    account::account(&guest, &mut timed)?;
    metrics.append(timed);
    drop(node);
    drop(cluster);

    let mut spec = ClusterSpec::new(settings.kernel, 2);
    spec.node = counted_node(settings.kernel, 4, &programs);
    let cluster = Cluster::up(cache, &spec)?;
    let mut counted = Metrics::at(&place(&*cluster.node("n1")?, programs.top()));
    eprintln!("measuring: messages between two nodes");
    messages::messages(&cluster, &programs, &mut counted)?;
    metrics.append(counted);
    let metrics = metrics.into_vec();
    write(&metrics, &out.join("jobs.json"))?;
    Ok(metrics)
}
