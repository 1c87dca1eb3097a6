// SPDX-License-Identifier: Apache-2.0 OR MIT
//! netgauge's pattern `noise` (version 2.4), which writes a file for each rank: `selfish` has beginning and length of each
//! detour in nanoseconds, `fwq` the length of each quantum in microseconds, `ftq` the work of each interval.

use super::{Found, OfCpu};
use crate::record::Method;

/// The title of each method's table.
const TITLES: [(&str, Method); 3] = [
    ("# Selfish Benchmark", Method::Selfish),
    ("# Fixed Work Quantum Benchmark", Method::Fwq),
    ("# Fixed Time Quantum Benchmark", Method::Ftq),
];

pub fn recognised(text: &str) -> bool {
    method(text).is_some()
}

fn method(text: &str) -> Option<Method> {
    text.lines().find_map(|line| TITLES.iter().find(|(title, _)| *title == line.trim())).map(|(_, method)| *method)
}

pub fn parse(text: &str) -> Result<Found, String> {
    let method = method(text).ok_or("no table of netgauge's noise pattern")?;
    let rows = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pairs: Vec<(f64, f64)> = rows
        .map(|row| pair(row).ok_or_else(|| format!("line `{row}`: not two numbers")))
        .collect::<Result<_, String>>()?;
    if pairs.is_empty() {
        return Err("its table is empty".into());
    }
    let mut warnings = vec!["the output does not name the CPU: it is called 0".to_owned()];
    let cycle = told(text, "# Compute-Cycle Duration:").filter(|us| *us > 0.0).map(|us| us * 1000.0);
    let needed = || cycle.ok_or("no line `# Compute-Cycle Duration: N usec`");
    let (what, cpu, quantum) = match method {
        Method::Selfish | Method::Latency => {
            warnings.push("the shortest cycle is subtracted from each detour already".into());
            let period = told(text, "# Measurement period:").map_or(0.0, |seconds| seconds * 1e9);
            ("detours (netgauge noise, selfish)", detours(&pairs, period), None)
        }
        Method::Fwq => {
            warnings.push("lengths are whole microseconds, and quanta follow each other without a gap".into());
            ("quanta of fixed work (netgauge noise, fwq)", fixed_work(&pairs), Some((method, needed()?)))
        }
        Method::Ftq => {
            warnings.push("intervals follow each other without a gap, each as long as was asked".into());
            ("intervals of fixed time (netgauge noise, ftq)", fixed_time(&pairs, needed()?), Some((method, needed()?)))
        }
    };
    Ok(Found { what: what.into(), cpus: vec![cpu], warnings, quantum })
}

/// The number after a word at the beginning of a comment.
fn told(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.trim().strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

fn pair(row: &str) -> Option<(f64, f64)> {
    let mut numbers = row.split_whitespace().map(|word| word.parse::<f64>().ok().filter(|number| *number >= 0.0));
    let pair = (numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(pair)
}

fn detours(pairs: &[(f64, f64)], period_ns: f64) -> OfCpu {
    let detours: Vec<(u64, u64)> = pairs.iter().map(|(start, length)| (*start as u64, *length as u64)).collect();
    // The file's period has two digits after the point: the last detour may end later.
    let end = detours.iter().map(|(start, length)| start.saturating_add(*length)).max().unwrap_or(0);
    OfCpu { measured_ns: period_ns.max(end as f64), detours, ..OfCpu::default() }
}

fn fixed_work(pairs: &[(f64, f64)]) -> OfCpu {
    let mut quanta = Vec::with_capacity(pairs.len());
    let mut end = 0_u64;
    for (_, us) in pairs {
        let length = (us * 1000.0) as u64;
        quanta.push((end, length));
        end = end.saturating_add(length);
    }
    OfCpu { detours: quanta, measured_ns: end as f64, ..OfCpu::default() }
}

fn fixed_time(pairs: &[(f64, f64)], interval_ns: f64) -> OfCpu {
    let start = |index: usize| (index as f64 * interval_ns) as u64;
    OfCpu {
        detours: (0..pairs.len()).map(|index| (start(index), interval_ns as u64)).collect(),
        work: pairs.iter().map(|(_, work)| *work as u64).collect(),
        measured_ns: pairs.len() as f64 * interval_ns,
        ..OfCpu::default()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const SELFISH: &str = "# Benchmark Method: selfish\n# Compute-Cycle Duration: 1000 usec\n\
        # Number of Cycles/Detours: 8\n# Selfish Benchmark\n# Minimal cycle length [ns]: 9.500000 \n\
        # Number of iterations (recorded+unrecorded): 4242 \n# Threshold: [% minimal cycle length]: 900 \n# \n\
        # Time [ns]\tselfish duration [ns]\n0.00\t120.50\n1000000.25\t2400.00\n2000001.00\t118.00\n\
        # CPU overhead due to noise: 0.13%\n# Measurement period: 0.00 s\n";
    pub const FWQ: &str = "# Benchmark Method: fwq\n# Compute-Cycle Duration: 100 usec\n\
        # Fixed Work Quantum Benchmark\n# cycle number    duration [us]\n0             100\n1             103\n2             100\n";
    pub const FTQ: &str = "# Benchmark Method: ftq\n# Compute-Cycle Duration: 1000 usec\n\
        # Fixed Time Quantum Benchmark\n# cycle number    workload iterations\n 0                5000\n 1                4500\n";

    #[test]
    fn detours_keep_their_times() {
        let found = parse(SELFISH).expect("a table");
        assert_eq!(found.quantum, None);
        assert_eq!(found.cpus[0].detours, [(0, 120), (1_000_000, 2400), (2_000_001, 118)]);
        assert_eq!(found.cpus[0].measured_ns, 2_000_119.0, "the period is rounded to 0.00 s");
    }

    #[test]
    fn quanta_and_intervals_have_their_lengths() {
        let found = parse(FWQ).expect("a table");
        assert_eq!(found.quantum, Some((Method::Fwq, 100_000.0)));
        assert_eq!(found.cpus[0].detours, [(0, 100_000), (100_000, 103_000), (203_000, 100_000)]);
        let found = parse(FTQ).expect("a table");
        assert_eq!(found.quantum, Some((Method::Ftq, 1_000_000.0)));
        assert_eq!(found.cpus[0].detours, [(0, 1_000_000), (1_000_000, 1_000_000)]);
        assert_eq!(found.cpus[0].work, [5000, 4500]);
    }

    #[test]
    fn damage_is_named() {
        assert!(parse(&SELFISH.replace("2400.00", "-1")).is_err_and(|error| error.contains("`1000000.25\t-1`")));
        assert!(parse(&FTQ.replace("4500", "4500 1")).is_err_and(|error| error.contains("not two numbers")));
        assert!(parse(&FTQ.replace("# Compute-Cycle", "#")).is_err_and(|error| error.contains("Compute-Cycle")));
        assert!(parse("# Selfish Benchmark\n").is_err_and(|error| error.contains("empty")));
    }
}
