// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The clock of a node whose kernel is slow.
//!
//! An emulated CPU's time stamp counter is the host's. Linux counts it against a timer for 10 ms while it boots. If the
//! host does other work in between it finds too low a frequency, its seconds are a fraction of ours, and it calls CPUs
//! stuck that are not: on a busy host a kernel with KASAN had five seconds in each of ours. So it is told.

/// Words for the kernel's command line; none where the host does not say how fast its counter is.
pub fn told(cpuinfo: &str) -> Option<String> {
    // A virtual machine says the counter's frequency, a metal one that of each CPU at this instant.
    let values =
        |name| cpuinfo.lines().filter_map(move |line| Some(line.strip_prefix(name)?.split_once(':')?.1.trim()));
    let virtual_machine = values("flags").next()?.split(' ').any(|flag| flag == "hypervisor");
    let mut megahertz = values("cpu MHz");
    let first = megahertz.next()?;
    if !virtual_machine || !megahertz.all(|other| other == first) {
        return None;
    }
    let (whole, thousandths) = first.split_once('.')?;
    let khz = whole.parse::<u64>().ok()? * 1000 + thousandths.get(..3)?.parse::<u64>().ok()?;
    Some(format!("tsc_early_khz={khz}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_counter_s_own_frequency_is_told() {
        let cpu = |flags: &str, mhz: &str| format!("processor\t: 0\ncpu MHz\t\t: {mhz}\nflags\t\t: {flags}\n\n");
        let two = cpu("fpu hypervisor lm", "2596.130").repeat(2);
        assert_eq!(told(&two).as_deref(), Some("tsc_early_khz=2596130"));
        assert_eq!(told(&(two + &cpu("fpu hypervisor", "3100.000"))), None);
        assert_eq!(told(&cpu("fpu lm", "2596.130")), None);
        assert_eq!(told("processor: 0\n"), None);
    }
}
