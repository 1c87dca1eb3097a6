// SPDX-License-Identifier: Apache-2.0 OR MIT
//! MPI between nodes: Debian's MPICH and Open MPI under `srun`, on Linux and on partitions of both nodes.
//!
//! The program is compiled on a node, as a user would, and is the same file on both sides. What `cargo xtask build` has
//! made is needed besides.

use std::fs;
use std::path::PathBuf;

use super::{cluster, lines};

const SOURCE: &str = include_str!("exchange.c");
/// Linux keeps CPUs 0 and 1, which Slurm gives to jobs of two CPUs first.
const PARTITION: [&str; 2] = ["2", "3"];
const NODES: [&str; 2] = ["n1", "n2"];
const ROUNDS: u32 = 12;

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
fn ranks(manager: &str, ranks: usize, words: &str) -> (Vec<String>, Vec<(String, String)>) {
    let srun = format!("srun -N2 -n{ranks} --cpu-bind=none --mpi={manager} {words} {ROUNDS}");
    let said = lines("n1", &srun);
    let results: Vec<String> = said.iter().filter(|line| line.starts_with("result ")).cloned().collect();
    let place = |line: &String| {
        let mut words = line.strip_prefix("place ")?.split(' ').skip(1);
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    let places: Vec<(String, String)> = said.iter().filter_map(place).collect();
    assert_eq!((results.len(), places.len()), (ranks, ranks), "{srun}: {said:?}");
    (results, places)
}

/// Runs the program on Linux and on the partitions: same results, and each rank on a core of its node.
fn is_the_same_hosted(mpi: &str, manager: &str, count: usize) {
    let program = compiled(mpi);
    let (native, _) = ranks(manager, count, &program);
    for node in NODES {
        lines(node, "tacet up --cpus 2-3 --memory 256M >/dev/null");
    }
    let (hosted, places) = ranks(manager, count, &format!("tacet run -- {program}"));
    for node in NODES {
        lines(node, "tacet down >/dev/null");
    }
    assert_eq!(hosted, native, "{mpi}");
    for node in NODES {
        let mut cpus: Vec<&str> = places.iter().filter(|(host, _)| host == node).map(|(_, cpu)| cpu.as_str()).collect();
        cpus.sort_unstable();
        let own = cpus.iter().all(|cpu| PARTITION.contains(cpu));
        cpus.dedup();
        assert!(own && cpus.len() == count / NODES.len(), "{mpi}: {places:?}");
    }
}

#[test]
#[ignore = "boots a cluster"]
fn ranks_of_mpich_on_two_nodes_compute_the_same_on_cores() {
    is_the_same_hosted("mpich", "pmi2", 2);
}

#[test]
#[ignore = "boots a cluster"]
fn ranks_of_open_mpi_on_two_nodes_compute_the_same_on_cores() {
    is_the_same_hosted("openmpi", "pmix", 2);
}
