// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Table 2 for this node, on a terminal.

use comfy_table::{Cell, CellAlignment, Table as Columns, presets};

use super::count;
use crate::ablate::laboratory::Source;
use crate::ablate::{Row, Table};

const HEAD: [&str; 7] = ["switched off", "longest noise", "", "noise rate", "", "effect", "thief"];
/// The columns of numbers, which are aligned right.
const NUMBERS: std::ops::RangeInclusive<usize> = 1..=4;

pub fn ablation(table: &Table) -> String {
    let base = &table.baseline;
    let mut text = table.partial.as_ref().map(|why| format!("PARTIAL, {why}\n")).unwrap_or_default();
    text += &format!(
        "fixed work on {}, {}; with all countermeasures in force, in {}: longest noise {} to {}, noise rate {} to {}\n\n",
        table.application.named(),
        count(table.rounds, "round"),
        count(base.readings.len(), "measurement"),
        duration(base.least.max_noise_ns),
        duration(base.most.max_noise_ns),
        rate(base.least.noise_rate),
        rate(base.most.noise_rate),
    );
    let mut columns = Columns::new();
    columns.load_style(presets::NOTHING).set_header(HEAD);
    let none = [duration(base.middle.max_noise_ns), String::new(), rate(base.middle.noise_rate)];
    add(&mut columns, [vec!["none".to_owned()], none.to_vec(), vec![String::new(); 3]].concat());
    for row in &table.rows {
        add(&mut columns, cells(row));
    }
    text += &columns.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<String>();
    text += &notes(table);
    text
}

fn add(columns: &mut Columns, cells: Vec<String>) {
    columns.add_row(cells.into_iter().enumerate().map(|(at, text)| {
        let side = if NUMBERS.contains(&at) { CellAlignment::Right } else { CellAlignment::Left };
        Cell::new(text).set_alignment(side)
    }));
}

fn cells(row: &Row) -> Vec<String> {
    let times = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_owned(), |ratio| format!("x {ratio:.2}"));
    let middle = row.spread.middle;
    let measured = |text: String| if row.spread.readings.is_empty() { "-".to_owned() } else { text };
    vec![
        row.measure.clone(),
        measured(duration(middle.max_noise_ns)),
        measured(times(row.max_noise_ratio)),
        measured(rate(middle.noise_rate)),
        measured(times(row.noise_rate_ratio)),
        row.effect.said().to_owned(),
        row.thief.as_ref().map_or_else(|| "-".to_owned(), thief),
    ]
}

fn thief(source: &Source) -> String {
    let origin = source.origin.as_ref().map(|origin| format!(" ({origin})")).unwrap_or_default();
    format!("{} {}{origin}", source.kind.replace('_', " "), source.name)
}

fn notes(table: &Table) -> String {
    let mut text = "\n'no effect seen': within the node's own variation with all of them in force\n".to_owned();
    if let Some(why) = &table.untraced {
        text += &format!("no thieves are known: {why}\n");
    }
    if !table.nothing_to_switch_off.is_empty() {
        let names = table.nothing_to_switch_off.join(", ");
        text += &format!("changed nothing here, or only what another one changes too: {names}\n");
    }
    for (row, complaint) in table.rows.iter().filter_map(|row| Some((row, row.complaint.as_ref()?))) {
        text += &format!("{}: {complaint}\n", row.measure);
    }
    text
}

/// Three figures are enough.
pub fn duration(ns: f64) -> String {
    let (scale, unit) = match ns {
        ns if ns < 1e3 => (1.0, "ns"),
        ns if ns < 1e6 => (1e3, "us"),
        ns if ns < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let value = ns / scale;
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

pub fn rate(rate: f64) -> String {
    format!("{rate:.2e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        let said = [0.0, 999.0, 50_440.0, 20_346_980.0, 1.5e9].map(duration);
        assert_eq!(said, ["0.00 ns", "999 ns", "50.4 us", "20.3 ms", "1.50 s"]);
        assert_eq!(rate(3.79e-6), "3.79e-6");
    }
}
