// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Chooses a program's CPUs among those of the partition, and the order in which its threads are bound to them.
//!
//! Called by `tacet run`. The module only executes the result: it knows neither ranks nor policies.

use std::collections::BTreeMap;
use std::str::FromStr;

use tacet_abi::TACET_MAX_CPUS;

use crate::{CpuSet, Error, Rank, Result};

/// A CPU and its position: CPUs with the same package and core are hardware threads of that core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    pub cpu: u32,
    pub package: u32,
    pub physical_core: u32,
}

/// How threads are bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bind {
    /// Neighbours first: the hardware threads of a core, then the next core.
    Compact,
    /// Apart: one core of each package in turn, second hardware threads last.
    Scatter,
    /// The first thread gets the first CPU of the list, and so on.
    List(Vec<u32>),
}

impl FromStr for Bind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Bind> {
        match text {
            "compact" => return Ok(Bind::Compact),
            "scatter" => return Ok(Bind::Scatter),
            _ => {}
        }
        let mut list = Vec::new();
        for item in text.split(',') {
            let cpus: CpuSet = item.parse()?;
            list.extend(cpus.iter());
        }
        if list.is_empty() {
            return Err(Error::new("--bind", "empty", "write compact, scatter or a list like 3,2,4-7"));
        }
        if list.len() > TACET_MAX_CPUS as usize {
            let cause = format!("{} entries, at most {TACET_MAX_CPUS} are possible", list.len());
            return Err(Error::new("--bind", cause, "the list repeats by itself: give each CPU once"));
        }
        Ok(Bind::List(list))
    }
}

/// CPUs sorted by package and core, so that neighbours are adjacent.
fn cores(seats: &[Seat]) -> BTreeMap<(u32, u32), Vec<u32>> {
    let mut cores: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
    for seat in seats {
        cores.entry((seat.package, seat.physical_core)).or_default().push(seat.cpu);
    }
    cores
}

fn compact(seats: &[Seat]) -> Vec<u32> {
    cores(seats).into_values().flatten().collect()
}

fn scatter(seats: &[Seat]) -> Vec<u32> {
    let mut cores_before: BTreeMap<u32, usize> = BTreeMap::new();
    let mut keys = Vec::new();
    for ((package, _), threads) in cores(seats) {
        let core = cores_before.entry(package).or_default();
        keys.extend(threads.into_iter().enumerate().map(|(thread, cpu)| (thread, *core, package, cpu)));
        *core += 1;
    }
    keys.sort_unstable();
    keys.into_iter().map(|(.., cpu)| cpu).collect()
}

/// The CPUs of one rank. Ranks share no core if there are enough cores, else no CPU if there are enough CPUs.
pub fn divide(seats: &[Seat], rank: &Rank) -> Vec<Seat> {
    let cores: Vec<Vec<u32>> = cores(seats).into_values().collect();
    let mine = if rank.fits(cores.len()) { rank.part(&cores).concat() } else { rank.part(&compact(seats)).to_vec() };
    seats.iter().filter(|seat| mine.contains(&seat.cpu)).copied().collect()
}

/// The order in which threads get `seats`.
pub fn order(seats: &[Seat], bind: &Bind) -> Vec<u32> {
    match bind {
        Bind::Compact => compact(seats),
        Bind::Scatter => scatter(seats),
        Bind::List(list) => list.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two cores of two threads; CPU n and n + 4 share a core.
    fn seats() -> Vec<Seat> {
        (0..8).map(|cpu| Seat { cpu, package: cpu % 4 / 2, physical_core: cpu % 2 }).collect()
    }

    fn rank(number: usize, count: usize) -> Rank {
        let variables = [("MPI_LOCALRANKID", number.to_string()), ("MPI_LOCALNRANKS", count.to_string())];
        let variable = |name: &str| variables.iter().find(|v| v.0 == name).map(|v| v.1.clone());
        Rank::find(variable).unwrap().unwrap()
    }

    fn divided(count: usize) -> Vec<Vec<u32>> {
        let cpus = |number| divide(&seats(), &rank(number, count)).iter().map(|seat| seat.cpu).collect();
        (0..count).map(cpus).collect()
    }

    #[test]
    fn orders() {
        assert_eq!(order(&seats(), &Bind::Compact), [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(order(&seats(), &Bind::Scatter), [0, 2, 1, 3, 4, 6, 5, 7]);
        assert_eq!(order(&seats(), &"7,2-3".parse().unwrap()), [7, 2, 3]);
        assert_eq!(order(&seats()[..2], &Bind::Compact), [0, 1]);
    }

    #[test]
    fn ranks_get_cores_of_their_own_while_there_are_enough() {
        assert_eq!(divided(1), [vec![0, 1, 2, 3, 4, 5, 6, 7]]);
        assert_eq!(divided(2), [[0, 1, 4, 5], [2, 3, 6, 7]]);
        assert_eq!(divided(3), [vec![0, 4], vec![1, 5], vec![2, 3, 6, 7]]);
        assert_eq!(divided(4), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(divided(8), [[0], [4], [1], [5], [2], [6], [3], [7]]);
        assert_eq!(divided(16)[14..], [[7], [7]]);
    }

    #[test]
    fn mistakes_are_named() {
        assert!("0-1023,0".parse::<Bind>().unwrap_err().to_string().starts_with("--bind: 1025 entries, at most 1024"));
        for (text, words) in [("", "--bind: empty; "), ("near", "CPU list `near`: "), ("3-1", "CPU list `3-1`: ")] {
            let error = text.parse::<Bind>().unwrap_err().to_string();
            assert!(error.starts_with(words), "{error}");
        }
    }
}
