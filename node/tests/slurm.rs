// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `srun --tacet` on a cluster: the plugin of packaging/slurm from a job's begin to its end, whatever is killed meanwhile.
//!
//! Boots two nodes: `cargo xtask build`, then `cargo test -p tacet-node --test slurm -- --ignored --test-threads=1`. The tests
//! share the cluster, and each leaves it without a job.

use std::path::Path;

use tacet_node::SlurmRelease;

#[path = "slurm/crowd.rs"]
mod crowd;
#[path = "slurm/job.rs"]
mod job;
#[path = "slurm/kept.rs"]
mod kept;
#[path = "slurm/killed.rs"]
mod killed;
#[path = "slurm/prologue.rs"]
mod prologue;
#[path = "slurm/rungs.rs"]
mod rungs;
#[path = "slurm/site.rs"]
mod site;
#[path = "slurm/steps.rs"]
mod steps;

const SLURM: SlurmRelease = SlurmRelease::Debian13;

#[test]
fn the_plugins_own_checks_pass() {
    let (plugin, out) = (site::top().join("packaging/slurm"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("slurm"));
    let out = format!("OUT={}", out.display());
    let mut make = std::process::Command::new("make");
    make.args(["-s", "-B", "CFLAGS=-O2 -Wall -Wextra -Werror", &out, "-C"]).arg(&plugin).arg("check");
    let output = make.output().expect("make");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
