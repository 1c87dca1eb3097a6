// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rank of this process among the ranks of its parallel job on this node, from the launcher's environment
//! variables.
//!
//! Called by `tacet run`. It must not guess: inconsistent variables are an error that names them.

use crate::{Error, Result};

/// One of `count` processes that a launcher started on this node, numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    number: usize,
    count: usize,
}

/// The variables for number and count of MPICH and Intel MPI (Hydra), Open MPI, and MVAPICH.
const LAUNCHERS: [(&str, &str); 3] = [
    ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
];

/// The variables of Slurm's `srun`: number, node, and the counts of all nodes, like `4(x2),3` (srun(1)).
const SLURM: [&str; 3] = ["SLURM_LOCALID", "SLURM_NODEID", "SLURM_STEP_TASKS_PER_NODE"];

impl Rank {
    /// None if this process is not a rank of a job. `variable` reads the environment.
    pub fn find(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Rank>> {
        for (number, count) in LAUNCHERS {
            if let (Some(own), Some(all)) = (variable(number), variable(count)) {
                return Rank::new((number, &own), (count, &all), parse(count, &all)?).map(Some);
            }
        }
        let [number, node, counts] = SLURM;
        match (variable(number), variable(node), variable(counts)) {
            (Some(own), Some(here), Some(all)) => {
                let count = tasks_of_node(&all, parse(node, &here)?);
                let count = count.ok_or_else(|| unclear(counts, &all, "no count for this node"))?;
                Rank::new((number, &own), (counts, &all), count).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn new(number: (&str, &str), all: (&str, &str), count: usize) -> Result<Rank> {
        let own = parse(number.0, number.1)?;
        if own >= count {
            let cause = format!("not below {}={}", all.0, all.1);
            return Err(unclear(number.0, number.1, &cause));
        }
        Ok(Rank { number: own, count })
    }

    /// Can each rank have one of `count` things for itself?
    pub fn fits(&self, count: usize) -> bool {
        self.count <= count
    }

    /// This rank's part of `all`, in order. The parts are as equal as possible. None is empty: if there are more ranks
    /// than `all.len()`, some share.
    pub fn part<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        let at = |number: usize| all.len() * number / self.count;
        let first = at(self.number);
        &all[first..at(self.number + 1).max(first + 1).min(all.len())]
    }
}

fn parse(name: &str, value: &str) -> Result<usize> {
    value.parse().map_err(|_| unclear(name, value, "not a number"))
}

fn unclear(name: &str, value: &str, cause: &str) -> Error {
    Error::new(format!("{name}={value}"), cause, "set it as a launcher does, or use all CPUs with --undivided")
}

/// `4(x2),3` is 4, 4, 3.
fn tasks_of_node(counts: &str, node: usize) -> Option<usize> {
    let mut before = 0;
    for item in counts.split(',') {
        let (count, nodes) = match item.split_once("(x") {
            Some((count, nodes)) => (count, nodes.strip_suffix(')')?.parse().ok()?),
            None => (item, 1),
        };
        before += nodes;
        if node < before {
            return count.parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(variables: &[(&str, &str)]) -> std::result::Result<Option<(usize, usize)>, String> {
        let variable = |name: &str| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_string());
        let rank = Rank::find(variable).map_err(|error| error.to_string())?;
        Ok(rank.map(|rank| (rank.number, rank.count)))
    }

    #[test]
    fn launchers_say_it() {
        assert_eq!(find(&[]), Ok(None));
        assert_eq!(find(&[("MPI_LOCALRANKID", "1"), ("MPI_LOCALNRANKS", "4")]), Ok(Some((1, 4))));
        assert_eq!(find(&[("OMPI_COMM_WORLD_LOCAL_RANK", "0"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "2")]), Ok(Some((0, 2))));
        let slurm = |node| [("SLURM_LOCALID", "2"), ("SLURM_NODEID", node), ("SLURM_STEP_TASKS_PER_NODE", "4(x2),3")];
        assert_eq!(find(&slurm("1")), Ok(Some((2, 4))));
        assert_eq!(find(&slurm("2")), Ok(Some((2, 3))));
        // A batch script is not a step: not all variables are set.
        assert_eq!(find(&slurm("0")[..2]), Ok(None));
    }

    #[test]
    fn half_an_answer_is_named() {
        for (variables, words) in [
            (
                &[("MPI_LOCALRANKID", "4"), ("MPI_LOCALNRANKS", "4")][..],
                "MPI_LOCALRANKID=4: not below MPI_LOCALNRANKS=4; ",
            ),
            (&[("MPI_LOCALRANKID", "a"), ("MPI_LOCALNRANKS", "4")], "MPI_LOCALRANKID=a: not a number; "),
            (&[("MPI_LOCALRANKID", "0"), ("MPI_LOCALNRANKS", "")], "MPI_LOCALNRANKS=: not a number; "),
            (
                &[("SLURM_LOCALID", "0"), ("SLURM_NODEID", "3"), ("SLURM_STEP_TASKS_PER_NODE", "4(x2),3")],
                "SLURM_STEP_TASKS_PER_NODE=4(x2),3: no count for this node; ",
            ),
        ] {
            let error = find(variables).unwrap_err();
            assert!(error.starts_with(words), "{error}");
        }
    }

    #[test]
    fn parts_cover_all_and_are_never_empty() {
        for count in 1..20 {
            for len in 1..20 {
                let all: Vec<usize> = (0..len).collect();
                let parts: Vec<&[usize]> = (0..count).map(|number| Rank { number, count }.part(&all)).collect();
                assert!(parts.iter().all(|part| !part.is_empty()));
                if count <= len {
                    assert_eq!(parts.concat(), all);
                } else {
                    assert!(parts.iter().all(|part| part.len() == 1));
                    assert!(all.iter().all(|cpu| parts.iter().any(|part| part.contains(cpu))));
                }
            }
        }
    }
}
