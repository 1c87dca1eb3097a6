// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compares the events with the samples: how much of each detour each source explains.
//!
//! A source explains as much of a detour as its own running time during the sample, without interruptions. If all
//! sources together ran longer than the sample's noise (the shortest sample contains some of them too), the noise is
//! divided among them in proportion.

use std::ops::Range;

use super::in_force::Machine;
use super::sources::Identity;
use crate::record::Record;
use crate::record::thieves::{Event, Source, Stopped, Thieves};

/// One run of a source on a measured CPU, in the record's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    pub cpu: u32,
    pub source: u32,
    pub start_ns: i64,
    pub gross_ns: u32,
    pub net_ns: u32,
    /// False if it continues work that began earlier.
    pub begins: bool,
}

/// The greatest difference of the two clocks.
const AGREEMENT_NS: i64 = 1000;
/// Events so close to the detour that ended a measurement are kept with it.
const AROUND_NS: i64 = 1_000_000;
const AROUND_EVENTS: usize = 200;

impl Ran {
    fn end_ns(&self) -> i64 {
        self.start_ns + i64::from(self.gross_ns)
    }

    /// The part of its net time within a span, on the assumption that the time is spread evenly.
    fn within(&self, from_ns: i64, to_ns: i64) -> f64 {
        let overlap = self.end_ns().min(to_ns) - self.start_ns.max(from_ns);
        if overlap <= 0 { 0.0 } else { overlap as f64 / f64::from(self.gross_ns) * f64::from(self.net_ns) }
    }
}

/// Computes all fields except those that only the caller knows: lost events, and what could not be observed.
pub fn attribute(
    record: &Record,
    machine: &Machine,
    sources: &[Identity],
    mut ran: Vec<Ran>,
    threshold_ns: f64,
    until_ns: Option<f64>,
) -> Thieves {
    ran.sort_by_key(|one| (one.cpu, one.start_ns));
    let noise = record.noise().length_ns;
    let mut thieves = Thieves { detour_threshold_ns: threshold_ns, ..Thieves::default() };
    let mut tallies: Vec<Tally> = vec![Tally::default(); sources.len()];
    for (cpu, rows) in record.samples.by_cpu() {
        let here = on_cpu(&ran, cpu);
        let measured_ns = record.about.counters.iter().find(|one| one.cpu == cpu).map_or(0, |one| one.measured_ns);
        let begin_ns = record.samples.start_ns.get(rows.start).copied().unwrap_or(0) as i64;
        let measured = begin_ns..begin_ns.saturating_add(measured_ns as i64);
        for one in here.iter().filter(|one| one.begins_in(&measured)) {
            if let Some(tally) = tallies.get_mut(one.source as usize) {
                tally.add(one);
                thieves.events += 1;
            }
        }
        let detours = rows.filter(|row| noise[*row] >= threshold_ns.max(f64::MIN_POSITIVE));
        explain(record, &noise, detours, here, &mut tallies, &mut thieves);
    }
    thieves.stopped = until_ns.and_then(|limit| stopped(record, &noise, &ran, sources, limit));
    let total_ns = thieves.detour_ns;
    let named = sources.iter().zip(tallies).filter(|(_, tally)| !tally.cpus.is_empty());
    thieves.sources = named.map(|(identity, tally)| tally.source(machine, identity, total_ns)).collect();
    sort(&mut thieves.sources);
    thieves
}

/// The source that explains most comes first.
pub fn sort(sources: &mut [Source]) {
    sources.sort_by(|a, b| {
        let by_share = b.explained_ns.total_cmp(&a.explained_ns);
        by_share.then(b.total_ns.cmp(&a.total_ns)).then(b.count.cmp(&a.count)).then(a.name.cmp(&b.name))
    });
}

#[derive(Debug, Clone, Default)]
struct Tally {
    cpus: Vec<u32>,
    count: u64,
    total_ns: u64,
    longest_ns: u64,
    explained_ns: f64,
}

impl Ran {
    fn begins_in(&self, span: &Range<i64>) -> bool {
        span.contains(&self.start_ns)
    }
}

impl Tally {
    fn add(&mut self, one: &Ran) {
        if self.cpus.last() != Some(&one.cpu) {
            self.cpus.push(one.cpu);
        }
        self.count += u64::from(one.begins);
        self.total_ns += u64::from(one.net_ns);
        self.longest_ns = self.longest_ns.max(u64::from(one.net_ns));
    }

    fn source(self, machine: &Machine, identity: &Identity, detours_ns: f64) -> Source {
        let remedy = super::remedies::remedy(machine, identity, &self.cpus);
        Source {
            kind: identity.kind,
            name: identity.name.clone(),
            origin: identity.origin.clone(),
            cpus: self.cpus,
            count: self.count,
            total_ns: self.total_ns,
            longest_ns: self.longest_ns,
            explained_ns: self.explained_ns,
            share: if detours_ns > 0.0 { self.explained_ns / detours_ns } else { 0.0 },
            remedy,
        }
    }
}

fn on_cpu(ran: &[Ran], cpu: u32) -> &[Ran] {
    let (from, to) = (ran.partition_point(|one| one.cpu < cpu), ran.partition_point(|one| one.cpu <= cpu));
    &ran[from..to]
}

fn explain(
    record: &Record,
    noise: &[f64],
    detours: impl Iterator<Item = usize>,
    here: &[Ran],
    tallies: &mut [Tally],
    thieves: &mut Thieves,
) {
    let longest_ns = here.iter().map(|one| i64::from(one.gross_ns)).max().unwrap_or(0);
    for row in detours {
        let (from_ns, to_ns) = span(record, row);
        let parts: Vec<(u32, f64)> = overlapping(here, longest_ns, from_ns, to_ns)
            .map(|one| (one.source, one.within(from_ns, to_ns)))
            .filter(|(_, part)| *part > 0.0)
            .collect();
        let all: f64 = parts.iter().map(|(_, part)| part).sum();
        let scale = if all > noise[row] { noise[row] / all } else { 1.0 };
        for (source, part) in &parts {
            if let Some(tally) = tallies.get_mut(*source as usize) {
                tally.explained_ns += part * scale;
            }
        }
        thieves.detours += 1;
        thieves.detour_ns += noise[row];
        thieves.explained_ns += all * scale;
        thieves.unexplained_detours += u64::from(parts.is_empty());
    }
}

/// The time of a sample, widened by the greatest difference of the clocks.
fn span(record: &Record, row: usize) -> (i64, i64) {
    let start_ns = record.samples.start_ns[row] as i64;
    (start_ns - AGREEMENT_NS, start_ns + record.samples.length_ns[row] as i64 + AGREEMENT_NS)
}

fn overlapping(here: &[Ran], longest_ns: i64, from_ns: i64, to_ns: i64) -> impl Iterator<Item = &Ran> {
    let first = here.partition_point(|one| one.start_ns < from_ns - longest_ns);
    let last = here.partition_point(|one| one.start_ns <= to_ns);
    here[first..last].iter().filter(move |one| one.end_ns() >= from_ns)
}

fn stopped(record: &Record, noise: &[f64], ran: &[Ran], sources: &[Identity], limit_ns: f64) -> Option<Stopped> {
    let samples = &record.samples;
    let row = (0..samples.len()).filter(|row| noise[*row] >= limit_ns).min_by_key(|row| samples.start_ns[*row])?;
    let (from_ns, to_ns) = span(record, row);
    let here = on_cpu(ran, samples.cpu[row]);
    let longest_ns = here.iter().map(|one| i64::from(one.gross_ns)).max().unwrap_or(0);
    let around = overlapping(here, longest_ns, from_ns - AROUND_NS, to_ns + AROUND_NS);
    let event = |one: &Ran| {
        let identity = sources.get(one.source as usize)?;
        Some(Event {
            start_ns: one.start_ns,
            length_ns: u64::from(one.gross_ns),
            kind: identity.kind,
            name: identity.name.clone(),
            origin: identity.origin.clone(),
        })
    };
    Some(Stopped {
        cpu: samples.cpu[row],
        start_ns: samples.start_ns[row],
        noise_ns: noise[row] as u64,
        events: around.filter_map(event).take(AROUND_EVENTS).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::examples::fixed_work;
    use crate::record::thieves::Kind;

    const MS: u64 = 1_000_000;

    fn source(name: &str) -> Identity {
        Identity { kind: Kind::Task, name: name.into(), origin: None }
    }

    fn ran(source: u32, start_us: i64, gross_us: u32, net_us: u32) -> Ran {
        let (gross_ns, net_ns) = (gross_us * 1000, net_us * 1000);
        Ran { cpu: 0, source, start_ns: start_us * 1000, gross_ns, net_ns, begins: true }
    }

    /// Quanta of 1 ms, the third and fifth 300 and 100 us longer: 0-1, 1-2, 2-3.3, 3.3-4.3, 4.3-5.4 ms.
    fn record() -> Record {
        fixed_work(&[MS, MS, MS + 300_000, MS, MS + 100_000])
    }

    #[test]
    fn each_source_explains_its_own_time() {
        // The daemon runs 250 us, interrupted for 50 us; nothing runs in the fifth quantum; one event is before the
        // record.
        let events = vec![ran(0, 2500, 250, 200), ran(1, 2600, 50, 50), ran(1, -500, 10, 10)];
        let thieves =
            attribute(&record(), &Machine::this(), &[source("daemon"), source("interrupt")], events, 1000.0, None);
        assert_eq!((thieves.detours, thieves.unexplained_detours, thieves.events), (2, 1, 2));
        assert_eq!((thieves.detour_ns, thieves.explained_ns), (400_000.0, 250_000.0));
        let shares: Vec<_> = thieves.sources.iter().map(|one| (one.name.as_str(), one.share, one.count)).collect();
        assert_eq!(shares, [("daemon", 0.5, 1), ("interrupt", 0.125, 1)]);
        assert!(!thieves.sources[0].remedy.is_empty());
    }

    /// 600 us ran in a quantum with 300 us of noise: each explains half of what it ran.
    #[test]
    fn sources_never_explain_more_than_the_noise() {
        let events = vec![ran(0, 2100, 400, 400), ran(1, 2600, 200, 200)];
        let thieves = attribute(&record(), &Machine::this(), &[source("a"), source("b")], events, 1000.0, None);
        let explained: Vec<f64> = thieves.sources.iter().map(|one| one.explained_ns).collect();
        assert_eq!((explained, thieves.explained_ns), (vec![200_000.0, 100_000.0], 300_000.0));
    }

    #[test]
    fn continued_work_counts_once_and_other_cpus_not_at_all() {
        let events = vec![
            ran(0, 2100, 100, 100),
            Ran { begins: false, ..ran(0, 2300, 100, 100) },
            Ran { cpu: 1, ..ran(0, 2500, 100, 100) },
        ];
        let thieves = attribute(&record(), &Machine::this(), &[source("a"), source("silent")], events, 1000.0, None);
        assert_eq!(thieves.sources.len(), 1);
        let one = &thieves.sources[0];
        assert_eq!((one.count, one.total_ns, one.longest_ns, &one.cpus), (1, 200_000, 100_000, &vec![0]));
    }

    #[test]
    fn a_long_run_spreads_over_samples() {
        // From 1.3 to 5.3 ms: all of the third quantum's 1.3 ms and 1 ms of the fifth.
        let thieves =
            attribute(&record(), &Machine::this(), &[source("a")], vec![ran(0, 1300, 4000, 4000)], 1000.0, None);
        assert_eq!((thieves.explained_ns, thieves.unexplained_detours), (400_000.0, 0));
    }

    #[test]
    fn the_first_long_detour_is_kept_with_the_events_around_it() {
        let events = vec![ran(0, 2500, 250, 250), ran(0, 200, 10, 10), ran(0, 4350, 10, 10)];
        let sources = [source("a")];
        let stopped = attribute(&record(), &Machine::this(), &sources, events.clone(), 1000.0, Some(200_000.0))
            .stopped
            .expect("one");
        assert_eq!((stopped.cpu, stopped.start_ns, stopped.noise_ns), (0, 2 * MS, 300_000));
        assert_eq!(stopped.events.iter().map(|one| one.start_ns).collect::<Vec<_>>(), [2_500_000]);
        assert_eq!(attribute(&record(), &Machine::this(), &sources, events, 1000.0, Some(1e6)).stopped, None);
    }
}
