// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scheduler's counts: reads them from its maps, subtracts, sums up and names them.

use std::collections::BTreeMap;

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use serde::Serialize;

use crate::Result;
use crate::layout::{CLASSES, Counts, Load};

/// The counts of one CPU, or of all, with their public names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// by class of the task that began to run
    pub switches: BTreeMap<&'static str, u64>,
    /// by class of the task that moved here
    pub migrations: BTreeMap<&'static str, u64>,
    pub placed: u64,
    pub placed_again: u64,
    pub preemptions_avoided: u64,
    pub normal_on_hpc: u64,
    pub trickles: u64,
    pub trickle_ns: u64,
    /// migrations of HPC tasks because their allowed CPUs had changed
    pub rebound: u64,
    /// normal tasks that ran while an HPC task of the CPU waited for the kernel
    pub lent: u64,
    /// kept tasks that ran while HPC tasks of the CPU wanted to run
    pub kept_on_hpc: u64,
}

/// Counts by CPU.
pub type ByCpu = BTreeMap<u32, Counts>;

/// The current counts of these CPUs.
pub fn counts(map: &MapHandle, cpus: &[u32]) -> Result<ByCpu> {
    each(map, cpus)
}

/// The number of HPC tasks on each of these CPUs.
pub fn loads(map: &MapHandle, cpus: &[u32]) -> Result<BTreeMap<u32, Load>> {
    each(map, cpus)
}

fn each<T: bytemuck::AnyBitPattern>(map: &MapHandle, cpus: &[u32]) -> Result<BTreeMap<u32, T>> {
    let mut found = BTreeMap::new();
    for cpu in cpus {
        let bytes = map.lookup(&cpu.to_ne_bytes(), MapFlags::ANY)?;
        let value =
            bytes.as_deref().and_then(|bytes| bytes.get(..size_of::<T>())).map(bytemuck::pod_read_unaligned::<T>);
        found.insert(*cpu, value.ok_or_else(|| format!("cpu {cpu}: its counts are too short"))?);
    }
    Ok(found)
}

/// The increase between `then` and `now`.
pub fn since(now: &ByCpu, then: &ByCpu) -> ByCpu {
    let less = |cpu: &u32, counts: &Counts| subtract(counts, &then.get(cpu).copied().unwrap_or_default());
    now.iter().map(|(cpu, counts)| (*cpu, less(cpu, counts))).collect()
}

/// The sum over all CPUs.
pub fn sum(counts: &ByCpu) -> Counts {
    counts.values().fold(Counts::default(), |sum, one| combine(&sum, one, u64::wrapping_add))
}

fn subtract(now: &Counts, then: &Counts) -> Counts {
    combine(now, then, u64::wrapping_sub)
}

/// Combines two sets of counts number by number: the structure consists only of `u64`.
fn combine(left: &Counts, right: &Counts, with: impl Fn(u64, u64) -> u64) -> Counts {
    let mut result = *left;
    let words: &mut [u64] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut result));
    for (word, other) in words.iter_mut().zip(bytemuck::cast_slice::<Counts, u64>(std::slice::from_ref(right))) {
        *word = with(*word, *other);
    }
    result
}

impl From<Counts> for Figures {
    fn from(counts: Counts) -> Figures {
        let named = |numbers: [u64; CLASSES.len()]| CLASSES.into_iter().zip(numbers).collect();
        Figures {
            switches: named(counts.switches),
            migrations: named(counts.migrations),
            placed: counts.placed,
            placed_again: counts.placed_again,
            preemptions_avoided: counts.kept_off,
            normal_on_hpc: counts.intrusions,
            trickles: counts.trickles,
            trickle_ns: counts.trickle_ns,
            rebound: counts.rebound,
            lent: counts.lent,
            kept_on_hpc: counts.kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_counts() -> impl Strategy<Value = Counts> {
        let word = 0..1u64 << 60;
        (prop::array::uniform5(word.clone()), prop::array::uniform5(word.clone()), prop::array::uniform9(word))
            .prop_map(
                |(
                    switches,
                    migrations,
                    [placed, placed_again, kept_off, intrusions, trickles, trickle_ns, rebound, lent, kept],
                )| {
                    Counts {
                        switches,
                        migrations,
                        placed,
                        placed_again,
                        kept_off,
                        intrusions,
                        trickles,
                        trickle_ns,
                        rebound,
                        lent,
                        kept,
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn the_old_counts_and_the_increase_add_up(before: [u8; 3], (a, b) in (any_counts(), any_counts())) {
            let cpus = before.map(u32::from);
            let then: ByCpu = cpus.into_iter().map(|cpu| (cpu, a)).collect();
            let now: ByCpu = cpus.into_iter().map(|cpu| (cpu, combine(&a, &b, u64::wrapping_add))).collect();
            let new = since(&now, &then);
            prop_assert!(new.values().all(|counts| *counts == b));
            prop_assert_eq!(sum(&now), combine(&sum(&then), &sum(&new), u64::wrapping_add));
        }
    }

    #[test]
    fn each_figure_has_its_own_name() {
        let mut words = [0u64; size_of::<Counts>() / 8];
        words.iter_mut().enumerate().for_each(|(at, word)| *word = at as u64 + 1);
        let figures = Figures::from(bytemuck::cast::<_, Counts>(words));
        assert_eq!((figures.switches["idle"], figures.switches["above"], figures.migrations["hpc"]), (1, 5, 9));
        assert_eq!((figures.placed, figures.placed_again, figures.preemptions_avoided), (11, 12, 13));
        assert_eq!((figures.normal_on_hpc, figures.trickles, figures.trickle_ns), (14, 15, 16));
        assert_eq!((figures.rebound, figures.lent, figures.kept_on_hpc), (17, 18, 19));
    }
}
