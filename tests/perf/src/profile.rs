// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The noise profile of one configuration: for each quantum, the instructions that did not belong to the program.
//!
//! Called by the bench and by the demo. Must never return a profile that was not measured: this file checks the number
//! of quanta, that the program's own instructions are constant, and the load.

use std::fs;

use tacet_node::Node;
use tacet_noise::exact::instruments::PROGRAM;
use tacet_noise::exact::log::{Hit, Log, Site};

use crate::Result;
use crate::configuration::{Configuration, KEPT, MEASURED, Settings};
use crate::guest::{Guest, Numbers};
use crate::programs::Programs;

/// The noise that the program met in one configuration.
#[derive(Debug, Clone)]
pub struct Profile {
    pub configuration: Configuration,
    /// For each quantum: instructions executed on its CPU that did not belong to the program.
    pub stolen: Vec<u64>,
    /// The program's own instructions in each quantum.
    pub user: u64,
    /// Interrupts taken during the quanta; if the emulator does not report them, entries into kernel code.
    pub interrupts: u64,
    /// Entries into kernel code, whatever caused them.
    pub entries: u64,
    /// Faults and traps taken during the quanta, if the emulator reports them.
    pub exceptions: u64,
    /// Interrupts and doorbells that the co-kernel itself counted; none on Linux.
    pub own_count: Option<u64>,
    /// The kernel's instructions by the address of their code, the largest count first.
    pub sites: Vec<Site>,
    /// The quanta that were hit.
    pub hits: Vec<Hit>,
    /// Rounds of each disturbance while the quanta ran.
    pub load: Numbers,
}

impl Profile {
    /// The worst quantum.
    pub fn max(&self) -> u64 {
        self.stolen.iter().copied().max().unwrap_or(0)
    }

    /// Quanta with anything stolen.
    pub fn hit(&self) -> usize {
        self.stolen.iter().filter(|s| **s > 0).count()
    }

    /// The mean over all quanta.
    pub fn mean(&self) -> f64 {
        self.stolen.iter().sum::<u64>() as f64 / self.stolen.len().max(1) as f64
    }
}

/// Takes the profile of a node that was booted from [`Configuration::node`]. For Tacet, starts the partition unless it
/// is up, and leaves it up.
pub fn profile(node: &Node, configuration: Configuration, settings: &Settings, programs: &Programs) -> Result<Profile> {
    let guest = Guest { node, programs };
    let tacet = configuration == Configuration::Tacet;
    if tacet && !guest.shell("cat /sys/devices/system/cpu/offline")?.contains(char::is_numeric) {
        guest.up(KEPT)?;
    }
    let load = guest.load(&settings.disturbances)?;
    let words = [settings.quanta.to_string(), settings.iterations.to_string()];
    let before = if tacet { Some(taken(&guest)?) } else { None };
    let said = if tacet {
        guest.hosted(&["--cpus", &MEASURED.to_string()], PROGRAM, &words)?
    } else {
        let words = [&words[..], &[MEASURED.to_string()]].concat();
        if configuration == Configuration::TunedLinux {
            guest.tuned(PROGRAM, &words)?
        } else {
            guest.native(PROGRAM, &words)?
        }
    };
    let after = if tacet { Some(taken(&guest)?) } else { None };
    let load = guest.unload(load)?;
    if said.get("quanta") != Some(&(settings.quanta as f64)) {
        return Err(format!("{}: the program did not finish its quanta", configuration.name()).into());
    }
    let own_count = before.zip(after).map(|(before, after)| after - before);
    let log = Log::parse(&fs::read_to_string(node.plugin_log())?);
    judge(configuration, settings, &log, load, own_count)
}

/// Interrupts that the measured core counted while it ran user code.
fn taken(guest: &Guest) -> Result<u64> {
    let status = guest.status()?;
    let core = status.cores.iter().find(|c| c.cpu == MEASURED).ok_or("the measured cpu is not in the partition")?;
    Ok(core.doorbells_user + core.foreign_interrupts.iter().map(|f| f.count).sum::<u64>())
}

fn judge(
    configuration: Configuration,
    settings: &Settings,
    log: &Log,
    load: Numbers,
    own_count: Option<u64>,
) -> Result<Profile> {
    let name = configuration.name();
    let record = log.quanta.last().ok_or_else(|| format!("{name}: the plugin saw no markers"))?;
    let checked = record.check(settings.quanta, 2 * settings.iterations, MEASURED);
    checked.map_err(|error| format!("{name}: {error}"))?;
    let idle: Vec<&str> = load.iter().filter(|(_, rounds)| **rounds == 0.0).map(|(kind, _)| kind.as_str()).collect();
    if load.is_empty() || settings.disturbances.is_empty() && settings.quanta >= 50_000 && !idle.is_empty() {
        return Err(format!("{name}: the load did not load: {}", idle.join(" ")).into());
    }
    let mut stolen = vec![0; record.quanta as usize];
    for hit in &record.hits {
        if let Some(quantum) = stolen.get_mut(hit.index as usize) {
            *quantum = hit.kernel + hit.other;
        }
    }
    let exceptions = record.hits.iter().map(|h| h.exceptions).sum();
    let entries = record.hits.iter().map(|h| h.entries).sum();
    let interrupts = if log.sees_interrupts { record.hits.iter().map(|h| h.interrupts).sum() } else { entries };
    let mut sites = record.sites.clone();
    sites.sort_by_key(|s| std::cmp::Reverse(s.times * s.instructions));
    Ok(Profile {
        configuration,
        stolen,
        user: record.user,
        interrupts,
        entries,
        exceptions,
        own_count,
        sites,
        hits: record.hits.clone(),
        load,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacet_noise::exact::log::Quanta;

    fn judged(change: impl FnOnce(&mut Quanta)) -> Result<Profile> {
        let hits =
            vec![Hit { index: 1, user: 200_000, kernel: 20, other: 3, entries: 1, interrupts: 1, ..Hit::default() }];
        let mut quanta = Quanta { cpu: MEASURED, quanta: 10_000, user: 200_000, hits, ..Quanta::default() };
        change(&mut quanta);
        let load = [("membarrier".to_owned(), 3.0)].into();
        let log = Log { sees_interrupts: true, quanta: vec![quanta], ..Log::default() };
        judge(Configuration::Tacet, &Settings::quick(), &log, load, None)
    }

    #[test]
    fn a_hit_lands_in_its_quantum() {
        let profile = judged(|_| ()).expect("a good record");
        assert_eq!((profile.max(), profile.hit(), profile.stolen[1], profile.interrupts), (23, 1, 23, 1));
    }

    #[test]
    fn a_record_that_is_not_this_run_s_does_not_pass() {
        let error = judged(|q| q.quanta = 9_999).expect_err("too few").to_string();
        assert!(error.starts_with("Tacet: "), "{error}");
    }
}
