// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's hwlat tracer: a line for each detour, `... [002] d.... 5530.226260: #1 inner/outer(us): 13/14 ts:S.NS`.
//!
//! Its loop reads the time with interrupts off, so all that it finds comes from the hardware or a hypervisor. It visits
//! one CPU after the other; by default it measures half of each second.

use super::{Found, OfCpu};

/// The tracer's defaults: `width` of each `window`.
const WIDTH_NS: f64 = 0.5e9;
const WINDOW_NS: u64 = 1_000_000_000;

pub fn parse(text: &str) -> Result<Found, String> {
    let mut detours: Vec<(u32, u64, u64)> = Vec::new();
    for line in text.lines().filter(|line| line.contains("inner/outer(us):")) {
        detours.push(detour(line).ok_or_else(|| format!("line `{}`: not a line of hwlat", line.trim()))?);
    }
    let first = detours.iter().map(|(_, at, _)| *at).min().ok_or("no line of hwlat")?;
    let last = detours.iter().map(|(_, at, _)| *at).max().unwrap_or(first);
    let mut cpus: Vec<u32> = detours.iter().map(|(cpu, ..)| *cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    // One CPU is measured in each window, so each has its part of them.
    let windows = ((last - first) / WINDOW_NS + 1) as f64;
    let measured_ns = (windows * WIDTH_NS / cpus.len() as f64).max(1.0);
    let of_cpu = |cpu: u32| {
        let mut own: Vec<(u64, u64)> =
            detours.iter().filter(|(of, ..)| *of == cpu).map(|(_, at, length)| (at - first, *length)).collect();
        own.sort_unstable();
        OfCpu { cpu, measured_ns, detours: own, ..OfCpu::default() }
    };
    Ok(Found {
        what: "detours of hardware or a hypervisor (hwlat tracer, interrupts off); it sees nothing of the kernel"
            .into(),
        cpus: cpus.iter().map(|cpu| of_cpu(*cpu)).collect(),
        warnings: vec![
            "only the longest detour of each window is in the output; the rate assumes the default width, half of each \
             second, and that only CPUs with a detour were visited"
                .to_owned(),
        ],
        quantum: None,
    })
}

/// CPU, time and length, in nanoseconds.
fn detour(line: &str) -> Option<(u32, u64, u64)> {
    let (before, after) = line.split_once("inner/outer(us):")?;
    let cpu = before.split_once('[')?.1.split_once(']')?.0.parse().ok()?;
    let (lengths, time) = after.split_once("ts:")?;
    let (inner, outer) = lengths.trim().split_once('/')?;
    let us = inner.trim().parse::<u64>().ok()?.max(outer.trim().parse().ok()?);
    let (seconds, ns) = time.split_whitespace().next()?.split_once('.')?;
    let at = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns.parse().ok()?)?;
    Some((cpu, at, us.checked_mul(1000)?))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const TRACE: &str = "# tracer: hwlat\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n\
        \x20          <...>-4603    [002] d....  5530.226260: #1     inner/outer(us):   13/14    ts:1748106483.610950304 count:2\n\
        \x20          <...>-4603    [000] d....  5532.242255: #2     inner/outer(us):   17/10    ts:1748106486.059681953 count:1 nmi-total:4 nmi-count:1\n\
        \x20          <...>-4603    [002] d....  5536.274311: #3     inner/outer(us):   11/10    ts:1748106490.065228713\n";

    #[test]
    fn each_line_is_a_detour() {
        let found = parse(TRACE).expect("a trace");
        assert_eq!(found.cpus.iter().map(|one| one.cpu).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(found.cpus[1].detours, [(0, 14_000), (6_454_278_409, 11_000)]);
        assert_eq!(found.cpus[0].detours, [(2_448_731_649, 17_000)]);
        // Seven windows, half a second each, on two CPUs.
        assert!(found.cpus.iter().all(|one| one.measured_ns == 1.75e9));
    }

    #[test]
    fn a_damaged_line_is_named() {
        let broken = TRACE.replace("17/10", "17");
        assert!(parse(&broken).is_err_and(|error| error.contains("[000]")));
        assert_eq!(parse(""), Err("no line of hwlat".into()));
    }
}
