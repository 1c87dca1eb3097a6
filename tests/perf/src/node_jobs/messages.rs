// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cost of a message between two nodes, hosted and on Linux: two ranks of MPICH, one on each node of a cluster, that
//! Slurm starts.
//!
//! Ranks wait by asking Linux for news again and again, so the figures grow with the time for which they wait: they are
//! those of one run in an emulator, and good for an order of magnitude.

use tacet_node::cluster::Cluster;

use crate::Result;
use crate::configuration::KEPT;
use crate::guest::Guest;
use crate::instructions::region;
use crate::metric::Metrics;
use crate::programs::Programs;

const ROUNDS: usize = 300;
/// Of the partition, for each rank.
const CPU: &str = "2";
const SRUN: [&str; 6] = ["srun", "-N2", "-n2", "--ntasks-per-node=1", "--cpu-bind=none", "--mpi=pmi2"];
const PARTS: [(&str, &str); 2] = [
    ("ping_pong", "8 bytes there and back between two nodes"),
    ("allreduce", "the sum of a number of each of two nodes"),
];

/// Adds the figures. The two nodes have the plugin and no partition; they have none afterwards.
pub fn messages(cluster: &Cluster, programs: &Programs, metrics: &mut Metrics) -> Result<()> {
    let nodes = [cluster.node("n1")?, cluster.node("n2")?];
    let guests = nodes.each_ref().map(|node| Guest { node, programs });
    let tacet = programs.tacet().display().to_string();
    let pairs = programs.program("pairs");
    let rounds = ROUNDS.to_string();
    for (name, what) in PARTS {
        let measured = |words: &[&str]| -> Result<f64> {
            guests[0].run(&[&SRUN[..], words].concat())?;
            let kernel: u64 = region(guests[0].node)?.iter().map(|counts| counts.kernel).sum();
            Ok(kernel as f64 / ROUNDS as f64)
        };
        let native = measured(&[&pairs, name, &rounds, CPU, CPU])?;
        for guest in &guests {
            guest.up(KEPT)?;
        }
        let hosted = measured(&[&tacet, "run", "--populate", "--", &pairs, name, &rounds])?;
        for guest in &guests {
            guest.down()?;
        }
        let how = format!(
            "{what}, by MPICH over TCP under srun: kernel instructions of a round on the first rank's node, all CPUs; \
             baseline: on Linux"
        );
        metrics.add(&format!("job_{name}_instructions"), hosted, "instructions", Some(native), &how);
    }
    Ok(())
}
