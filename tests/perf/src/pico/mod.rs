// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bench `pico`: reads of an NVMe disk by a core itself, compared with Linux's own and with forwarded ones in the same
//! node. Writes `build/bench/pico.json` after each part.
//!
//! Owns the nodes and the figures of one thread; `reads.rs` runs the program, `looks.rs` tells looks at the device from
//! the rest, `requests.rs` counts commands, `crowd.rs` has many cores read at once, `depth.rs` many threads of a core,
//! `function.rs` uses a virtual function. The disk is the emulator's, so times mean something only against each other.

mod crowd;
mod depth;
mod function;
mod looks;
mod reads;
mod requests;
mod rings;
mod shares;

use tacet_node::{Cache, Node, NodeSpec};

use crate::Result;
use crate::configuration::{Settings, counted_node, timed_node};
use crate::guest::Guest;
use crate::metric::{Metric, Metrics, write};
use crate::programs::Programs;
use crate::provenance::place;
use crate::times::middle;
use reads::{Read, Way, read, up};

/// Linux keeps two CPUs, eight become cores.
const CPUS: u32 = 10;
/// Name, bytes of a read, reads.
const SIZES: [(&str, u64, usize); 4] =
    [("512", 512, 300), ("4k", 4096, 300), ("64k", 64 << 10, 200), ("1m", 1 << 20, 40)];
/// The size whose figures have a target.
const USUAL: &str = "4k";
const TURNS: usize = 3;

/// A part of the bench: its figures, measured in a node that it has for itself.
type Part = fn(&Guest, &mut Metrics) -> Result<()>;

/// Measures the parts that `--jobs` names, or all.
pub fn pico(cache: &Cache, settings: &Settings) -> Result<Vec<Metric>> {
    let programs = Programs::build(cache)?;
    let file = programs.build_directory().join("bench/pico.json");
    let counted = || disk(counted_node(settings.kernel, CPUS, &programs));
    let timed = || disk(timed_node(settings.kernel, CPUS, &programs));
    let nodes: [(&str, NodeSpec, Part); 7] = [
        ("instructions", counted(), counted_part),
        ("looks", long(listed(counted())), listed_part),
        ("rings", counted(), rings::instructions),
        ("functions", with_function(listed(counted())), function::instructions),
        ("shares", timed(), shared_part),
        ("times", timed(), timed_part),
        ("function_times", with_function(timed()), function::times),
    ];
    let known = |job: &String| nodes.iter().any(|(name, ..)| name == job);
    if let Some(job) = settings.jobs.iter().find(|job| !known(job)) {
        let names: Vec<_> = nodes.iter().map(|(name, ..)| *name).collect();
        return Err(format!("--jobs {job}: no such part of pico: {}", names.join(", ")).into());
    }
    let mut done = Vec::new();
    for (name, spec, part) in &nodes {
        if !settings.jobs.is_empty() && !settings.jobs.iter().any(|job| job == name) {
            continue;
        }
        let node = Node::boot(cache, spec)?;
        let guest = Guest { node: &node, programs: &programs };
        let mut metrics = Metrics::at(&place(&node, programs.top()));
        reads::prepare(&guest)?;
        part(&guest, &mut metrics)?;
        node.power_off()?;
        // If a later part fails, this stays.
        done.extend(metrics.into_vec());
        write(&done, &file)?;
    }
    Ok(done)
}

fn counted_part(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    step("instructions");
    instructions(guest, metrics)?;
    step("requests");
    requests::measure(guest, metrics, "", "512 KiB at most")?;
    step("a neighbouring core");
    stolen(guest, metrics)?;
    step("instructions of many cores at once");
    crowd::instructions(guest, metrics)
}

fn listed_part(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    step("looks at the device");
    looks::measure(guest, metrics)?;
    step("instructions of many threads of a core");
    depth::instructions(guest, metrics)?;
    step("requests of a disk that takes long ones");
    requests::measure(guest, metrics, "_long", "2 MiB at most")
}

fn shared_part(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    step("shares of calls");
    shares::measure(guest, metrics)?;
    step("times of rings");
    rings::times(guest, metrics)
}

fn timed_part(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    step("times");
    times(guest, metrics)?;
    step("times of many cores at once");
    crowd::times(guest, metrics)?;
    step("times of many threads of a core");
    depth::times(guest, metrics)
}

/// A node with a disk, and with queues that io_uring can poll.
fn disk(mut spec: NodeSpec) -> NodeSpec {
    spec.nvme_mib = 64;
    spec.memory_mib = 2048;
    spec.argument("nvme.poll_queues=4")
}

/// The plugin lists the code that ran.
fn listed(mut spec: NodeSpec) -> NodeSpec {
    spec.plugins.iter_mut().for_each(|plugin| plugin.arguments.push("sites=on".to_owned()));
    spec
}

/// The disk takes long commands.
fn long(mut spec: NodeSpec) -> NodeSpec {
    spec.nvme_mdts = Some(9);
    spec
}

/// The disk can have a virtual function. Linux must not make a disk of its own for all functions: queues in its controller
/// would not serve that.
fn with_function(mut spec: NodeSpec) -> NodeSpec {
    spec.nvme_functions = 1;
    spec.argument("nvme_core.multipath=N")
}

/// Each size in each way: instructions of a read.
fn instructions(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let all = |ways: &[Way]| -> Result<Vec<Vec<Read>>> {
        let of = |way: &Way| SIZES.iter().map(|(_, bytes, calls)| read(guest, *way, *bytes, *calls, 1, true)).collect();
        ways.iter().map(of).collect()
    };
    let linux = all(&Way::LINUX)?;
    up(guest)?;
    let cores = all(&Way::CORES)?;
    guest.down()?;
    let [native, ring, polled] = &linux[..] else { return Err("pico: a way is missing".into()) };
    let [forwarded, fast] = &cores[..] else { return Err("pico: a way is missing".into()) };
    for (index, (size, bytes, calls)) in SIZES.iter().enumerate() {
        let how = format!("kernel instructions of one of {calls} reads of {bytes} bytes by one thread, on all CPUs");
        let baseline = Some(native[index].instructions());
        let mut add = |suffix: &str, read: &Read, what: &str| {
            let how = format!("{how}: {what}; baseline: pread on Linux");
            let name = format!("pico_read_{size}_instructions{suffix}");
            metrics.add(&name, read.instructions(), "instructions", baseline, &how);
        };
        add("", &fast[index], "the core itself, its looks at the device while it waits included");
        add("_forwarded", &forwarded[index], "a core that forwards");
        add("_ring", &ring[index], "io_uring on Linux");
        add("_polled", &polled[index], "io_uring on Linux that polls");
        if *size == USUAL {
            let how = format!("{how}: only those of Linux's CPUs, ticks included; baseline: forwarded");
            let (linux, before) = (fast[index].linux_instructions(), forwarded[index].linux_instructions());
            metrics.add("pico_read_4k_instructions_linux", linux, "instructions", Some(before), &how);
        }
    }
    Ok(())
}

/// What a core executes besides its program while its neighbour reads.
fn stolen(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    up(guest)?;
    let count = reads::beside_a_spinning_core(guest)?;
    guest.down()?;
    let how = "kernel instructions on a core whose program computes, while its neighbour reads 4 KiB 300 times";
    metrics.add("pico_stolen_instructions", count, "instructions", None, how);
    Ok(())
}

/// Times of a read, in turns: on Linux, then on cores.
fn times(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let mut took = vec![vec![Vec::new(); SIZES.len()]; Way::ALL.len()];
    for _ in 0..TURNS {
        for way in Way::ALL {
            if way == Way::CORES[0] {
                up(guest)?;
            }
            for (size, (_, bytes, calls)) in SIZES.iter().enumerate() {
                took[way as usize][size].push(read(guest, way, *bytes, *calls, 1, false)?.call_ns);
            }
        }
        guest.down()?;
    }
    for (index, (size, bytes, calls)) in SIZES.iter().enumerate() {
        let ns = |way: Way| middle(took[way as usize][index].clone());
        let how = format!("middle of {TURNS} turns of {calls} reads of {bytes} bytes by one thread");
        let fast = ns(Way::FastPath);
        let prefix = if *size == USUAL { "pico_iops_ratio".to_owned() } else { format!("pico_iops_ratio_{size}") };
        for (suffix, way, what) in [
            ("", Way::Native, "pread on Linux"),
            ("_ring", Way::Ring, "io_uring on Linux"),
            ("_polled", Way::Polled, "io_uring on Linux that polls"),
            ("_forwarded", Way::Forwarded, "a core that forwards"),
        ] {
            let how = format!("{how}: time of {what} over that of the core itself");
            metrics.add(&format!("{prefix}{suffix}"), ns(way) / fast, "ratio", None, &how);
        }
    }
    Ok(())
}

fn step(name: &str) {
    eprintln!("measuring: {name}");
}
