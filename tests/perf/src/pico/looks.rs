// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Divides the instructions of a read: looks at the device while it works, and all others. Called by the bench `pico`,
//! in a node whose plugin lists the kernel's code that ran (`sites=on`).
//!
//! How often a kernel looks depends on the device alone, and the emulator's device waits for a thread of the host. What
//! a kernel does besides is its own. Code is of a look if it ran many times in a read: a read of 4 KiB has no other loop
//! that does.

use tacet_noise::exact::log::Counts;

use crate::Result;
use crate::guest::Guest;
use crate::instructions::FIRST;
use crate::metric::Metrics;

use super::reads::{Read, Way, read, up};

/// A block of code that ran so many times in a read is of a look. Blocks that run more rarely count as others, also
/// those that a core executes once in 16 looks, and all if the device was done after a few.
const TIMES: u64 = 12;
const BYTES: u64 = 4096;
const CALLS: usize = 300;

/// Instructions of a read, by what they were for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Split {
    /// On the CPU that reads: of looks at the device.
    pub looks: f64,
    /// On all CPUs: all others.
    pub others: f64,
}

/// Divides what the CPUs executed in so many reads.
pub fn split(counts: &[Counts], calls: usize) -> Split {
    let all: u64 = counts.iter().map(|count| count.kernel).sum();
    let often = TIMES * calls as u64;
    let sites = counts.iter().skip(FIRST).flat_map(|count| &count.sites);
    let looks: u64 = sites.filter(|site| site.times >= often).map(|site| site.times * site.instructions).sum();
    Split { looks: looks as f64 / calls as f64, others: all.saturating_sub(looks) as f64 / calls as f64 }
}

/// Adds the figures of a read of 4 KiB.
pub fn measure(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let of = |way| -> Result<Read> { read(guest, way, BYTES, CALLS, 1, true) };
    let (native, polled) = (of(Way::Native)?.split, of(Way::Polled)?.split);
    up(guest)?;
    let fast = of(Way::FastPath)?.split;
    guest.down()?;
    if polled.looks == 0.0 {
        return Err("pico: the plugin listed no code that looks".into());
    }
    let how = format!(
        "kernel instructions of one of {CALLS} reads of {BYTES} bytes by one thread; of looks: the code that the \
         reading CPU ran {TIMES} times a read or more"
    );
    let native = Some(native.looks + native.others);
    let mut add = |name: &str, value, baseline, what: &str| {
        metrics.add(name, value, "instructions", baseline, &format!("{how}; {what}"));
    };
    let others = "all others on all CPUs, ticks included";
    add("pico_read_4k_instructions_looks", fast.looks, native, "the core's looks; baseline: all of pread on Linux");
    add(
        "pico_read_4k_instructions_others",
        fast.others,
        native,
        &format!("the core itself: {others}; baseline: all of pread on Linux"),
    );
    add(
        "pico_read_4k_instructions_polled_looks",
        polled.looks,
        native,
        "polled io_uring on Linux; baseline: all of pread on Linux",
    );
    add(
        "pico_read_4k_instructions_polled_others",
        polled.others,
        native,
        &format!("polled io_uring on Linux: {others}; baseline: all of pread on Linux"),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacet_noise::exact::log::Site;

    #[test]
    fn code_that_ran_often_on_a_core_is_of_looks() {
        let site = |times, instructions| Site { address: 0, times, instructions };
        let cpu = |kernel, sites: &[Site]| Counts { kernel, sites: sites.to_vec(), ..Counts::default() };
        let linux = cpu(5000, &[site(500, 10)]);
        let core = cpu(3000, &[site(10 * TIMES, 8), site(10 * TIMES - 1, 4)]);
        let Split { looks, others } = split(&[linux.clone(), linux, core], 10);
        assert_eq!(looks, (TIMES * 8) as f64);
        assert_eq!(others, (5000 + 5000 + 3000) as f64 / 10.0 - looks);
    }
}
