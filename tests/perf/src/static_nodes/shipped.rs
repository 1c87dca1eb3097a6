// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cost of shipped calls: instructions on the node, instructions of the proxy where the host counts them, and the time
//! against the same program's on this host.
//!
//! The node's instructions are counted by a plugin of the emulator, and those of looks for a reply that found none are
//! apart. Must never give out an estimate for a counter that the host does not have.

use tacet_node::Node;

use super::Bench;
use super::emulator::Shape;
use crate::Result;
use crate::configuration::timed_node;
use crate::guest::Guest;
use crate::metric::Metrics;

/// Kind, rounds where instructions are counted, rounds where time is.
const CALLS: [(&str, &str, &str); 3] = [("getcwd", "200", "1000"), ("read", "200", "1000"), ("write", "20", "100")];
const MEMORY: &str = "16M";
const WHOLE_BYTES: usize = 64 << 20;
/// Turns of each side; the middle one counts.
const TURNS: usize = 3;

/// Adds the figures.
pub fn shipped(bench: &Bench, metrics: &mut Metrics) -> Result<()> {
    let file = bench.scratch.join("shipped").display().to_string();
    let program = bench.programs.program("shipped");
    for (kind, counted, timed) in CALLS {
        let region = node(bench, &[&program, kind, counted, &file])?;
        let rounds: f64 = counted.parse()?;
        let what = if kind == "write" {
            "write of 64 KiB"
        } else if kind == "read" {
            "read of 1 byte"
        } else {
            kind
        };
        let how = format!(
            "kernel instructions on the node for one of {counted} shipped calls, {what}, by the bridge to the keeper, counted by a \
             plugin; without looks for replies that found none"
        );
        let worked = (region.kernel - region.waited) as f64 / rounds;
        metrics.add(&format!("static_{kind}_node_instructions"), worked, "instructions", None, &how);
        let waiting = region.waited as f64 / rounds;
        let how = format!("the looks apart, {what}: they grow with the time until the reply");
        metrics.add(&format!("static_{kind}_node_waiting_instructions"), waiting, "instructions", None, &how);
        times(bench, metrics, kind, &[&program, kind, timed, &file])?;
    }
    bandwidth(bench, metrics, &program)
}

/// A file of 64 MiB that is in the page cache, read once, against Linux in the same emulator, whose file is in its own page
/// cache, and against this host.
fn bandwidth(bench: &Bench, metrics: &mut Metrics, program: &str) -> Result<()> {
    let file = bench.scratch.join("whole").display().to_string();
    std::fs::write(&file, (0..WHOLE_BYTES).map(|at| (at / 251) as u8).collect::<Vec<_>>())?;
    let words = ["bulk", "1", &file];
    let (mut shipped, mut host) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let ran = bench
            .job(&Shape { flags: &["--node-memory", MEMORY], plugin: None }, &[&[program], &words[..]].concat())?;
        shipped.push(nanoseconds(&ran.text)?);
        let output = std::process::Command::new(program).args(words).output()?;
        host.push(nanoseconds(&String::from_utf8_lossy(&output.stdout))?);
    }
    let programs = bench.linux_programs()?;
    let node = Node::boot(bench.cache, &timed_node(bench.settings.kernel, 1, &programs))?;
    let script = format!(
        "head -c {WHOLE_BYTES} /dev/urandom > /tmp/whole; for turn in $(seq {TURNS}); do {program} bulk 1 /tmp/whole; done"
    );
    let said = Guest { node: &node, programs: &programs }.shell(&script)?;
    node.power_off()?;
    let linux = said.lines().filter(|line| line.starts_with("ns ")).map(nanoseconds).collect::<Result<Vec<_>>>()?;
    let (shipped, linux, host) = (middle(shipped), middle(linux), middle(host));
    let how = format!("64 MiB by reads of 1 MiB, a file in the page cache; middle of {TURNS}");
    let ratio = format!("bandwidth of a static node over that of Linux in the same emulator: {how}");
    metrics.add("static_read_bandwidth_ratio", linux / shipped, "ratio", None, &ratio);
    let ratio = format!("bandwidth of an emulated static node over that of this host: {how}");
    metrics.add("static_read_bandwidth_of_host_ratio", host / shipped, "ratio", None, &ratio);
    let speed = format!("{how}; baseline: Linux in the same emulator");
    let mib = |ns: f64| (WHOLE_BYTES >> 20) as f64 * 1e9 / ns;
    metrics.add("static_read_mib_per_second", mib(shipped), "MiB/s", Some(mib(linux)), &speed);
    Ok(())
}

/// The counts of the boot's plugin in a region.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Region {
    kernel: u64,
    waited: u64,
}

fn node(bench: &Bench, words: &[&str]) -> Result<Region> {
    let plugin = bench.programs.boot_plugin().display().to_string();
    let ran = bench.job(&Shape { flags: &["--node-memory", MEMORY], plugin: Some(plugin) }, words)?;
    region(ran.logs.first().ok_or("the plugin wrote no log")?)
}

fn region(log: &str) -> Result<Region> {
    let line = log.lines().find_map(|line| line.strip_prefix("region ")).ok_or("the plugin saw no region")?;
    let words: Vec<&str> = line.split(' ').collect();
    let of = |name: &str| -> Result<u64> {
        let at = words.iter().position(|word| *word == name).ok_or("the plugin's region is damaged")?;
        Ok(words.get(at + 1).ok_or("the plugin's region is damaged")?.parse()?)
    };
    let region = Region { kernel: of("kernel")?, waited: of("waited")? };
    if region.kernel == 0 || region.waited > region.kernel {
        return Err("the plugin counted no work of the kernel".into());
    }
    Ok(region)
}

/// Time on the node over time on this host, in turns.
fn times(bench: &Bench, metrics: &mut Metrics, kind: &str, words: &[&str]) -> Result<()> {
    let (mut shipped, mut native) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let ran = bench.job(&Shape { flags: &["--node-memory", MEMORY], plugin: None }, words)?;
        shipped.push(nanoseconds(&ran.text)?);
        let (program, arguments) = words.split_first().ok_or("no program")?;
        let output = std::process::Command::new(program).args(arguments).output()?;
        native.push(nanoseconds(&String::from_utf8_lossy(&output.stdout))?);
    }
    let (shipped, native) = (middle(shipped), middle(native));
    let how = format!("middle of {TURNS} turns, emulated node and this host in turn, both beside other work");
    let ratio = format!("time of a shipped call, {kind}, over the native one's: {how}");
    metrics.add(&format!("static_{kind}_time_ratio"), shipped / native, "ratio", None, &ratio);
    let time = format!("time of a shipped call, {kind}; baseline: native; {how}");
    metrics.add(&format!("static_{kind}_ns"), shipped, "ns", Some(native), &time);
    Ok(())
}

fn nanoseconds(text: &str) -> Result<f64> {
    let digits =
        text.lines().find_map(|line| line.strip_prefix("ns ")).ok_or_else(|| format!("no time in `{text}`"))?;
    Ok(digits.parse()?)
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_without_the_kernel_does_not_count() {
        let region_of = |kernel, waited| region(&format!("region 1 kernel {kernel} waited {waited}\n"));
        assert_eq!(region_of(100, 40).unwrap(), Region { kernel: 100, waited: 40 });
        assert!(region_of(0, 0).is_err());
        assert!(region("boot 1\n").is_err());
    }

    #[test]
    fn the_middle_is_of_the_sorted() {
        assert_eq!(middle(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(nanoseconds("x\nns 12\n").unwrap(), 12.0);
    }
}
