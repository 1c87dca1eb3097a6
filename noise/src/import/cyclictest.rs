// SPDX-License-Identifier: Apache-2.0 OR MIT
//! cyclictest's histogram (`--histogram`, `--histofall`, `--histfile`): a line for each microsecond, a column for each
//! thread, and comments with the extremes. Its threads have no CPU in the output: the first is called CPU 0.

use super::Found;
use super::histogram::Histogram;
use crate::record::Method;
use crate::units::Nanoseconds;

pub fn parse(text: &str, interval: Option<Nanoseconds>) -> Result<Found, String> {
    let lines = || text.lines().map(str::trim);
    let comment = |name: &str| -> Option<Vec<u64>> {
        let values = lines().find_map(|line| line.strip_prefix(name))?;
        values.split_whitespace().map(|value| value.parse().ok()).collect()
    };
    // With --histofall the table has a further column, of all threads; this line never has.
    let threads = comment("# Min Latencies:").ok_or("no line `# Min Latencies:`")?.len();
    let mut histograms: Vec<Histogram> =
        (0..threads as u32).map(|cpu| Histogram { cpu, ..Histogram::default() }).collect();
    for line in lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())) {
        let values: Vec<u64> = line.split_whitespace().map_while(|value| value.parse().ok()).collect();
        let [length, counts @ ..] = &values[..] else { continue };
        if counts.len() < threads {
            return Err(format!("line `{line}`: {threads} threads need as many columns"));
        }
        let length = length.checked_mul(1000).ok_or("a length is too large")?;
        histograms.iter_mut().zip(counts).for_each(|(histogram, count)| histogram.counts.push((length, *count)));
    }
    if threads == 0 || histograms.iter().all(|histogram| histogram.counts.is_empty()) {
        return Err("no histogram: use cyclictest --histogram=US".into());
    }
    let (max, beyond) = (comment("# Max Latencies:"), comment("# Histogram Overflows:"));
    for (thread, histogram) in histograms.iter_mut().enumerate() {
        histogram.max_ns = max.as_ref().and_then(|max| max.get(thread)?.checked_mul(1000));
        histogram.beyond = beyond.as_ref().and_then(|beyond| beyond.get(thread).copied()).unwrap_or(0);
    }
    let warnings = vec!["the output does not name CPUs: they are numbers of threads".to_owned()];
    // Without the time between two samples nobody knows how long it took, and nothing here needs it.
    let interval_ns = interval.map(|interval| interval.0).or_else(|| told(text)).unwrap_or(0.0);
    let latencies = |histogram: &Histogram| histogram.latencies(histogram.total() as f64 * interval_ns);
    let cpus = histograms.iter().map(latencies).collect::<Result<_, _>>()?;
    let what = "wake-up latencies of a timer's thread (cyclictest), not what a computing program lost".into();
    Ok(Found { what, cpus, warnings, quantum: Some((Method::Latency, 1.0)) })
}

/// The interval from a status line: `T: 0 ( 1234) P:80 I:1000 C:  9999 Min: ...`.
fn told(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.trim_start().starts_with("T:") && line.contains(" I:"))?;
    let us: f64 = line.split(" I:").nth(1)?.split_whitespace().next()?.parse().ok()?;
    (us > 0.0).then_some(us * 1000.0)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const HISTOGRAM: &str = "# /dev/cpu_dma_latency set to 0us\n# Histogram\n000000 000000\t000000\n\
        000001 000000\t000007\n000002 000990\t000900\n000003 000009\t000090\n# Total: 000000999 000000997\n\
        # Min Latencies: 00002 00001\n# Avg Latencies: 00002 00002\n# Max Latencies: 00044 00003\n\
        # Histogram Overflows: 00001 00000\n# Histogram Overflow at cycle number:\n# Thread 0: 00512\n# Thread 1:\n";

    #[test]
    fn each_thread_has_its_samples() {
        let found = parse(HISTOGRAM, None).expect("a histogram");
        let longest = |cpu: usize| found.cpus[cpu].detours.iter().map(|(_, length)| *length).max();
        assert_eq!((found.cpus[0].detours.len(), longest(0)), (1000, Some(44_000)));
        assert_eq!((found.cpus[1].detours.len(), longest(1)), (997, Some(3000)));
        assert_eq!(found.cpus[0].measured_ns, 0.0, "nobody knows");
        assert!(found.cpus.iter().flat_map(|one| &one.detours).all(|(start, _)| *start == 0), "no invented times");
        let faster = parse(HISTOGRAM, Some(Nanoseconds(2e5))).expect("a histogram");
        assert_eq!((faster.cpus[0].measured_ns, faster.warnings.len()), (2e8, 1));
        let told =
            format!("T: 0 ( 1234) P:80 I:500 C:   1000 Min:      2 Act:    2 Avg:    2 Max:      44\n{HISTOGRAM}");
        assert_eq!(parse(&told, None).expect("a histogram").cpus[0].measured_ns, 5e8);
    }

    #[test]
    fn the_column_of_all_threads_is_left_out() {
        let all = "000001 000003\t000004\t000007\n# Min Latencies: 00001 00001\n# Max Latencies: 00001 00001 00001\n";
        let found = parse(all, None).expect("a histogram");
        assert_eq!(found.cpus.iter().map(|one| one.detours.len()).collect::<Vec<_>>(), [3, 4]);
        assert!(parse("# Min Latencies: 00001\n", None).is_err_and(|error| error.contains("--histogram")));
        assert!(parse("1 2\n# Min Latencies: 1 1\n", None).is_err_and(|error| error.contains("columns")));
    }
}
