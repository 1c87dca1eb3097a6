// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `srun --tacet` with Debian 12's Slurm, in which the plugin cannot start `tacet run`: the user writes it.
//!
//! Boots two nodes, as `slurm.rs` does: `cargo test -p tacet-node --test slurm_22_05 -- --ignored --test-threads=1`. Its tests of
//! jobs, of kept CPUs and of steps run here too; the others (many users, other words than `--tacet`, scripts instead of the
//! plugin, daemons killed in the middle of a begin or an end) run with the newer Slurm alone.

use tacet_node::SlurmRelease;

#[path = "slurm/job.rs"]
mod job;
#[path = "slurm/kept.rs"]
mod kept;
#[path = "slurm/site.rs"]
mod site;
#[path = "slurm/steps.rs"]
mod steps;

use site::{QUIET, WHERE, does, lines, refused};

const SLURM: SlurmRelease = SlurmRelease::Debian12;

#[test]
#[ignore = "boots a cluster"]
fn a_program_that_the_user_does_not_host_is_refused_in_one_line_and_the_node_stays() {
    assert_eq!(lines("srun --version"), ["slurm-wlm 22.05.8"]);
    refused(
        "a plugin of Slurm before 23.11 starts no program: `srun --tacet tacet run ./a.out`",
        &format!("srun -w n1 -n1 -c3 --tacet {WHERE}"),
    );
    does(QUIET);
}
