// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program `ftq` of Sottile and Minnich (github.com/rminnich/ftq, files since 2014): a file for each thread, whose
//! lines are the beginning of an interval in nanoseconds and the work done in it.

use super::{Found, OfCpu};
use crate::record::Method;

const FREQUENCY: &str = "# Frequency ";

pub fn recognised(text: &str) -> bool {
    text.starts_with(FREQUENCY) && text.contains("# Ticks per ns:")
}

pub fn parse(text: &str) -> Result<Found, String> {
    let frequency = text.lines().find_map(|line| line.strip_prefix(FREQUENCY)?.trim().parse::<f64>().ok());
    let frequency = frequency.filter(|hertz| (1e-3..=1e9).contains(hertz)).ok_or("no line `# Frequency HERTZ`")?;
    let interval_ns = 1e9 / frequency;
    let cpu = text.lines().find_map(|line| line.strip_prefix("# thread ")?.split_once("core ")?.1.trim().parse().ok());
    let mut of_cpu = OfCpu { cpu: cpu.unwrap_or(0), ..OfCpu::default() };
    for row in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (start, work) = pair(row).ok_or_else(|| format!("line `{row}`: not a time and a count"))?;
        if of_cpu.detours.last().is_some_and(|(last, _)| start <= *last) {
            return Err(format!("line `{row}`: its time is not after that of the line before"));
        }
        of_cpu.detours.push((start, interval_ns as u64));
        of_cpu.work.push(work);
    }
    let last = of_cpu.detours.last().ok_or("it has no interval")?.0;
    of_cpu.measured_ns = last as f64 + interval_ns;
    let mut warnings = Vec::new();
    if cpu.is_none() {
        warnings.push("the output does not name the CPU: it is called 0".to_owned());
    }
    if text.contains("# Warning: not wired") {
        warnings.push("its thread was not bound to the CPU".to_owned());
    }
    let what = "intervals of fixed time (ftq)".into();
    Ok(Found { what, cpus: vec![of_cpu], warnings, quantum: Some((Method::Ftq, interval_ns)) })
}

fn pair(row: &str) -> Option<(u64, u64)> {
    let mut numbers = row.split_whitespace().map(|word| word.parse().ok());
    let pair = (numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(pair)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const FILE: &str = "# Frequency 10000.000000\n# Ticks per ns: 2.4\n# octave: pkg load signal\n\
        # x = load(<file name>)\n# pwelch(x(:,2),[],[],[],10000.000000)\n# thread 1, core 3\n# start delay 0 msec\n\
        # Total count is 2990\n# Max possible work is 3000\n# Fraction is 0.99\n0 1000\n100002 990\n200001 1000\n";

    #[test]
    fn each_line_is_an_interval() {
        let found = parse(FILE).expect("a file");
        assert_eq!(found.quantum, Some((Method::Ftq, 100_000.0)));
        let cpu = &found.cpus[0];
        assert_eq!((cpu.cpu, cpu.measured_ns), (3, 300_001.0));
        assert_eq!(cpu.detours, [(0, 100_000), (100_002, 100_000), (200_001, 100_000)]);
        assert_eq!(cpu.work, [1000, 990, 1000]);
    }

    #[test]
    fn damage_is_named() {
        assert!(parse(&FILE.replace("200001", "99")).is_err_and(|error| error.contains("`99 1000`")));
        assert!(parse(&FILE.replace("990", "990 1")).is_err_and(|error| error.contains("a time and a count")));
        assert!(parse(&FILE.replace("10000.000000\n", "0\n")).is_err_and(|error| error.contains("Frequency")));
        assert!(parse("# Frequency 10\n").is_err_and(|error| error.contains("no interval")));
    }
}
