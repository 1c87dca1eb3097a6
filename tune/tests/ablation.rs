// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The series of an ablation: its order, its verdict, and that the node is restored however it ends.

mod fake;

use fake::Fake;
use tacet_tune::ablate::laboratory::{Laboratory, Reading, Source};
use tacet_tune::ablate::{Effect, Table, series};
use tacet_tune::apply::reconcile;
use tacet_tune::claim::{self, Claim, Owner};
use tacet_tune::cpus::Cpus;
use tacet_tune::error::{Error, Result};
use tacet_tune::journal::Journal;
use tacet_tune::node::Node;
use tacet_tune::show;
use tacet_words::status::UNDONE;

/// This node has noise exactly if the kernel collects its statistics each second.
const NOISY: (&str, &str) = ("/proc/sys/vm/stat_interval", "1\n");
const SWAP: (&str, &str) = ("/proc/sys/vm/swappiness", "60\n");

struct Fakes<'a> {
    node: &'a Fake,
    /// For each measurement: was the noisy countermeasure off, and was the other one off?
    seen: Vec<(bool, bool)>,
    fails_at: usize,
    traces: std::result::Result<(), String>,
}

impl Fakes<'_> {
    fn on(node: &Fake) -> Fakes<'_> {
        Fakes { node, seen: Vec::new(), fails_at: usize::MAX, traces: Ok(()) }
    }
}

fn source(name: &str, explained_ns: f64) -> Source {
    Source { kind: "kworker".to_owned(), name: name.to_owned(), origin: None, count: 1, explained_ns }
}

impl Laboratory for Fakes<'_> {
    fn measure(&mut self, cpus: &Cpus) -> Result<Reading> {
        // one thread of each core was taken offline
        assert!(!cpus.is_empty() && cpus.iter().all(|cpu| self.node.get(&online(cpu)) == "1\n"), "{cpus}");
        if self.seen.len() == self.fails_at {
            return Err(Error::new("ablation", "it was interrupted", "").with_status(UNDONE));
        }
        let off = |(path, value): (&str, &str)| self.node.get(path) == value;
        self.seen.push((off(NOISY), off(SWAP)));
        // the host drifts, by more than the effect of that countermeasure in the first measurement
        let drift = (self.seen.len() % 7) as f64;
        Ok(Reading { max_noise_ns: if off(NOISY) { 500.0 } else { 10.0 } + drift, noise_rate: 1e-6 })
    }

    fn trace(&mut self, _: &Cpus) -> Result<std::result::Result<Vec<Source>, String>> {
        let statistics = if self.node.get(NOISY.0) == NOISY.1 { 400.0 } else { 0.0 };
        Ok(self.traces.clone().map(|()| vec![source("tick", 900.0), source("vmstat_update", statistics)]))
    }
}

fn online(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/online")
}

fn claim(names: &str) -> Claim {
    let names: Vec<String> = names.split(',').map(str::to_owned).collect();
    let measures = claim::choose(&names, &[], &[]).unwrap();
    Claim { owner: Owner::Node, cpus: "4-7".parse().unwrap(), measures }
}

fn run(node: &Fake, laboratory: &mut Fakes, claim: &Claim, rounds: usize) -> Result<Table> {
    match series(node, laboratory, claim, rounds, &mut drop)? {
        (table, None) => Ok(table),
        (_, Some(error)) => Err(error),
    }
}

#[test]
fn the_one_that_matters_is_found_and_its_thief() {
    let (node, before) = (Fake::node(), Fake::node().snapshot());
    let mut laboratory = Fakes::on(&node);
    let table = run(&node, &mut laboratory, &fake::everything(Owner::Node, "4-7"), 3).unwrap();
    assert_eq!(node.differs(&before), None);
    assert!(!node.has_journal());
    let seen: Vec<&str> =
        table.rows.iter().filter(|row| row.effect == Effect::MoreNoise).map(|row| row.measure.as_str()).collect();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen.contains(&"vmstat") && seen.contains(&"all of them"), "{seen:?}");
    assert!(table.rows.iter().all(|row| row.complaint.is_none() && row.spread.readings.len() == 3));
    assert_eq!(table.baseline.readings.len(), table.rows.len() * 3 + 1);
    let thieves: Vec<&str> = table.rows.iter().filter_map(|row| Some(row.thief.as_ref()?.name.as_str())).collect();
    assert_eq!(thieves, ["vmstat_update"; 2]);
    // the partition moves the workers too
    assert_eq!(table.nothing_to_switch_off, ["clocksource", "translation", "workqueues"]);
    assert_eq!(table.untraced, None);
}

#[test]
fn between_two_there_are_all_and_every_other_round_goes_backwards() {
    let node = Fake::node();
    let mut laboratory = Fakes { traces: Err("no root".to_owned()), ..Fakes::on(&node) };
    let table = run(&node, &mut laboratory, &claim("swap,vmstat"), 2).unwrap();
    let (all, swap, vmstat, none) = ((false, false), (false, true), (true, false), (true, true));
    let order = [swap, vmstat, none, none, vmstat, swap].into_iter().flat_map(|off| [all, off]).chain([all]);
    assert_eq!(laboratory.seen, order.collect::<Vec<_>>());
    assert_eq!(table.untraced.as_deref(), Some("no root"));
    assert!(table.rows.iter().all(|row| row.thief.is_none()));
}

#[test]
fn interrupted_at_any_measurement_it_leaves_the_node_as_it_was() {
    let before = Fake::node().snapshot();
    for fails_at in 0..13 {
        let node = Fake::node();
        let mut laboratory = Fakes { fails_at, ..Fakes::on(&node) };
        let error = run(&node, &mut laboratory, &claim("swap,vmstat,partition"), 2).unwrap_err();
        assert!(error.to_string().contains("interrupted"), "{error}");
        assert_eq!(node.differs(&before), None, "at {fails_at}");
        assert!(!node.has_journal());
    }
}

/// All until the measurement that was interrupted is in the table; what was not measured is not made up.
#[test]
fn what_was_measured_before_an_interruption_is_a_table() {
    let ended_at = |fails_at: usize| {
        let node = Fake::node();
        let mut laboratory = Fakes { fails_at, ..Fakes::on(&node) };
        series(&node, &mut laboratory, &claim("swap,vmstat"), 2, &mut drop)
    };
    assert!((0..2).all(|nothing| ended_at(nothing).is_err()));
    for fails_at in 2..13 {
        let (table, error) = ended_at(fails_at).expect("a table");
        assert_eq!(error.map(|error| error.status()), Some(UNDONE));
        let without: usize = table.rows.iter().map(|row| row.spread.readings.len()).sum();
        assert_eq!(without + table.baseline.readings.len(), fails_at);
        let few = table.baseline.readings.len() < 4;
        let unknown = |effect: Effect| effect == Effect::NotEnough;
        assert!(table.rows.iter().all(|row| unknown(row.effect) == (few || row.spread.readings.is_empty())));
        let text = show::ablation(&table);
        assert!(text.starts_with("PARTIAL, ablation: it was interrupted\n"), "{text}");
        let rows = |rows: usize| text.lines().filter(|line| line.contains("not enough to say")).count() == rows;
        assert!(rows(table.rows.iter().filter(|row| unknown(row.effect)).count()), "{text}");
    }
    let (table, error) = ended_at(13).expect("a table");
    assert!(table.partial.is_none() && error.is_none());
}

#[test]
fn killed_after_any_step_it_is_ended_by_undo() {
    let before = Fake::node().snapshot();
    for steps in 1.. {
        let node = Fake::node();
        node.stop_after(steps);
        let ended = run(&node, &mut Fakes::on(&node), &claim("swap,vmstat,partition"), 1);
        let killed = node.has_stopped();
        node.go_on();
        reconcile(&node, Journal::open(&node).unwrap(), &[]).unwrap();
        assert_eq!(node.differs(&before), None, "after {steps} steps");
        if !killed {
            return assert!(ended.is_ok() && steps > 50, "{steps}");
        }
    }
}

#[test]
fn it_begins_only_where_nothing_is_applied() {
    let node = Fake::node();
    reconcile(&node, Journal::open(&node).unwrap(), &[claim("swap")]).unwrap();
    let applied = node.snapshot();
    let error = run(&node, &mut Fakes::on(&node), &claim("vmstat"), 1).unwrap_err().to_string();
    assert!(error.contains("applied already"), "{error}");
    assert_eq!(node.differs(&applied), None);
    let node = Fake::node();
    let error = run(&node, &mut Fakes::on(&node), &claim("translation"), 1).unwrap_err().to_string();
    assert!(error.contains("nothing to switch off"), "{error}");
    assert!(!node.exists(tacet_tune::journal::JOURNAL));
}
