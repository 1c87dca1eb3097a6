// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The examples of each command of `tacet`, for its help and its man pages.
//!
//! Nobody executes them here; a test parses each.

use clap::{Command, CommandFactory};
use tacet_words::examples::{Examples, add};

use super::Cli;

/// The description of the arguments, with the examples.
pub fn described() -> Command {
    add(Cli::command(), EXAMPLES)
}

const EXAMPLES: &Examples = &[
    (
        "",
        &[
            ("tacet doctor", "can this machine run a partition? what works without one?"),
            ("tacet noise measure --duration 10s", "how much time does Linux take from programs here?"),
            ("tacet tune plan", "what would keep it away from their CPUs?"),
            ("sudo tacet up --cpus 2-3 --memory 1G", "take two CPUs and 1 GiB from Linux"),
            ("tacet run ./a.out", "run a program there"),
            ("sudo tacet down", "give everything back"),
        ],
    ),
    (
        "up",
        &[
            ("tacet up --cpus 2-3 --memory 1G --dry-run", "say what would be taken, and whether it fits"),
            ("sudo tacet up --cpus 2-3 --memory 1G", "take two CPUs and 1 GiB, and start the co-kernel there"),
            ("sudo tacet up --cpus 2-3,34-35 --numa-memory 0=2G,1=2G", "take memory of two NUMA nodes"),
        ],
    ),
    (
        "down",
        &[
            ("sudo tacet down", "give everything back; refused while programs are hosted"),
            ("sudo tacet down --force", "send their threads back to Linux first, where they continue"),
        ],
    ),
    (
        "grow",
        &[
            ("sudo tacet grow --cpus 4-5", "have two more of the CPUs that `tacet up --spare` named"),
            ("sudo tacet grow --memory 1G", "have 1 GiB more for programs"),
        ],
    ),
    (
        "shrink",
        &[
            ("sudo tacet shrink --cpus 4-5", "give them back to Linux; their threads go to other CPUs"),
            ("sudo tacet shrink --memory 1G", "give back what joined and no program has"),
        ],
    ),
    (
        "job begin",
        &[(
            "sudo tacet job begin 4711 --user alice --cpus 2-3 --memory 2G",
            "in a prologue: CPUs and memory for a job",
        )],
    ),
    ("job end", &[("sudo tacet job end 4711", "in an epilogue: end its programs; its CPUs are free for the next job")]),
    ("job list", &[("tacet job list --json", "which jobs are there, and what do they use?")]),
    ("job release", &[("sudo tacet job release --cpus 2-3", "a job without Tacet needs these CPUs")]),
    ("job sweep", &[("sudo tacet job sweep", "end the jobs that their batch system has forgotten")]),
    ("status", &[("tacet status", "is a partition up, and what do its cores do?")]),
    (
        "run",
        &[
            ("tacet run ./a.out input", "run a program on the partition"),
            ("tacet run --follow -- mpiexec -n 2 ./a.out", "host its children too"),
            ("tacet run --wait ./a.out", "wait until another user's programs have left the partition"),
            ("tacet run --profile ./a.out", "and show what took its time besides its own code"),
        ],
    ),
    ("decouple", &[("sudo tacet decouple 4711 --cpu 3", "move a running process to CPU 3 of the partition")]),
    ("recouple", &[("sudo tacet recouple 4711", "bring it back to Linux")]),
    ("ps", &[("tacet ps", "list the hosted threads")]),
    (
        "top",
        &[
            ("tacet top --every 5s", "a table each 5 s; on a terminal letters sort it, and q ends"),
            ("tacet top --sort calls -n 1", "once, who calls most first"),
            ("tacet top 4711 -n 1", "one table of a process, with its total costs"),
        ],
    ),
    ("pico", &[("tacet pico", "which devices have a fast path, and who used it?")]),
    ("log", &[("tacet log --follow", "print the log, and go on with what is added")]),
    (
        "doctor",
        &[
            ("tacet doctor", "can this machine run a partition? what works without one?"),
            ("tacet doctor --slurm", "is Slurm configured so that `srun --tacet` works on this node?"),
        ],
    ),
    (
        "node run",
        &[
            ("tacet node run --kernel 7 -- uname -r", "boot a node of Linux 7 and run a command in it"),
            ("tacet node run --node-cpus 8 --node-memory 4G ./test.sh", "in a larger one"),
        ],
    ),
    ("node shell", &[("tacet node shell --kernel 6.12", "boot a node and look around")]),
    (
        "node cluster",
        &[
            ("tacet node cluster --nodes 3", "boot three nodes with Slurm; Ctrl-C switches them off"),
            ("tacet node cluster --slurm 22.05", "boot two nodes with Debian 12's Slurm"),
            ("tacet node cluster run -- srun -N2 hostname", "and from another terminal, run something there"),
        ],
    ),
    (
        "node cluster run",
        &[
            ("tacet node cluster run -- srun -N2 hostname", "run a job of two nodes"),
            ("tacet node cluster run --user alice --on n2 -- sbatch job.sh", "as another user, from the second node"),
        ],
    ),
    ("node cluster status", &[("tacet node cluster status", "which nodes are up, and what does Slurm think?")]),
    ("node cluster kill", &[("tacet node cluster kill n2", "what happens to a job whose node loses power?")]),
    ("node cluster boot", &[("tacet node cluster boot n2", "boot it again; Slurm takes it back")]),
    ("node cluster down", &[("tacet node cluster down", "switch everything off")]),
    ("node list", &[("tacet node list", "name the kernels that a node can boot")]),
    (
        "node setup",
        &[("tacet node setup --dry-run", "say what is missing"), ("tacet node setup", "fetch and build it")],
    ),
    (
        "static boot",
        &[
            ("tacet static boot --nodes 2 --node-memory 512M", "boot two emulated nodes in the background"),
            ("tacet static boot --down", "end them"),
            (
                "tacet static boot --metal --nodes 2 --address 10.1.0.2/24 --iod 10.1.0.1:4070 --key nodes.key",
                "print the entries for GRUB that boot nodes of metal",
            ),
        ],
    ),
    (
        "static run",
        &[
            ("tacet static run ./a.out", "boot a static node, run a program on it, end the node"),
            ("tacet static run --nodes 2 --processes 2 --process-memory 64M ./a.out", "four processes on two nodes"),
        ],
    ),
    ("static status", &[("tacet static status", "show nodes, jobs and dropped packets")]),
    (
        "static kill",
        &[
            ("tacet static kill --signal INT 1", "interrupt job 1"),
            ("tacet static kill --all", "end all jobs and all nodes of the set"),
        ],
    ),
    ("static drain", &[("tacet static drain 3", "let node 3 end its job, and give it no other")]),
    ("static return", &[("tacet static return 3", "give it jobs again")]),
    ("static reset", &[("tacet static reset 3", "boot node 3 again")]),
    ("static power-off", &[("tacet static power-off 3", "turn node 3 off")]),
    (
        "static map",
        &[
            ("tacet static map --processes 2 ./a.out", "where would the program's memory lie?"),
            ("tacet static map --job 1", "where does that of job 1 lie?"),
        ],
    ),
    ("static console", &[("tacet static console 0 --follow", "what node 0 says on its serial line")]),
    ("iod", &[("tacet iod --listen 10.1.0.1:4070 --key nodes.key", "serve nodes of metal")]),
    (
        "compare",
        &[
            ("sudo tacet compare --cpus 2-3 -- ./a.out input", "five runs on each rung: does a higher one pay?"),
            ("tacet compare --rungs default,tuned --dry-run ./a.out", "say what would be done for two rungs"),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_examples_that_parse() {
        assert_eq!(tacet_words::examples::wrong(&described(), "tacet"), Vec::<String>::new());
    }
}
