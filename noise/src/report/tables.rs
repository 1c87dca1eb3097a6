// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page's tables: the numbers behind the figures, and details for which the figures have no room.

use std::time::{Duration, UNIX_EPOCH};

use maud::{Markup, html};

use super::axis::{duration, percent, slower};
use super::material::{Material, Pictured};
use super::origin::command;
use crate::measure::machine::cpu_list;
use crate::predict::Prediction;
use crate::record::thieves::{Stopped, Thieves};
use crate::units::{rate, rounded_up};

pub fn all(material: &Material<'_>) -> Markup {
    let records = &material.records;
    html! {
        (beside("In numbers", records, &numbers(material)))
        @if material.traced() {
            @for record in records {
                @if let Some(found) = &record.about.thieves { (thieves(record, found)) }
            }
        }
        @for record in records.iter().filter(|record| !record.summary.groups.is_empty()) { (groups(record)) }
        @for record in records.iter().filter(|record| !record.summary.spectrum.is_empty()) { (peaks(record)) }
        @for record in records.iter().filter(|record| record.summary.samples > 0 && !material.latencies()) { (per_cpu(record)) }
        (beside("Where it was measured", records, &conditions()))
    }
}

/// The ends of a prediction's interval.
pub fn between(prediction: &Prediction) -> Option<String> {
    let (low, high) = (prediction.slowdown_low?, prediction.slowdown_high?);
    Some(said_ends(low, high))
}

fn said_ends(low: f64, high: f64) -> String {
    format!("between {} and {} (95 %)", slower(low), slower(high))
}

/// A number with separators: `7,630,848`.
pub fn threads(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

type Row<'a> = (String, Box<dyn Fn(&Pictured<'_>) -> String + 'a>);

/// A table with a column for each record.
fn beside(title: &str, records: &[Pictured<'_>], rows: &[Row<'_>]) -> Markup {
    html! {
        section {
            h2 { (title) }
            div.scroll tabindex="0" role="region" aria-label=(title) {
                table {
                    thead { tr { td {} @for record in records { th scope="col" { (record.about.label) } } } }
                    tbody {
                        @for (name, value) in rows {
                            tr { th scope="row" { (name) } @for record in records { td { (value(record)) } } }
                        }
                    }
                }
            }
        }
    }
}

/// A table about one record; the first column names its row. In a narrow window each row becomes a block, so that
/// nothing scrolls sideways.
fn about_one(title: &str, record: &Pictured<'_>, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    let title = format!("{title}: {}", record.about.label);
    html! {
        section {
            h2 { (title) }
            div.scroll tabindex="0" role="region" aria-label=(title) {
                table.stack {
                    thead { tr { @for name in head { th scope="col" { (name) } } } }
                    tbody {
                        @for row in rows {
                            tr {
                                @if let Some((name, cells)) = row.split_first() {
                                    th scope="row" { (name) }
                                    @for (cell, name) in cells.iter().zip(head.iter().skip(1)) {
                                        td data-name=(name) { (cell) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn latencies<'a>(material: &'a Material<'_>) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = vec![
        ("samples".into(), Box::new(|one| threads(one.summary.samples))),
        ("longest latency".into(), Box::new(|one| duration(one.summary.max_noise_ns))),
    ];
    if material.records.iter().any(|one| !one.summary.warnings.is_empty()) {
        rows.push(("warnings".into(), Box::new(|one| one.summary.warnings.join("; "))));
    }
    rows.extend(quantiles(material, "latency"));
    rows
}

/// A row for each share of samples.
fn quantiles<'a>(material: &'a Material<'_>, what: &'static str) -> impl Iterator<Item = Row<'a>> {
    let shares = material.records.iter().map(|one| &one.summary.tail.0).max_by_key(|tail| tail.len());
    shares.into_iter().flatten().filter(|(share, _)| *share < 1.0).map(move |(share, _)| {
        let of = move |one: &Pictured<'_>| one.summary.tail.0.iter().find(|(other, _)| other == share).copied();
        let value = move |one: &Pictured<'_>| of(one).map_or("-".into(), |(_, length)| duration(length));
        let row: Row<'a> = (format!("{what} that {} of samples do not exceed", whole_percent(*share)), Box::new(value));
        row
    })
}

fn numbers<'a>(material: &'a Material<'_>) -> Vec<Row<'a>> {
    if material.latencies() {
        return latencies(material);
    }
    let mut rows: Vec<Row<'a>> = vec![
        ("method".into(), Box::new(|one| one.about.method.name().into())),
        ("samples".into(), Box::new(|one| threads(one.summary.samples))),
        ("longest noise".into(), Box::new(|one| duration(one.summary.max_noise_ns))),
        ("noise rate".into(), Box::new(|one| rate(one.summary.noise_rate))),
    ];
    if let Some(first) = material.records.first() {
        let name = format!("detours of {} or more", duration(first.summary.detour_threshold_ns));
        rows.push((name, Box::new(|one| threads(one.summary.detours))));
    }
    let ends = |one: &Pictured<'_>| match (one.summary.evidence.noise_rate_low, one.summary.evidence.noise_rate_high) {
        (Some(low), Some(high)) => format!("{} to {}", rate(low), rate(high)),
        _ => "-".into(),
    };
    rows.push(("noise rate, 95 % on each side".into(), Box::new(ends)));
    let once = |one: &Pictured<'_>| rounded_up(one.summary.evidence.longer_at_most_once_in_ns);
    rows.push(("longer noise on a CPU at most once in (95 %)".into(), Box::new(once)));
    let enough =
        |one: &Pictured<'_>| one.summary.evidence.not_enough.as_ref().map_or("yes".into(), |why| format!("no: {why}"));
    rows.push(("enough to call a CPU quiet".into(), Box::new(enough)));
    if material.records.iter().any(|one| !one.summary.warnings.is_empty()) {
        rows.push(("warnings".into(), Box::new(|one| one.summary.warnings.join("; "))));
    }
    if material.records.iter().any(|one| one.summary.saturated > 0) {
        rows.push(("intervals that were lost whole".into(), Box::new(|one| threads(one.summary.saturated))));
    }
    if material.records.iter().any(|one| one.summary.lost > 0) {
        rows.push(("counted, not stored".into(), Box::new(|one| threads(one.summary.lost))));
    }
    rows.extend(quantiles(material, "noise"));
    for wanted in [1024u64, 131_072].into_iter().filter(|wanted| *wanted < material.threads) {
        let of = move |one: &Pictured<'_>| {
            let (_, low, high) = one.prediction.by_threads_between.iter().find(|(count, ..)| *count == wanted)?;
            Some(said_ends(*low, *high))
        };
        let value = move |one: &Pictured<'_>| of(one).unwrap_or("-".into());
        rows.push((format!("a program of {} threads", threads(wanted)), Box::new(value)));
    }
    rows
}

/// 99.99 %.
fn whole_percent(share: f64) -> String {
    format!("{} %", (share * 1e8).round() / 1e6)
}

fn conditions<'a>() -> Vec<Row<'a>> {
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let row = |name: &str, value: Box<dyn Fn(&Pictured<'_>) -> String + 'a>| (name.to_owned(), value);
    let began = |one: &Pictured<'_>| {
        let moment = UNIX_EPOCH.checked_add(Duration::from_secs(one.about.began_unix_s));
        // Years with more than four digits are not shown.
        moment
            .filter(|_| one.about.began_unix_s < 253_402_300_800)
            .map_or("-".into(), |moment| humantime::format_rfc3339_seconds(moment).to_string())
    };
    vec![
        row("host", Box::new(|one| one.about.host.clone())),
        row("processor", Box::new(|one| one.about.processor.clone())),
        row("kernel", Box::new(|one| one.about.kernel_release.clone())),
        row("its command line", Box::new(|one| one.about.kernel_arguments.clone())),
        row("measured by", Box::new(|one| command(one.about))),
        row("on CPUs", Box::new(|one| cpu_list(&one.about.cpus))),
        row("requested quantum", Box::new(|one| duration(one.about.quantum_ns))),
        row("time source", Box::new(|one| one.about.time_source.clone())),
        row("ticks in a second", Box::new(|one| format!("{:.0}", one.about.ticks_per_second))),
        row("memory locked", Box::new(move |one| yes(one.about.memory_locked))),
        row("huge pages", Box::new(move |one| yes(one.about.huge_pages))),
        row("real-time priority", Box::new(|one| one.about.realtime_priority.map_or("none".into(), |p| p.to_string()))),
        row("began", Box::new(began)),
        row("version", Box::new(|one| one.about.version.clone())),
    ]
}

fn groups(record: &Pictured<'_>) -> Markup {
    let rows = record.summary.groups.iter().map(|group| {
        vec![
            format!("{} to {}", duration(group.shortest_ns), duration(group.longest_ns)),
            duration(group.mean_ns),
            threads(group.count),
            duration(group.interval_ns),
            format!("{:.1} %", group.share * 100.0),
        ]
    });
    about_one("Noise groups", record, &["length", "mean", "count", "one in (each CPU)", "share of noise"], rows)
}

fn peaks(record: &Pictured<'_>) -> Markup {
    let rows =
        record.summary.spectrum.iter().map(|peak| vec![peak.name(), peak.cpu.to_string(), percent(peak.amplitude)]);
    about_one("Periodic noise", record, &["frequency", "CPU", "amplitude, share of an interval"], rows)
}

fn per_cpu(record: &Pictured<'_>) -> Markup {
    let known = |count: Option<u64>| count.map_or("-".into(), threads);
    let rows = record.summary.per_cpu.iter().map(|cpu| {
        vec![
            cpu.cpu.to_string(),
            threads(cpu.samples),
            duration(cpu.max_noise_ns),
            rate(cpu.noise_rate),
            threads(cpu.involuntary_switches),
            threads(cpu.page_faults),
            known(cpu.migrations),
            known(cpu.instructions),
        ]
    });
    let head =
        ["CPU", "samples", "longest noise", "noise rate", "preempted", "page faults", "migrations", "instructions"];
    about_one("Each CPU", record, &head, rows)
}

fn thieves(record: &Pictured<'_>, found: &Thieves) -> Markup {
    let rows = found.sources.iter().map(|source| {
        vec![
            source.name.clone(),
            source.kind.name().into(),
            source.origin.clone().unwrap_or("-".into()),
            cpu_list(&source.cpus),
            threads(source.count),
            duration(source.total_ns as f64),
            duration(source.longest_ns as f64),
            format!("{:.1} %", source.share * 100.0),
            source.remedy.clone(),
        ]
    });
    let head = ["source", "kind", "from", "CPUs", "count", "total", "longest", "share explained", "remedy"];
    html! {
        (about_one("What took the time", record, &head, rows))
        ul.notes {
            li {
                (threads(found.detours)) " detours of " (duration(found.detour_threshold_ns)) " or more took "
                (duration(found.detour_ns)) "; " (duration(found.detour_ns - found.explained_ns)) " of this is unexplained, and in "
                (threads(found.unexplained_detours)) " detours no source ran at all."
            }
            li {
                (threads(found.events)) " events were recorded, "
                (if found.events_lost == 0 { "none".into() } else { threads(found.events_lost) }) " lost"
                (if found.events_lost == 0 { "." } else { ": counts and times are too low." })
            }
            @for sentence in &found.unobserved { li { "Not observed: " (sentence) } }
        }
        @if let Some(stopped) = &found.stopped { (end(record, stopped)) }
    }
}

/// The events around the detour that ended the measurement.
fn end(record: &Pictured<'_>, stopped: &Stopped) -> Markup {
    let title = format!(
        "What ran when CPU {} lost {} at {}",
        stopped.cpu,
        duration(stopped.noise_ns as f64),
        duration(stopped.start_ns as f64)
    );
    let rows = stopped.events.iter().map(|event| {
        vec![
            event.name.clone(),
            event.kind.name().into(),
            event.origin.clone().unwrap_or("-".into()),
            duration(event.start_ns as f64),
            duration(event.length_ns as f64),
        ]
    });
    about_one(&title, record, &["what", "kind", "from", "began at", "took"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([threads(7_630_848), threads(999), threads(1000)], ["7,630,848", "999", "1,000"]);
        assert_eq!(
            [whole_percent(0.5), whole_percent(0.9999), whole_percent(0.999999)],
            ["50 %", "99.99 %", "99.9999 %"]
        );
    }
}
