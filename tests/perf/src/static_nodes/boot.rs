// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions from reset to the first instruction of a program, on a static node and on Linux as init in the same
//! emulator; and the size of the image.
//!
//! The plugin's words: tests/perf/static/boot.c. The firmware's instructions, waiting and zeroing are apart.

use std::collections::BTreeMap;
use std::process::Command;

use tacet_noise::exact::symbols::Symbols;

use super::emulator::Shape;
use super::{Bench, linux};
use crate::Result;
use crate::metric::Metrics;

/// A node that computes little; the next size has to zero more.
const MEMORY: &str = "16M";
/// A packet that a busy host answers late is asked for again, which is work: the boot with the least counts.
const BOOTS: usize = 5;
/// The longest list of functions.
const LINES: usize = 40;

/// The plugin's counts until the first program began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    pub firmware: u64,
    /// All that the kernel executed, waiting included.
    pub kernel: u64,
    pub waited: u64,
    /// Bytes that string instructions wrote: zeros, and copies.
    pub stored: u64,
    pub copied: u64,
}

impl Counted {
    fn worked(&self) -> u64 {
        self.kernel - self.waited
    }
}

/// Adds the figures.
pub fn boot(bench: &Bench, metrics: &mut Metrics) -> Result<()> {
    let bytes = std::fs::metadata(bench.programs.image())?.len();
    metrics.add("static_image_bytes", bytes as f64, "bytes", None, "size of build/lib/tacet/static.elf");
    let own = own(bench)?;
    let linux = linux::boot(bench)?;
    let kernel = linux.kernel as f64;
    let how = format!(
        "instructions that a microvm of 1 CPU and {MEMORY} executes from the kernel's entry to the first instruction of a \
         program, whose job the daemon has at hand and which it gets by shipped calls; counted by a plugin of the emulator; \
         the least of {BOOTS} boots, without the firmware's, without looks for replies that found none, and a string instruction counts once; \
         baseline: Linux {} on a q35 board from its entry to init, no other program, 512M",
        linux::kernel(bench)?.release
    );
    metrics.add("static_boot_instructions", own.worked() as f64, "instructions", Some(kernel), &how);
    let add = |metrics: &mut Metrics, name: &str, value: u64, unit, linux: Option<u64>, what: &str| {
        metrics.add(name, value as f64, unit, linux.map(|value| value as f64), &format!("{what}, in the same run"));
    };
    let waiting = "instructions of looks for replies that found none";
    add(metrics, "static_boot_waiting_instructions", own.waited, "instructions", None, waiting);
    let zeroed = "bytes that string instructions stored (zeroing)";
    add(metrics, "static_boot_zeroed_bytes", own.stored, "bytes", Some(linux.stored), zeroed);
    let copied = "bytes that string instructions copied";
    add(metrics, "static_boot_copied_bytes", own.copied, "bytes", Some(linux.copied), copied);
    let firmware = "instructions of the emulator's firmware from reset to the kernel's entry";
    add(metrics, "static_boot_firmware_instructions", own.firmware, "instructions", Some(linux.firmware), firmware);
    Ok(())
}

fn own(bench: &Bench) -> Result<Counted> {
    let plugin = format!("{},entry={:#x}", bench.programs.boot_plugin().display(), entry(bench)?);
    let shape = Shape { flags: &["--node-memory", MEMORY], plugin: Some(plugin) };
    let mut least: Option<(Counted, String)> = None;
    for _ in 0..BOOTS {
        let mut ran = bench.job(&shape, &[&bench.programs.program("first")])?;
        let log = ran.logs.pop().ok_or("the plugin wrote no log")?;
        let counted = read(&log)?;
        if least.as_ref().is_none_or(|(least, _)| counted.worked() < least.worked()) {
            least = Some((counted, log));
        }
    }
    let (counted, log) = least.ok_or("no boot")?;
    functions(bench, &log);
    Ok(counted)
}

/// Reads the plugin's log. A boot that did not come to a program is none.
pub fn read(log: &str) -> Result<Counted> {
    let line = log.lines().find_map(|line| line.strip_prefix("boot ")).ok_or("the plugin wrote no counts")?;
    let words: Vec<&str> = line.split(' ').collect();
    let of = |name: &str| {
        let at = words.iter().position(|word| *word == name)?;
        words.get(at + 1)?.parse().ok()
    };
    if of("marked") != Some(1) {
        return Err("no program ran".into());
    }
    let count = |name: &str| of(name).ok_or_else(|| format!("the plugin did not count: {name}"));
    Ok(Counted {
        firmware: count("firmware")?,
        kernel: count("kernel")?,
        waited: count("waited")?,
        stored: count("stored")?,
        copied: count("copied")?,
    })
}

/// The address at which a loader that knows PVH enters the image.
fn entry(bench: &Bench) -> Result<u64> {
    let output = Command::new("readelf").arg("-hW").arg(bench.programs.image()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let word = text.lines().find_map(|line| line.trim().strip_prefix("Entry point address:"));
    let digits = word.and_then(|word| word.trim().strip_prefix("0x")).ok_or("readelf: the image has no entry")?;
    Ok(u64::from_str_radix(digits, 16)?)
}

/// Prints which functions executed the most, waiting apart.
fn functions(bench: &Bench, log: &str) {
    let output =
        Command::new("nm").args(["--numeric-sort", "--demangle"]).arg(bench.programs.image_with_symbols()).output();
    let symbols = Symbols::parse(&output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default());
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for line in log.lines().filter_map(|line| line.strip_prefix("at ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let [address, "times", times, "instructions", instructions] = words[..] else { continue };
        let Ok(address) = u64::from_str_radix(address, 16) else { continue };
        let name = symbols.symbol(address).map_or_else(|| "?".to_owned(), |(_, name)| name.to_owned());
        let count = times.parse::<u64>().unwrap_or(0) * instructions.parse::<u64>().unwrap_or(0);
        *sums.entry(name).or_default() += count;
    }
    let mut sums: Vec<(u64, String)> = sums.into_iter().map(|(name, count)| (count, name)).collect();
    sums.sort_by(|a, b| b.cmp(a));
    for (count, name) in sums.iter().take(LINES) {
        eprintln!("  {count:>9} {name}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_boot_that_came_to_a_program_counts() {
        let line = "boot 1 firmware 7 kernel 100 waited 40 stored 8192 copied 16 marked ";
        let counted = Counted { firmware: 7, kernel: 100, waited: 40, stored: 8192, copied: 16 };
        assert_eq!(read(&format!("noise\n{line}1\nat 10 times 2 instructions 3\n")).unwrap(), counted);
        assert!(read(&format!("{line}0\n")).is_err());
        assert!(read("").is_err());
    }
}
