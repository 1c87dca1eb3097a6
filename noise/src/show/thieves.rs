// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of a trace's results.

use std::fmt::Write;

use super::{ns, row, table};
use crate::record::thieves::{Source, Stopped, Thieves};

/// The number of sources in the table, those that explain most; a busy node has hundreds.
const SHOWN: usize = 25;

pub fn thieves(thieves: &Thieves) -> String {
    let share = if thieves.detour_ns > 0.0 { thieves.explained_ns / thieves.detour_ns * 100.0 } else { 0.0 };
    let mut text = format!(
        "\nthe sources explain {share:.1} % of the {} in {} detours; {} detours are unexplained\n",
        ns(thieves.detour_ns),
        thieves.detours,
        thieves.unexplained_detours,
    );
    if thieves.events_lost > 0 {
        let _ = writeln!(text, "{} events were lost: counts are too low", thieves.events_lost);
    }
    if !thieves.sources.is_empty() {
        let mut sources = table(&["source", "count", "total", "longest", "explains", "cpus"]);
        for source in thieves.sources.iter().take(SHOWN) {
            let (total, longest) = (ns(source.total_ns as f64), ns(source.longest_ns as f64));
            let share = format!("{:.1} %", source.share * 100.0);
            row(&mut sources, vec![title(source), source.count.to_string(), total, longest, share, cpus(&source.cpus)]);
        }
        let _ = writeln!(text, "\n{sources}");
        if thieves.sources.len() > SHOWN {
            let _ = writeln!(text, "and {} more, in the record and with --json", thieves.sources.len() - SHOWN);
        }
        let _ = writeln!(text, "\nhow to stop them (LIST: the measured CPUs, REST: all others)");
        for (remedy, names) in remedies(&thieves.sources) {
            let _ = writeln!(text, "  {remedy}\n      {}", names.join(", "));
        }
    }
    for sentence in &thieves.unobserved {
        let _ = writeln!(text, "note: {sentence}");
    }
    if let Some(stopped) = &thieves.stopped {
        text.push_str(&around(stopped));
    }
    text + "\n"
}

/// Each remedy once with the sources that it stops, in the order of the sources.
fn remedies(sources: &[Source]) -> Vec<(&str, Vec<String>)> {
    let mut remedies: Vec<(&str, Vec<String>)> = Vec::new();
    for source in sources.iter().take(SHOWN) {
        match remedies.iter_mut().find(|(remedy, _)| *remedy == source.remedy) {
            Some((_, names)) => names.push(title(source)),
            None => remedies.push((&source.remedy, vec![title(source)])),
        }
    }
    remedies
}

/// The source on one line: kind, name and origin.
pub fn title(source: &Source) -> String {
    match &source.origin {
        Some(origin) => format!("{} {} ({origin})", source.kind.name(), source.name),
        None => format!("{} {}", source.kind.name(), source.name),
    }
}

fn around(stopped: &Stopped) -> String {
    let mut text = format!(
        "\nended by noise of {} on cpu {}, {} after the beginning; events around it:\n",
        ns(stopped.noise_ns as f64),
        stopped.cpu,
        ns(stopped.start_ns as f64)
    );
    let mut events = table(&["what", "from the sample's beginning", "for"]);
    for event in &stopped.events {
        let origin = event.origin.as_ref().map_or_else(String::new, |origin| format!(" ({origin})"));
        let what = format!("{} {}{origin}", event.kind.name(), event.name);
        let after = event.start_ns - stopped.start_ns as i64;
        let sign = if after < 0 { "-" } else { "" };
        let after = format!("{sign}{}", ns(after.unsigned_abs() as f64));
        row(&mut events, vec![what, after, ns(event.length_ns as f64)]);
    }
    let _ = writeln!(text, "{events}");
    text
}

/// `0-3,8`
fn cpus(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::thieves::{Event, Kind};

    #[test]
    fn a_table_names_the_thief() {
        let source = Source {
            kind: Kind::Ipi,
            name: "function call".into(),
            origin: Some("stress: flush_tlb_mm_range".into()),
            cpus: vec![0, 1, 2, 5],
            count: 3,
            total_ns: 4500,
            longest_ns: 2000,
            explained_ns: 4500.0,
            share: 0.45,
            remedy: "do not".into(),
        };
        let event = Event { start_ns: -500, length_ns: 900, kind: Kind::Timer, name: "tick".into(), origin: None };
        let text = thieves(&Thieves {
            sources: vec![source],
            detours: 4,
            detour_ns: 10_000.0,
            explained_ns: 4500.0,
            unexplained_detours: 1,
            events_lost: 7,
            stopped: Some(Stopped { cpu: 2, start_ns: 1000, noise_ns: 100_000, events: vec![event] }),
            unobserved: vec!["no firmware".into()],
            ..Thieves::default()
        });
        for part in [
            "45.0 % of the 10 us in 4 detours; 1 detours",
            "7 events were lost",
            "IPI function call (stress: flush_tlb_mm_range)",
            "0-2,5",
            "do not",
            "note: no firmware",
            "noise of 100 us on cpu 2",
            "-1.5 us",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
