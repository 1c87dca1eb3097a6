// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes two records comparable, and says what it did for that; or refuses.
//!
//! Owns the rules: the same method and the same work; quanta of the same length, or of a whole multiple, whose samples
//! are then added up; the larger threshold of selfish detour; the CPUs that both records of one machine have. `compare`
//! calls it. It never judges noise.

use super::saturation::longest_ns;
use super::{measured_ns, noise_of};
use crate::Result;
use crate::measure::machine::cpu_list;
use crate::record::{Method, Record, Samples};
use crate::units::Nanoseconds;

/// Quanta that differ by less are of the same length.
const SAME: f64 = 0.05;
/// Quanta that were asked for with the same length may differ by as much: CPUs differ in speed.
const SAME_ASKED: f64 = 0.5;
/// The windows in which the detours of a selfish record are added up: their number counts, not only their length.
pub const WINDOW_NS: f64 = 1e6;

/// One side of a comparison.
pub struct Side {
    /// The noise of each sample, of several samples, or of each window.
    pub lengths: Vec<f64>,
    pub longest: f64,
    pub rate: f64,
}

/// Both sides, and what the reader has to know.
pub fn alike(record: &Record, base: &Record) -> Result<(Side, Side, Vec<String>)> {
    let (this, that) = (&record.about, &base.about);
    let refused = |why: String| Err(format!("{} and {}: {why}", this.label, that.label).into());
    if this.method != that.method && [this.method, that.method].contains(&Method::Latency) {
        return refused("wake-up latencies and noise are different quantities, which cannot be compared".into());
    }
    if this.method != that.method {
        let (here, there) = (this.method.name(), that.method.name());
        return refused(format!("measured by {here} and by {there}: compare records of the same method"));
    }
    if this.kernel != that.kernel {
        return refused("different work in the measuring loop (--work): compare records of the same work".into());
    }
    let mut notes = Vec::new();
    if this.host != that.host || this.processor != that.processor {
        let name = |about: &crate::record::About| format!("{} ({})", about.host, about.processor);
        notes.push(format!("different machines: {} and {}", name(this), name(that)));
    }
    let of_one_machine = this.across.is_none() && that.across.is_none();
    let cpus = if of_one_machine { cpus(record, base, &mut notes) } else { None };
    if let (Some(here), Some(there)) = (&this.across, &that.across)
        && here.mode != there.mode
    {
        notes.push(format!("different barriers: {} and {}", here.mode.name(), there.mode.name()));
    }
    if this.method == Method::Selfish {
        let least = this.quantum_ns.max(that.quantum_ns);
        if this.quantum_ns != that.quantum_ns {
            notes.push(format!("different thresholds: only detours of {} or more count", Nanoseconds(least)));
        }
        let side = |record: &Record| windows(&only(record, cpus.as_deref()), least);
        return Ok((side(record), side(base), notes));
    }
    let (here, there) = (quantum(record), quantum(base));
    let times = match times(here, there, this.quantum_ns == that.quantum_ns) {
        Some(times) if of_one_machine || times == 1 => times,
        _ => {
            let (here, there) = (Nanoseconds(here), Nanoseconds(there));
            return refused(format!("quanta of {here} and {there}: compare records of the same --quantum"));
        }
    };
    if times > 1 {
        let short = if here < there { &this.label } else { &that.label };
        let lengths = (Nanoseconds(here.min(there)), Nanoseconds(here.max(there)));
        notes.push(format!("{short}: {times} quanta of {} count as one of {}", lengths.0, lengths.1));
    } else if (here / there - 1.0).abs() > SAME {
        notes.push(format!("quanta of {} and {}: the CPUs differ in speed", Nanoseconds(here), Nanoseconds(there)));
    }
    let side = |record: &Record, times: usize| added_up(&only(record, cpus.as_deref()), times);
    let (of_here, of_there) = if here < there { (times, 1) } else { (1, times) };
    Ok((side(record, of_here), side(base, of_there), notes))
}

/// The CPUs to compare, if they are not all that both have.
fn cpus(record: &Record, base: &Record, notes: &mut Vec<String>) -> Option<Vec<u32>> {
    let (here, there) = (&record.about.cpus, &base.about.cpus);
    let sorted = |cpus: &[u32]| {
        let mut cpus = cpus.to_vec();
        cpus.sort_unstable();
        cpus
    };
    if sorted(here) == sorted(there) {
        return None;
    }
    let common = sorted(&here.iter().copied().filter(|cpu| there.contains(cpu)).collect::<Vec<_>>());
    let both = format!("different CPUs: {} and {}", cpu_list(here), cpu_list(there));
    if record.about.host != base.about.host || common.is_empty() {
        notes.push(format!("{both}: all are compared"));
        return None;
    }
    notes.push(format!("{both}: only {} are compared", cpu_list(&common)));
    Some(common)
}

/// The length of a quantum as it was: the shortest of fixed work, the interval of fixed time.
fn quantum(record: &Record) -> f64 {
    let shortest = match &record.about.across {
        Some(across) => Some(across.shortest_ns),
        None => record.samples.length_ns.iter().copied().min(),
    };
    match record.about.method {
        Method::Fwq => shortest.map_or(record.about.quantum_ns, |ns| ns as f64).max(1.0),
        _ => record.about.quantum_ns,
    }
}

/// How many of the shorter quanta are one of the longer ones; `None` if no whole number are.
fn times(here: f64, there: f64, asked_same: bool) -> Option<usize> {
    let ratio = here.max(there) / here.min(there);
    if asked_same && ratio < 1.0 + SAME_ASKED {
        return Some(1);
    }
    let whole = ratio.round();
    ((ratio / whole - 1.0).abs() <= SAME && whole < 1e9).then_some(whole as usize)
}

/// The record with only these CPUs.
fn only(record: &Record, cpus: Option<&[u32]>) -> Record {
    let mut part = record.clone();
    let Some(cpus) = cpus else { return part };
    let kept: Vec<bool> = record.samples.cpu.iter().map(|cpu| cpus.contains(cpu)).collect();
    let of_kept =
        |column: &[u64]| column.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(value, _)| *value).collect();
    part.samples = Samples {
        cpu: record.samples.cpu.iter().copied().filter(|cpu| cpus.contains(cpu)).collect(),
        start_ns: of_kept(&record.samples.start_ns),
        length_ns: of_kept(&record.samples.length_ns),
        work_units: of_kept(&record.samples.work_units),
    };
    part.about.cpus.retain(|cpu| cpus.contains(cpu));
    part.about.counters.retain(|counted| cpus.contains(&counted.cpu));
    part
}

/// The noise of each `times` consecutive samples of a CPU together; the last ones of a CPU may be too few.
fn added_up(record: &Record, times: usize) -> Side {
    let of_cpu = |(_, rows): (u32, std::ops::Range<usize>)| noise_of(record, rows);
    let each = record.samples.by_cpu().into_iter().map(of_cpu);
    let lengths =
        each.flat_map(|noise| noise.chunks_exact(times).map(|chunk| chunk.iter().sum()).collect::<Vec<f64>>());
    let lengths: Vec<f64> = lengths.collect();
    let longest = match times {
        1 => record
            .samples
            .by_cpu()
            .into_iter()
            .map(|(_, rows)| longest_ns(record, rows.clone(), &noise_of(record, rows))),
        _ => return Side { longest: lengths.iter().copied().fold(0.0, f64::max), lengths, rate: record.noise().rate },
    };
    Side { longest: longest.fold(0.0, f64::max), lengths, rate: record.noise().rate }
}

/// The detours that begin in each window, added up.
fn windows(record: &Record, least_ns: f64) -> Side {
    let (mut lengths, mut noise, mut time) = (Vec::new(), 0.0, 0.0);
    let runs = record.samples.by_cpu();
    for cpu in &record.about.cpus {
        let measured = measured_ns(record, *cpu);
        let mut windows = vec![0.0; (measured / WINDOW_NS).ceil().min(1e9) as usize];
        if let Some((_, rows)) = runs.iter().find(|(of, _)| of == cpu) {
            let starts = &record.samples.start_ns[rows.clone()];
            let raw = &record.samples.length_ns[rows.clone()];
            for ((start, raw), length) in starts.iter().zip(raw).zip(noise_of(record, rows.clone())) {
                let window = windows.get_mut((*start as f64 / WINDOW_NS) as usize);
                if let Some(window) = window.filter(|_| *raw as f64 >= least_ns) {
                    *window += length;
                    noise += length;
                }
            }
        }
        time += measured;
        lengths.extend(windows);
    }
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    Side { lengths, longest, rate: if time > 0.0 { noise / time } else { 0.0 } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Counters;
    use crate::record::examples::{about, fixed_work};

    fn notes(record: &Record, base: &Record) -> Vec<String> {
        alike(record, base).map(|(.., notes)| notes).expect("comparable")
    }

    fn refusal(record: &Record, base: &Record) -> String {
        alike(record, base).map(|_| ()).expect_err("refused").to_string()
    }

    #[test]
    fn other_measurements_are_refused() {
        let record = fixed_work(&[1_000_000, 1_000_500]);
        let mut other = record.clone();
        other.about.method = Method::Ftq;
        assert!(refusal(&record, &other).contains("fixed work and by fixed time"));
        let mut other = record.clone();
        other.about.kernel = crate::record::Kernel::Daxpy;
        assert!(refusal(&record, &other).contains("--work"));
        let mut odd = fixed_work(&[1_300_000, 1_300_100]);
        odd.about.quantum_ns = 1.3e6;
        assert_eq!(
            refusal(&record, &odd),
            "example and example: quanta of 1 ms and 1.3 ms: compare records of the same --quantum"
        );
        assert!(notes(&record, &record).is_empty());
    }

    /// Four quanta of 250 us against one of 1 ms; the fifth is too few.
    #[test]
    fn short_quanta_are_added_up() {
        let mut short = fixed_work(&[250_000, 250_010, 250_000, 250_030, 250_007]);
        short.about.quantum_ns = 250e3;
        let long = fixed_work(&[1_000_000, 1_000_500]);
        let (here, there, notes) = alike(&short, &long).expect("comparable");
        assert_eq!((here.lengths, there.lengths), (vec![40.0], vec![0.0, 500.0]));
        assert_eq!(notes, ["example: 4 quanta of 250 us count as one of 1 ms"]);
        let (here, there, _) = alike(&long, &short).expect("comparable");
        assert_eq!((here.lengths, there.lengths), (vec![0.0, 500.0], vec![40.0]));
    }

    #[test]
    fn machines_of_other_speed_are_named() {
        let (fast, mut slow) = (fixed_work(&[1_000_000; 2]), fixed_work(&[1_200_000; 2]));
        slow.about.host = "node2".into();
        let found = notes(&slow, &fast);
        assert_eq!(found[0], "different machines: node2 (a processor) and node1 (a processor)");
        assert_eq!(found[1], "quanta of 1.2 ms and 1 ms: the CPUs differ in speed");
    }

    #[test]
    fn only_common_cpus_are_compared() {
        let mut both = fixed_work(&[100, 150]);
        both.samples.cpu.extend([4, 4]);
        both.samples.start_ns.extend([0, 200]);
        both.samples.length_ns.extend([100, 107]);
        both.samples.work_units.extend([7, 7]);
        both.about.cpus.push(4);
        both.about.counters.push(Counters { cpu: 4, measured_ns: 207, ..Counters::default() });
        let mut second = only(&both, Some(&[4]));
        let (here, there, notes) = alike(&both, &second).expect("comparable");
        assert_eq!((here.lengths, there.lengths), (vec![0.0, 7.0], vec![0.0, 7.0]));
        assert_eq!(notes, ["different CPUs: 0,4 and 4: only 4 are compared"]);
        assert_eq!(here.rate, there.rate);
        second.about.host = "node2".into();
        let (here, _, notes) = alike(&both, &second).expect("comparable");
        assert_eq!(here.lengths, [0.0, 50.0, 0.0, 7.0]);
        assert_eq!(notes[1], "different CPUs: 0,4 and 4: all are compared");
    }

    /// 3 ms with two detours in the first and one, too short for both, in the last.
    #[test]
    fn detours_are_added_up_in_windows() {
        let record = |lengths: [u64; 3], threshold: f64| {
            let samples = Samples {
                cpu: vec![0; 3],
                start_ns: vec![0, 10_000, 2_500_000],
                length_ns: lengths.to_vec(),
                work_units: vec![0; 3],
            };
            let mut about = about(Method::Selfish, 3_000_000);
            about.quantum_ns = threshold;
            Record { about, samples }
        };
        let (here, there, notes) =
            alike(&record([1500, 1000, 500], 100.0), &record([2000, 3000, 4000], 1000.0)).expect("comparable");
        assert_eq!((here.lengths, there.lengths), (vec![2500.0, 0.0, 0.0], vec![5000.0, 0.0, 4000.0]));
        assert_eq!(notes, ["different thresholds: only detours of 1 us or more count"]);
        assert!((here.rate - 2500.0 / 3e6).abs() < 1e-15);
    }
}
