// SPDX-License-Identifier: Apache-2.0 OR MIT
//! MPI between nodes: Debian's MPICH and Open MPI, two ranks on each node, on Linux and on partitions of both nodes. `srun`
//! starts the ranks, or the MPI's own launcher by ssh.
//!
//! The program is compiled on a node, as a user would, and is the same file on both sides. What `cargo xtask build` has
//! made is needed besides.

use std::fs;
use std::path::PathBuf;

use super::{cluster, lines};

const SOURCE: &str = include_str!("exchange.c");
const SSH: &str = include_str!("ssh.sh");
/// A CPU for each rank of a node. Linux keeps CPUs 0 and 1, which Slurm gives to jobs of two CPUs first.
const PARTITION: [&str; 2] = ["2", "3"];
const NODES: [&str; 2] = ["n1", "n2"];
const RANKS: usize = 4;
const ROUNDS: u32 = 12;
/// With `-n4` alone Slurm fills the first node: three ranks run on n1, and one on n2.
const SRUN: &str = "srun -N2 -n4 --ntasks-per-node=2 --cpu-bind=none";

/// What the repository has built; the nodes see it at the same path.
pub fn build_directory() -> PathBuf {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../build");
    fs::canonicalize(directory).expect("cargo xtask build")
}

/// Compiles a program that all nodes see, with the compiler of this MPI.
fn compiled(mpi: &str) -> String {
    fs::write(cluster().home().join("exchange.c"), SOURCE).expect("written");
    let program = format!("/home/exchange.{mpi}");
    assert!(lines("n1", &format!("mpicc.{mpi} -O2 -Wall -Wextra -Werror -o {program} /home/exchange.c")).is_empty());
    program
}

/// What the ranks say: their results, and their places (host and CPU).
fn ranks(launcher: &str, words: &str) -> (Vec<String>, Vec<(String, String)>) {
    let command = format!("{launcher} {words} {ROUNDS}");
    let said = lines("n1", &command);
    let results: Vec<String> = said.iter().filter(|line| line.starts_with("result ")).cloned().collect();
    let place = |line: &String| {
        let mut words = line.strip_prefix("place ")?.split(' ').skip(1);
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    let places: Vec<(String, String)> = said.iter().filter_map(place).collect();
    assert_eq!((results.len(), places.len()), (RANKS, RANKS), "{command}: {said:?}");
    (results, places)
}

/// Runs the program on Linux and on the partitions: same results, and each rank on a core of its own.
fn is_the_same_hosted(mpi: &str, launcher: &str) {
    let program = compiled(mpi);
    let (native, _) = ranks(launcher, &program);
    for node in NODES {
        // no udev gives the device its group here
        lines(node, "tacet up --cpus 2-3 --memory 256M >/dev/null && chmod 666 /dev/tacet");
    }
    let (hosted, places) = ranks(launcher, &format!("tacet run -- {program}"));
    for node in NODES {
        lines(node, "tacet down >/dev/null");
    }
    assert_eq!(hosted, native, "{launcher}");
    for node in NODES {
        let mut cpus: Vec<&str> = places.iter().filter(|(host, _)| host == node).map(|(_, cpu)| cpu.as_str()).collect();
        cpus.sort_unstable();
        assert_eq!(cpus, PARTITION, "{launcher}: {places:?}");
    }
}

/// A user's command that starts ranks by ssh. It does not see Slurm: the host's commands have none of its variables, by
/// which such a launcher would have `srun` start its daemons.
fn over_ssh(launcher: &str) -> String {
    for node in NODES {
        lines(node, SSH);
    }
    format!("runuser -u alice -- env --chdir=/home/alice {launcher}")
}

#[test]
#[ignore = "boots a cluster"]
fn ranks_of_mpich_on_two_nodes_compute_the_same_on_cores() {
    is_the_same_hosted("mpich", &format!("{SRUN} --mpi=pmi2"));
}

#[test]
#[ignore = "boots a cluster"]
fn ranks_of_open_mpi_on_two_nodes_compute_the_same_on_cores() {
    is_the_same_hosted("openmpi", &format!("{SRUN} --mpi=pmix"));
}

#[test]
#[ignore = "boots a cluster"]
fn ranks_that_mpich_starts_by_ssh_compute_the_same_on_cores() {
    is_the_same_hosted("mpich", &over_ssh("mpiexec.hydra -hosts n1:2,n2:2"));
}

#[test]
#[ignore = "boots a cluster"]
fn ranks_that_open_mpi_starts_by_ssh_compute_the_same_on_cores() {
    is_the_same_hosted("openmpi", &over_ssh("mpirun.openmpi --host n1:2,n2:2"));
}
