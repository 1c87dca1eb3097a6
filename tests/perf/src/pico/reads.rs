// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs `disk.c` in one of several ways, and counts what it cost. Called by the bench `pico`.
//!
//! A run in which the cores did not serve what they should have, or served what they should not, is an error: its figure
//! would be that of another way.

use tacet_noise::exact::log::Counts;

use crate::Result;
use crate::guest::{Guest, Numbers};
use crate::instructions::{FIRST, PARTITION, region};

use super::looks::{Split, split};

pub const DEVICE: &str = "/dev/nvme0n1";
/// The same namespace, for its own commands.
const COMMANDS: &str = "/dev/ng0n1";
/// Reads of each thread before the counted ones (disk.c).
const WARM: usize = 20;
const MIB: f64 = (1 << 20) as f64;

/// How a program's read gets to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Native,
    Ring,
    Polled,
    Forwarded,
    FastPath,
    /// A polled ring of the device's own commands, on Linux.
    Passed,
    /// A ring whose entries a thread of Linux takes: filled on Linux, and on a core.
    Thread,
    CoreThread,
    /// A buffer whose pages are apart, where Linux places them.
    NativeScattered,
    FastScattered,
}

/// The kernel that executes the program's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Host {
    Linux,
    Forwarding,
    Core,
}

impl Way {
    pub const LINUX: [Way; 3] = [Way::Native, Way::Ring, Way::Polled];
    pub const CORES: [Way; 2] = [Way::Forwarded, Way::FastPath];
    pub const ALL: [Way; 5] = [Way::Native, Way::Ring, Way::Polled, Way::Forwarded, Way::FastPath];

    /// The program's word for it.
    fn how(self) -> &'static str {
        match self {
            Way::Native | Way::Forwarded | Way::FastPath => "pread",
            Way::Ring => "ring",
            Way::Polled => "polled",
            Way::Passed => "passed",
            Way::Thread | Way::CoreThread => "thread",
            Way::NativeScattered | Way::FastScattered => "scattered",
        }
    }

    fn host(self) -> Host {
        match self {
            Way::FastPath | Way::FastScattered => Host::Core,
            Way::Forwarded | Way::CoreThread => Host::Forwarding,
            _ => Host::Linux,
        }
    }
}

/// The cost of one read.
#[derive(Debug, Clone, Default)]
pub struct Read {
    /// Time for its caller.
    pub call_ns: f64,
    /// Reads of all threads in a second.
    pub per_second: f64,
    /// Calls of io_uring for one read.
    pub entered: f64,
    /// Commands of the device for a MiB.
    pub requests_per_mib: f64,
    /// Looks and others, if the plugin listed code.
    pub split: Split,
    /// Kernel instructions by CPU, if they were counted.
    kernel: Vec<f64>,
}

impl Read {
    /// On all CPUs.
    pub fn instructions(&self) -> f64 {
        self.kernel.iter().sum()
    }

    /// On the CPUs that Linux keeps.
    pub fn linux_instructions(&self) -> f64 {
        self.kernel.iter().take(FIRST).sum()
    }
}

/// What the device and the cores did so far.
struct Done {
    linux_requests: f64,
    commands: f64,
    calls: f64,
}

/// Loads the module and switches fast paths on.
pub fn prepare(guest: &Guest) -> Result<()> {
    guest.up(PARTITION)?;
    guest.down()?;
    guest.shell("echo 1 >/sys/module/tacet/parameters/fast_paths")?;
    guest.shell(&format!("dd if=/dev/urandom of={DEVICE} bs=1M count=40 oflag=direct status=none")).map(drop)
}

/// Starts a partition, which must have a fast path.
pub fn up(guest: &Guest) -> Result<()> {
    guest.up_with(PARTITION, "256M")?;
    guest.shell("grep -q '^device .* works' /sys/kernel/tacet/pico").map(drop).map_err(|_| {
        let said = guest.shell("cat /sys/kernel/tacet/pico").unwrap_or_default();
        format!("pico: the disk has no fast path: {}", said.trim()).into()
    })
}

/// The program's arguments.
#[derive(Debug, Clone, Copy)]
struct Program {
    bytes: u64,
    /// Of each thread.
    calls: usize,
    threads: usize,
    /// All threads have one CPU.
    shared: bool,
}

/// Runs the program, each thread on a CPU of its own; `counted`: the node has the plugin.
pub fn read(guest: &Guest, way: Way, bytes: u64, calls: usize, threads: usize, counted: bool) -> Result<Read> {
    measured(guest, way, Program { bytes, calls, threads, shared: false }, counted)
}

/// The same with all threads on one CPU.
pub fn read_on_one(guest: &Guest, way: Way, bytes: u64, calls: usize, threads: usize, counted: bool) -> Result<Read> {
    measured(guest, way, Program { bytes, calls, threads, shared: true }, counted)
}

/// Runs the program; returns what it printed.
fn run(guest: &Guest, way: Way, program: Program) -> Result<Numbers> {
    let device = if way == Way::Passed { COMMANDS } else { DEVICE };
    let mut words: Vec<String> = vec![way.how().to_owned(), device.to_owned()];
    words.extend([program.bytes.to_string(), program.calls.to_string(), program.threads.to_string()]);
    let first = FIRST.to_string();
    let cpus = if program.shared { &first } else { PARTITION };
    words.push(if way.host() == Host::Linux { first.clone() } else { "-1".to_owned() });
    words.extend(program.shared.then(|| "shared".to_owned()));
    let said = match way.host() {
        Host::Linux => guest.native("disk", &words)?,
        Host::Forwarding => guest.hosted(&["--no-pico", "--cpus", cpus], "disk", &words)?,
        Host::Core => guest.hosted(&["--cpus", cpus], "disk", &words)?,
    };
    let wanted = if program.shared { 1.0 } else { program.threads as f64 };
    match said.get("distinct_cpus") {
        Some(distinct) if *distinct == wanted => Ok(said),
        distinct => Err(format!("pico: {way:?}: the threads ended on {distinct:?} CPUs, not {wanted}").into()),
    }
}

fn measured(guest: &Guest, way: Way, program: Program, counted: bool) -> Result<Read> {
    let Program { bytes, calls, threads, .. } = program;
    let before = done(guest)?;
    let said = run(guest, way, program)?;
    let after = done(guest)?;
    let served = after.calls - before.calls;
    let wanted = if way.host() == Host::Core { (calls * threads) as f64 } else { 0.0 };
    if served < wanted || (wanted == 0.0 && served > 0.0) {
        let file = guest.shell("cat /sys/kernel/tacet/pico").unwrap_or_default();
        return Err(format!("pico: {way:?}: cores served {served} reads, not {wanted}: {}", file.trim()).into());
    }
    // The first reads of a core are forwarded: only those that it served count.
    let (requests, all) = match way.host() {
        Host::Core => (after.commands - before.commands, served),
        _ => (after.linux_requests - before.linux_requests, ((calls + WARM) * threads) as f64),
    };
    let counts = if counted { region(guest.node)? } else { Vec::new() };
    let number = |name: &str| said.get(name).copied().ok_or_else(|| format!("disk: it printed no {name}"));
    let read = Read {
        call_ns: number("call_ns")?,
        per_second: (calls * threads) as f64 * 1e9 / number("elapsed_ns")?,
        entered: number("entered")? / (calls * threads) as f64,
        requests_per_mib: requests / (all * bytes as f64 / MIB),
        split: split(&counts, calls * threads),
        kernel: by_cpu(&counts, calls * threads),
    };
    let counted = if counted { format!("{:.0} instructions", read.instructions()) } else { String::new() };
    eprintln!("  {way:?}, {bytes} bytes, {threads} threads: {:.0} ns {counted}", read.call_ns);
    Ok(read)
}

fn by_cpu(counts: &[Counts], calls: usize) -> Vec<f64> {
    counts.iter().map(|count| count.kernel as f64 / calls as f64).collect()
}

/// Calls that the cores of the partition served.
pub fn served(guest: &Guest) -> Result<f64> {
    Ok(done(guest)?.calls)
}

/// Linux's own reads of the disk, and the commands and calls of all cores of the partition that is up.
fn done(guest: &Guest) -> Result<Done> {
    let said = guest.numbers(&["bash", "-ec", DONE])?;
    let number = |name: &str| said.get(name).copied().ok_or_else(|| format!("pico: {name} is not known"));
    Ok(Done { linux_requests: number("linux")?, commands: number("commands")?, calls: number("calls")? })
}

const DONE: &str = r#"
    awk '{ print "linux " $1 }' /sys/block/nvme0n1/stat
    awk '$2 == "cpu" { calls += $8; commands += $10 } END { print "calls " calls + 0; print "commands " commands + 0 }' \
        /sys/kernel/tacet/pico"#;

/// Kernel instructions on the second core, whose program computes, while the first one reads.
pub fn beside_a_spinning_core(guest: &Guest) -> Result<f64> {
    let (tacet, spin, disk) = (guest.programs.tacet(), guest.programs.program("spin"), guest.programs.program("disk"));
    let (reader, neighbour) = (FIRST, FIRST + 1);
    guest.shell(&format!(
        "{tacet} run --cpus {neighbour} -- {spin} & spinner=$!; sleep 1
         {tacet} run --populate --cpus {reader} -- {disk} pread {DEVICE} 4096 300 1 || status=$?
         kill -9 $spinner; wait $spinner || :; exit ${{status:-0}}",
        tacet = tacet.display()
    ))?;
    let counts = region(guest.node)?;
    let count = counts.get(neighbour).ok_or("pico: the plugin does not know the neighbour")?;
    if count.user == 0 {
        return Err("pico: the neighbouring core did not compute".into());
    }
    Ok(count.kernel as f64)
}
