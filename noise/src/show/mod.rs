// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables for a terminal.

mod exact;
mod history;
mod live;
mod thieves;

pub use exact::exact;
pub use history::history;
pub use live::live;
pub use thieves::{thieves, title};

use std::fmt::Write;

use comfy_table::{Cell, CellAlignment, Table, presets::NOTHING};
use tacet_words::verdict::{Part, Verdict};

use crate::analyse::{Comparison, Evidence, OfAll, P_LEAST, PerCpu, Summary};
use crate::inject::Injected;
use crate::predict::Prediction;
use crate::predict::simulate::Simulation;
use crate::record::Method;
use crate::record::across::Place;
use crate::units::{Nanoseconds, four_digits, rate, rounded_up};

/// The number of CPUs that a table shows for a record from many nodes.
const NOISIEST: usize = 20;

fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(head);
    table
}

/// The first column is a name, the others are numbers.
fn row(table: &mut Table, cells: Vec<String>) {
    table.add_row(cells.into_iter().enumerate().map(|(index, text)| {
        Cell::new(text).set_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right })
    }));
}

fn ns(value: f64) -> String {
    Nanoseconds(value).to_string()
}

/// The summaries, each with the whole, each CPU, the tail, the groups and the spectrum.
pub fn summaries(summaries: &[Summary]) -> String {
    summaries.iter().map(summary).collect::<Vec<_>>().join("\n")
}

/// Wake-up latencies, which have neither a rate nor times.
fn latencies(summary: &Summary) -> String {
    let mut text = format!(
        "{}: wake-up latencies on {} ({}), {} samples: not noise, which a computing program loses\n\
         longest latency {}, {} of {} or more\n",
        summary.label,
        summary.host,
        summary.kernel_release,
        summary.samples,
        ns(summary.max_noise_ns),
        summary.detours,
        ns(summary.detour_threshold_ns),
    );
    if let Some(why) = &summary.evidence.not_enough {
        let _ = writeln!(text, "not enough to compare: {why}");
    }
    for warning in &summary.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    let mut cpus = table(&["cpu", "samples", "longest latency"]);
    for cpu in &summary.per_cpu {
        row(&mut cpus, vec![cpu.cpu.to_string(), cpu.samples.to_string(), ns(cpu.max_noise_ns)]);
    }
    let mut tail = table(&["share of samples", "latency not longer than"]);
    summary.tail.0.iter().for_each(|(share, length)| row(&mut tail, vec![format!("{share}"), ns(*length)]));
    let _ = writeln!(text, "\n{cpus}\n\n{tail}");
    text
}

fn summary(summary: &Summary) -> String {
    if summary.method == Method::Latency {
        return latencies(summary);
    }
    let mut text = format!(
        "{}: {} on {} ({}), {} samples\nlongest noise {}, noise rate {}, {} detours of {} or more\n",
        summary.label,
        summary.method.name(),
        summary.host,
        summary.kernel_release,
        summary.samples,
        ns(summary.max_noise_ns),
        rate(summary.noise_rate),
        summary.detours,
        ns(summary.detour_threshold_ns),
    );
    if summary.lost > 0 {
        let _ = writeln!(text, "{} more detours were counted, not stored", summary.lost);
    }
    if summary.saturated > 0 {
        let _ = writeln!(
            text,
            "{} intervals were lost whole: the longest noise took several; the tail and the groups cannot show it",
            summary.saturated
        );
    }
    text.push_str(&evidence(&summary.evidence));
    for warning in &summary.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    if let Some(across) = &summary.across {
        text.push_str(&of_all(across));
    }
    if !summary.per_cpu.is_empty() {
        let _ = writeln!(text, "\n{}", per_cpu(summary));
    }
    if !summary.tail.0.is_empty() {
        let mut tail = table(&["share of samples", "noise not longer than"]);
        summary.tail.0.iter().for_each(|(share, length)| row(&mut tail, vec![format!("{share}"), ns(*length)]));
        let _ = writeln!(text, "\n{tail}");
    }
    if !summary.groups.is_empty() {
        let mut groups = table(&["noise group", "mean", "count", "one in (each CPU)", "share of noise"]);
        for group in &summary.groups {
            let range = format!("{} to {}", ns(group.shortest_ns), ns(group.longest_ns));
            let share = format!("{:.1} %", group.share * 100.0);
            row(&mut groups, vec![range, ns(group.mean_ns), group.count.to_string(), ns(group.interval_ns), share]);
        }
        let _ = writeln!(text, "\n{groups}");
    }
    if !summary.spectrum.is_empty() {
        let mut peaks = table(&["periodic noise", "cpu", "amplitude"]);
        for peak in &summary.spectrum {
            row(&mut peaks, vec![peak.name(), peak.cpu.to_string(), rate(peak.amplitude)]);
        }
        let _ = writeln!(text, "\n{peaks}");
    }
    text
}

/// How much the numbers above can show.
fn evidence(evidence: &Evidence) -> String {
    if let Some(why) = &evidence.not_enough {
        return format!(
            "not enough to call anything quiet: {why} (measure for {} or longer)\n",
            rounded_up(evidence.least_ns())
        );
    }
    let rate = match (evidence.noise_rate_low, evidence.noise_rate_high) {
        (Some(low), Some(high)) => format!("noise rate between {} and {}, ", rate(low), rate(high)),
        _ => String::new(),
    };
    let once = rounded_up(evidence.longer_at_most_once_in_ns);
    format!("with 95 % confidence on each side: {rate}longer noise on a CPU at most once in {once}\n")
}

/// The runs of a record from many nodes, and the origin of its numbers.
fn of_all(across: &OfAll) -> String {
    let mut text = String::new();
    for (index, run) in across.runs.iter().enumerate() {
        let (min, max) = (run.min_run_ns as f64 / 1e9, run.max_run_ns as f64 / 1e9);
        let _ = writeln!(
            text,
            "run {index}, {}: {} ranks on {} nodes, run time min {min:.6} s, max {max:.6} s, max - min {:.6} s",
            across.mode.name(),
            run.ranks,
            run.nodes,
            max - min
        );
    }
    let _ = writeln!(
        text,
        "longest noise on {}, cpu {}, rank {} of run {}",
        across.worst.host, across.worst.cpu, across.worst.rank, across.worst.run
    );
    let _ = writeln!(
        text,
        "from the histogram of all cores: longest noise, rate, detours, tail (to 1/64), groups; only from the samples \
         of the {} worst nodes: CPUs, time series",
        across.stored_nodes
    );
    text
}

fn placed(place: &Place) -> String {
    format!("{}, {} (rank {} of run {})", place.cpu, place.host, place.rank, place.run)
}

/// All CPUs of one machine, or the noisiest CPUs of many nodes.
fn noisiest(summary: &Summary) -> Vec<&PerCpu> {
    let mut cpus: Vec<&PerCpu> = summary.per_cpu.iter().collect();
    if summary.across.is_some() {
        cpus.sort_by(|a, b| b.max_noise_ns.total_cmp(&a.max_noise_ns));
        cpus.truncate(NOISIEST);
    }
    cpus
}

fn per_cpu(summary: &Summary) -> Table {
    let mut table = table(&[
        "cpu",
        "samples",
        "longest noise",
        "noise rate",
        "preempted",
        "page faults",
        "migrations",
        "instructions",
    ]);
    let known = |count: Option<u64>| count.map_or_else(|| "-".into(), |count| count.to_string());
    for cpu in noisiest(summary) {
        row(
            &mut table,
            vec![
                cpu.place.as_ref().map_or_else(|| cpu.cpu.to_string(), placed),
                cpu.samples.to_string(),
                ns(cpu.max_noise_ns),
                rate(cpu.noise_rate),
                cpu.involuntary_switches.to_string(),
                cpu.page_faults.to_string(),
                known(cpu.migrations),
                known(cpu.instructions),
            ],
        );
    }
    table
}

pub fn comparisons(comparisons: &[Comparison]) -> String {
    let mut table = table(&["record", "against", "longest noise", "noise rate", "p", "effect size", "95 %", "effect"]);
    let times = |ratio: Option<f64>| ratio.map_or_else(|| "-".into(), |ratio| format!("x {}", four_digits(ratio)));
    let known = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:+.3}"));
    let mut text = String::new();
    for one in comparisons {
        let (low, high) = (known(one.effect_size_low), known(one.effect_size_high));
        row(
            &mut table,
            vec![
                one.label.clone(),
                one.against.clone(),
                times(one.max_noise_ratio),
                times(one.noise_rate_ratio),
                one.p_value.map_or_else(|| "-".into(), probability),
                known(one.effect_size),
                format!("{low} to {high}"),
                one.effect.into(),
            ],
        );
        let _ = writeln!(text, "{}", verdict(one));
        for note in &one.notes {
            let _ = writeln!(text, "note: {note}");
        }
    }
    format!("{text}\n{table}\n")
}

/// The verdict of a comparison in one line, the same in the terminal and on the page.
pub fn verdict(one: &Comparison) -> String {
    let (here, there) = (&one.label, &one.against);
    let negligibly = one.effect == "negligible" && matches!(one.tail, Part::Same | Part::Unknown);
    let effect = match negligibly {
        true => ", but negligibly",
        false if one.body == Part::Same => ", in its tail",
        false => "",
    };
    match one.verdict {
        Verdict::Noisier if one.quantity == "latency" => format!("{here} has longer latencies than {there}{effect}"),
        Verdict::Quieter if one.quantity == "latency" => format!("{here} has shorter latencies than {there}{effect}"),
        Verdict::Noisier => format!("{here} is noisier than {there}{effect}"),
        Verdict::Quieter => format!("{here} is quieter than {there}{effect}"),
        Verdict::Mixed => format!("{here} against {there}: mixed: {}", one.parts()),
        Verdict::NoDifferenceShown => format!("no difference shown between {here} and {there}"),
        Verdict::NotEnough => {
            format!(
                "{here} and {there}: not enough to say which is noisier (`tacet noise analyse` says what is missing)"
            )
        }
    }
}

/// A probability is never 0.
fn probability(p: f64) -> String {
    if p <= P_LEAST { format!("< {P_LEAST:e}") } else { rate(p) }
}

pub fn injected(injected: &[Injected]) -> String {
    let mut table = table(&["cpu", "noises", "late", "requested", "took", "longest"]);
    for one in injected {
        let lengths = [one.asked_ns, one.took_ns as f64, one.longest_ns as f64].map(ns);
        row(
            &mut table,
            [vec![one.cpu.to_string(), one.count.to_string(), one.late.to_string()], lengths.to_vec()].concat(),
        );
    }
    let left = injected.iter().filter(|one| one.left).map(|one| {
        let cpu = one.cpu;
        format!("warning: cpu {cpu} went offline, or left the cpuset of this program: its noise ended then\n")
    });
    let early = injected.iter().any(|one| one.ended_early);
    let marked = if early { "ended early by a signal: fewer noises than were asked for\n" } else { "" };
    format!("{table}\n{marked}{}", left.collect::<String>())
}

pub fn prediction(prediction: &Prediction) -> String {
    let mut text = format!(
        "{} threads that synchronise every {}: {} slower\n",
        prediction.threads,
        ns(prediction.interval_ns),
        percent(prediction.slowdown)
    );
    if let (Some(low), Some(high)) = (prediction.slowdown_low, prediction.slowdown_high) {
        let (low, high) = (percent(low), percent(high));
        let _ = writeln!(text, "between {low} and {high} (95 %), by the number of events that were seen");
    }
    if let Some(noise) = prediction.due_to.and_then(|index| prediction.noise.get(index)) {
        let _ = writeln!(text, "due to noise of {}, once in {}", ns(noise.length_ns), ns(noise.interval_ns));
    }
    let _ = writeln!(text, "by {}", prediction.method);
    if let Some(simulation) = &prediction.simulation {
        text.push_str(&simulated(simulation));
    }
    let mut threads = table(&["threads", "slower by"]);
    for (count, slowdown) in prediction.by_threads.iter().rev().step_by(3).collect::<Vec<_>>().into_iter().rev() {
        row(&mut threads, vec![count.to_string(), percent(*slowdown)]);
    }
    let mut intervals = table(&["synchronising every", "slower by"]);
    for (interval_ns, slowdown) in &prediction.by_interval {
        row(&mut intervals, vec![ns(*interval_ns), percent(*slowdown)]);
    }
    let _ = write!(text, "\n{threads}\n\n{intervals}\n");
    text
}

/// At most four digits: a prediction knows no more.
fn percent(share: f64) -> String {
    format!("{} %", four_digits(share * 100.0))
}

fn simulated(simulation: &Simulation) -> String {
    let mut text = format!(
        "simulated, {:?}{}, {} intervals, seed {}: {} slower",
        simulation.synchronisation,
        if simulation.co_scheduled { ", co-scheduled noise" } else { "" },
        simulation.intervals,
        simulation.seed,
        percent(simulation.slowdown)
    );
    if let Some(expected) = simulation.slowdown_expected {
        let _ = write!(text, " (expected: {})", percent(expected));
    }
    text.push('\n');
    if !simulation.delay_ns.is_empty() {
        let mut delays = table(&["share of intervals", "delayed by no more than"]);
        simulation.delay_ns.iter().for_each(|(share, delay)| row(&mut delays, vec![format!("{share}"), ns(*delay)]));
        let _ = writeln!(text, "\n{delays}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::{Noise, predict};
    use crate::record::examples::fixed_work;

    #[test]
    fn a_table_contains_the_statistics() {
        let text = summaries(&[fixed_work(&[1_000_000, 1_000_000, 1_050_440]).summary(1000.0)]);
        for word in ["fixed work", "50.44 us", "0.01681", "1 detours of 1 us or more", "100.0 %"] {
            assert!(text.contains(word), "{word} is not in {text}");
        }
    }

    #[test]
    fn little_evidence_is_told() {
        let little = summaries(&[fixed_work(&[1_000_000]).summary(1000.0)]);
        assert!(
            little.contains("not enough to call anything quiet: 1 sample") && little.contains("for 2s or"),
            "{little}"
        );
        let enough = summaries(&[fixed_work(&[1_000_000; 3000]).summary(1000.0)]);
        assert!(enough.contains("noise rate between 0 and 1e-3, longer noise on a CPU at most once in 1s"));
    }

    #[test]
    fn a_comparison_has_a_direction() {
        let record =
            |length: u64| fixed_work(&(0..3000).map(|index| 1_000_000 + index % 2 * length).collect::<Vec<_>>());
        let (mut loud, quiet) = (record(5000), record(10));
        loud.about.label = "loud".into();
        loud.about.host = "node2".into();
        let text = comparisons(&[crate::analyse::compare(&loud, &quiet).expect("comparable")]);
        assert!(text.starts_with("loud is noisier than example\nnote: different machines: node2"), "{text}");
        assert!(text.contains("+0.250") && text.contains("x 500"), "{text}");
        assert_eq!((probability(0.0), probability(0.25)), ("< 1e-300".into(), "0.25".into()));
    }

    #[test]
    fn a_prediction_names_the_noise() {
        let noise = [Noise { length_ns: 1e6, interval_ns: 500e9, count: None }];
        let text = prediction(&predict(&noise, 100_000, Nanoseconds(250e3)));
        assert!(text.contains("19.51 % slower") && text.contains("noise of 1 ms, once in 500 s"), "{text}");
        let percents = text.split_whitespace().zip(text.split_whitespace().skip(1)).filter(|(_, unit)| *unit == "%");
        let digits = |number: &str| number.split('e').next().unwrap_or_default().trim_start_matches(['0', '.']).len();
        let longest = percents.map(|(number, _)| digits(number)).max();
        assert!(longest.is_some_and(|longest| longest <= 5), "four digits and a point: {text}");
    }
}
