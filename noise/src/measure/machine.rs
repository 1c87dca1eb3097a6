// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Facts about the machine, and whether its time source can be trusted.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, gethostname};
use tacet_words::Failure;

use super::sampling;
use crate::Result;

/// A file's text without the last newline, or nothing.
pub fn line_of(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim_end().to_owned()
}

pub fn host() -> String {
    gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_else(|| "unknown".into())
}

/// Seconds since 1970.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The processor's name, and on x86-64 its flags.
fn processor_fields() -> (String, String) {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    (field("model name").or_else(|| field("CPU part")).unwrap_or_default(), field("flags").unwrap_or_default())
}

pub fn processor() -> String {
    processor_fields().0
}

/// The name of the processor's time source. Fails if the processor does not report it as invariant, unless `trusted`.
pub fn time_source(trusted: bool) -> Result<String> {
    if cfg!(target_arch = "aarch64") {
        return Ok("cntvct_el0 (architectural, invariant)".into());
    }
    let flags = processor_fields().1;
    let missing: Vec<&str> =
        ["constant_tsc", "nonstop_tsc"].into_iter().filter(|flag| !flags.split(' ').any(|one| one == *flag)).collect();
    let linux = line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if !missing.is_empty() {
        let without = missing.join(", no ");
        return if trusted {
            Ok(format!("tsc (trusted, not known to be invariant: no {without}; the kernel itself uses {linux})"))
        } else {
            Err(Failure::machine(format!(
                "time source: this processor does not report that its time-stamp counter is invariant (no {without}): \
                 use --trust-clock to measure anyway"
            ))
            .into())
        };
    }
    Ok(format!("tsc (invariant; the kernel itself uses {linux})"))
}

/// One moment on two clocks: ticks, and nanoseconds of the raw clock, which NTP does not adjust.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    ticks: u64,
    raw_ns: f64,
}

impl Moment {
    /// The fastest of several readings.
    pub fn now() -> Result<Moment> {
        let mut best: Option<(u64, Moment)> = None;
        for _ in 0..16 {
            let before = sampling::ticks();
            let raw = clock_gettime(ClockId::CLOCK_MONOTONIC_RAW)?;
            let after = sampling::ticks();
            let took = after - before;
            let raw_ns = raw.tv_sec() as f64 * 1e9 + raw.tv_nsec() as f64;
            if best.is_none_or(|(shortest, _)| took < shortest) {
                best = Some((took, Moment { ticks: before + took / 2, raw_ns }));
            }
        }
        best.map(|(_, moment)| moment).ok_or_else(|| "no clock".into())
    }

    /// Ticks per second between two moments.
    pub fn rate_since(self, earlier: Moment) -> f64 {
        (self.ticks - earlier.ticks) as f64 * 1e9 / (self.raw_ns - earlier.raw_ns)
    }
}

/// The CPUs that this process may use.
pub fn allowed_cpus() -> Result<Vec<u32>> {
    let set = sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).map(|cpu| cpu as u32).collect())
}

/// Those of the allowed CPUs that are not measured.
pub fn spare_cpus(measured: &[u32], allowed: &[u32]) -> Vec<u32> {
    allowed.iter().copied().filter(|cpu| !measured.contains(cpu)).collect()
}

/// How many CPUs of this machine are online.
pub fn online_cpus() -> usize {
    parse_cpus(&line_of("/sys/devices/system/cpu/online")).map_or(1, |cpus| cpus.len())
}

/// Binds the calling thread.
pub fn pin(cpus: &[u32]) -> Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu as usize).map_err(|_| format!("CPU {cpu}: this machine does not have it; see `lscpu -e`"))?;
    }
    sched_setaffinity(Pid::from_raw(0), &set)
        .map_err(|error| Failure::machine(format!("{}: cannot run there: {error}", named(cpus))).into())
}

/// `CPU 3` or `CPUs 2-3`, for sentences.
pub fn named(cpus: &[u32]) -> String {
    format!("{} {}", if cpus.len() == 1 { "CPU" } else { "CPUs" }, cpu_list(cpus))
}

/// Fails if this process cannot measure on one of `cpus`, with the reason.
pub fn check_cpus(cpus: &[u32], allowed: &[u32]) -> Result<()> {
    let outside = |cpu: &&u32| !allowed.contains(cpu) && !can_bind(**cpu, allowed);
    let Some(cpu) = cpus.iter().find(outside) else { return Ok(()) };
    let within = |file: &str| {
        let list = parse_cpus(&line_of(&format!("/sys/devices/system/cpu/{file}")));
        list.is_ok_and(|list| list.contains(cpu))
    };
    if !within("present") {
        return Err(format!("CPU {cpu}: this machine does not have it; see `lscpu -e`").into());
    }
    if !within("online") {
        return Err(format!("CPU {cpu}: it is offline; choose another, see `lscpu -e`").into());
    }
    Err(format!("CPU {cpu}: this process may not run there, only on {}", named(allowed)).into())
}

/// Whether the kernel lets the calling thread run on this CPU. The affinity at the start is not the answer: with isolcpus=
/// it lacks CPUs to which a thread may be bound. The thread is afterwards where it was.
fn can_bind(cpu: u32, allowed: &[u32]) -> bool {
    pin(&[cpu]).and_then(|()| pin(allowed)).is_ok()
}

/// Parses a list like `0-3,8`. Returns the CPUs in order and without duplicates.
pub fn parse_cpus(text: &str) -> std::result::Result<Vec<u32>, String> {
    tacet_words::values::cpus(text).map(|cpus| cpus.into_iter().collect())
}

/// The same list as text: `0-3,8`.
pub fn cpu_list(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a.checked_add(1) == Some(*b)).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(parse_cpus("8,0-2,1"), Ok(vec![0, 1, 2, 8]));
        assert_eq!(cpu_list(&[2, 0, 1, 8, 0]), "0-2,8");
        for text in ["0", "0-2,8", "1,3-4"] {
            assert_eq!(parse_cpus(text).map(|cpus| cpu_list(&cpus)), Ok(text.into()));
        }
        for text in ["", "a", "3-1", "1-", "-1", "0,", "0-99999"] {
            assert!(parse_cpus(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ticks_pass() {
        let first = Moment::now().expect("a moment");
        std::thread::sleep(std::time::Duration::from_millis(5));
        let rate = Moment::now().expect("a moment").rate_since(first);
        assert!(rate > 1e6 && rate < 1e11, "{rate}");
    }
}
