// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rtla osnoise hist` and `rtla timerlat hist`: a table with a column for each CPU (osnoise: `CPU-003`; timerlat:
//! `IRQ-003`, `Thr-003` and `Usr-003`, of which the thread's latency counts).

use super::Found;
use super::histogram::Histogram;
use crate::record::Method;

pub fn parse(text: &str) -> Result<Found, String> {
    let lines = || text.lines().map(str::trim);
    let title = lines().find_map(|line| line.strip_prefix("# RTLA ")).ok_or("no line `# RTLA ... histogram`")?;
    let scale = if lines().any(|line| line.starts_with("# Time unit is nanoseconds")) { 1 } else { 1000 };
    let duration = lines().find_map(|line| line.strip_prefix("# Duration:")).and_then(seconds);
    let measured_ns = duration.ok_or("no line `# Duration: DAYS HH:MM:SS`")? * 1e9;
    let names: Vec<&str> = lines()
        .find_map(|line| line.strip_prefix("Index"))
        .ok_or("no line `Index` (--no-index was used?)")?
        .split_whitespace()
        .collect();
    let (prefix, what) = match title.starts_with("timerlat") {
        true => ("Thr-", "wake-up latencies of a timer's thread (rtla timerlat), not what a computing program lost"),
        false => ("CPU-", "single noises (rtla osnoise)"),
    };
    let columns: Vec<(usize, u32)> = names
        .iter()
        .enumerate()
        .filter_map(|(column, name)| Some((column, name.strip_prefix(prefix)?.parse().ok()?)))
        .collect();
    if columns.is_empty() {
        return Err(format!("no column `{prefix}CPU`"));
    }
    let mut histograms: Vec<Histogram> =
        columns.iter().map(|(_, cpu)| Histogram { cpu: *cpu, ..Histogram::default() }).collect();
    for line in lines() {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        let values: Vec<Option<u64>> = words.map(|word| word.parse().ok()).collect();
        // The totals over all CPUs follow, in other columns.
        if first == "ALL:" {
            break;
        }
        for (histogram, (column, _)) in histograms.iter_mut().zip(&columns) {
            let value = values.get(*column).copied().flatten();
            match (first, first.parse::<u64>(), value) {
                ("over:", _, Some(value)) => histogram.beyond = value,
                ("max:", _, Some(value)) => histogram.max_ns = value.checked_mul(scale),
                (_, Ok(index), Some(count)) => {
                    histogram.counts.push((index.checked_mul(scale).ok_or("an index is too large")?, count));
                }
                (_, Ok(index), None) => return Err(format!("line {index}: a column is missing")),
                _ => (),
            }
        }
    }
    let latencies = prefix == "Thr-";
    let mut warnings = Vec::new();
    if !latencies {
        warnings.push("a histogram has no times: its samples are spread evenly".to_owned());
    }
    let beyond: u64 = histograms.iter().map(|histogram| histogram.beyond).sum();
    if beyond > 0 {
        warnings
            .push(format!("{beyond} samples are longer than the table: all but the longest count as its last line"));
    }
    let cpu = |histogram: &Histogram| match latencies {
        true => histogram.latencies(measured_ns),
        false => histogram.spread(measured_ns),
    };
    let cpus = histograms.iter().map(cpu).collect::<Result<_, _>>()?;
    Ok(Found { what: what.into(), cpus, warnings, quantum: latencies.then_some((Method::Latency, 1.0)) })
}

/// `0 00:10:01`: days, hours, minutes and seconds.
fn seconds(text: &str) -> Option<f64> {
    let (days, clock) = text.trim().split_once(' ')?;
    let parts: Vec<f64> = clock.trim().split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = parts[..] else { return None };
    Some(days.parse::<f64>().ok()? * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds).filter(|s| *s > 0.0)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const OSNOISE: &str = "# RTLA osnoise histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:00:10\n\
        Index   CPU-000   CPU-003\n0             4         0\n1            20         0\n5             2         1\n\
        over:         0         2\ncount:       26         3\nmin:          0         5\navg:          1        40\n\
        max:          5        99\n";
    pub const TIMERLAT: &str = "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:01:00\n\
        Index   IRQ-001   Thr-001   Usr-001   IRQ-002   Thr-002   Usr-002\n\
        0          1000       944       134       999       998       986\n\
        10            0        55       863         0         1        13\n\
        over:         0         0         0         0         0         0\n\
        count:     1000       999      1000       999       999       999\n\
        max:          2        14        24         2        12        22\n\
        ALL:        IRQ       Thr       Usr\ncount:     1999      1998      1999\nmax:          2        14        24\n";

    #[test]
    fn osnoise() {
        let found = parse(OSNOISE).expect("a table");
        let lengths = |cpu: usize| {
            let mut lengths: Vec<u64> = found.cpus[cpu].detours.iter().map(|(_, length)| *length).collect();
            lengths.sort_unstable();
            lengths
        };
        assert_eq!(found.cpus.iter().map(|one| one.cpu).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(lengths(0), [[1000; 20].as_slice(), &[5000; 2]].concat());
        assert_eq!(lengths(1), [5000, 5000, 99_000], "one beyond the table is the longest, one at least its last line");
        assert!(found.cpus.iter().all(|one| one.measured_ns == 10e9) && found.warnings[1].starts_with("2 samples"));
    }

    #[test]
    fn timerlat_is_the_threads_latency() {
        let found = parse(TIMERLAT).expect("a table");
        let counts: Vec<usize> = found.cpus.iter().map(|one| one.detours.len()).collect();
        assert_eq!((counts, found.cpus[1].cpu), (vec![999, 999], 2));
        assert!(found.what.contains("latencies") && found.cpus[0].measured_ns == 60e9);
    }

    #[test]
    fn what_is_missing_is_named() {
        for (without, said) in [("# Duration", "Duration"), ("Index", "Index"), ("CPU-", "CPU-"), ("# RTLA", "# RTLA")]
        {
            let error = parse(&OSNOISE.replace(without, "x")).expect_err("incomplete");
            assert!(error.contains(said), "{error}");
        }
        assert_eq!(seconds(" 2 01:01:01"), Some(2.0 * 86_400.0 + 3661.0));
    }
}
