// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Boots a cluster, runs one script on its first node: `cargo run --example cluster -- NODES SCRIPT SLURM`.

use std::time::Instant;

use tacet_node::cluster::{Cluster, ClusterSpec};
use tacet_node::{Cache, Command, KernelLine, Result, provision};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let nodes = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(2);
    let script = arguments.next().unwrap_or_else(|| "srun -N2 hostname".to_owned());
    let mut spec = ClusterSpec::new(KernelLine::V6_12, nodes);
    if let Some(slurm) = arguments.next() {
        spec.slurm = slurm.parse()?;
    }
    let cache = Cache::open()?;
    provision::ensure(&cache)?;
    provision::ensure_cluster(&cache, spec.slurm)?;
    let start = Instant::now();
    let cluster = Cluster::up(&cache, &spec)?;
    eprintln!("up after {:.1} s", start.elapsed().as_secs_f32());
    let output = cluster.node("n1")?.run(&Command::shell(&script))?;
    print!("{}", output.text());
    eprint!("{}", output.error_text());
    drop(cluster);
    std::process::exit(output.status.shell_code().into())
}
