// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a node's description to QEMU's command line. Pure: nothing is looked up and nothing is started here.

use std::path::{Path, PathBuf};

use super::accelerator::Execution;
use crate::kernel::Kernel;
use crate::spec::NodeSpec;

/// With counted time the emulator shares out, from one timer to the next, what is left until then: after each timer for
/// each CPU anew, so that of eight CPUs the last gets a third of what the first gets. Among so many CPUs shares are small,
/// and nearly equal; among still more, the emulator would do little else. The kernel never starts the ones added.
const SHARES: u32 = 32;

/// A CPU sees what another one wrote when that one's turn is over, and turns would be as long as the time to the next
/// timer is: who has few timers would wait longest. With a timer after so many nanoseconds for each CPU they are short
/// for everybody; with more timers still, the host would do little else while many CPUs idle. No CPU hears of it: it
/// belongs to a buffer on a network without stations.
const TIMER_NS: u32 = 62_500;

/// The files and sockets that connect a node with the host, in its run directory.
#[derive(Debug)]
pub(crate) struct Wiring {
    pub agent: PathBuf,
    pub console: PathBuf,
    pub plugin_log: PathBuf,
    pub root: PathBuf,
    pub initramfs: PathBuf,
    pub shares: Vec<Wire>,
}

/// The host's end of one share.
#[derive(Debug)]
pub(crate) enum Wire {
    /// A virtiofsd listens here.
    Socket(PathBuf),
    /// A disk with a copy.
    Disk(PathBuf),
    /// A copy in the initramfs.
    Packed,
}

/// Everything after the program name.
pub(crate) fn arguments(
    spec: &NodeSpec,
    kernel: &Kernel,
    wiring: &Wiring,
    how: Execution,
    version: (u32, u32),
) -> Vec<String> {
    let mut line = Line(Vec::new());
    line.words("-nodefaults -no-user-config -no-reboot -display none -machine q35");
    processor(&mut line, spec, how, version);
    memory(&mut line, spec);
    line.pair("-kernel", kernel.image().display());
    line.pair("-initrd", wiring.initramfs.display());
    line.pair("-append", kernel_line(spec, how));
    line.pair("-chardev", format!("file,id=console,path={}", escaped(&wiring.console)));
    line.pair("-serial", "chardev:console");
    line.pair("-chardev", format!("socket,id=agent,path={}", escaped(&wiring.agent)));
    // with an ioeventfd a request is taken when the emulator's other thread gets to it
    let events = if spec.reproducible.is_some() { ",ioeventfd=off" } else { "" };
    line.pair("-device", format!("virtio-serial-pci{events}"));
    line.words("-device virtserialport,chardev=agent,name=tacet.agent");
    if spec.reproducible.is_none() {
        disk(&mut line, "root", &wiring.root);
    }
    shares(&mut line, &wiring.shares);
    plugins(&mut line, spec, &wiring.plugin_log);
    line.0
}

/// The tag or disk order by which the node mounts share number `index`.
pub(crate) fn share_source(wiring: &Wiring, index: usize) -> String {
    let before = wiring.shares.iter().take(index).filter(|w| matches!(w, Wire::Disk(_))).count();
    match wiring.shares.get(index) {
        // vda is the root
        Some(Wire::Disk(_)) => format!("/dev/vd{}", (b'b' + before as u8) as char),
        _ => format!("share{index}"),
    }
}

fn processor(line: &mut Line, spec: &NodeSpec, how: Execution, version: (u32, u32)) {
    let (accelerator, mut model) = match how {
        Execution::Kvm => ("kvm", "host".to_owned()),
        Execution::Tcg => ("tcg,thread=multi", "max".to_owned()),
        Execution::TcgSingle => ("tcg,thread=single", "max".to_owned()),
    };
    if how != Execution::Kvm && version < (10, 0) {
        // its cmpxchg16b corrupts flags
        model.push_str(",cx16=off");
    }
    if how != Execution::Kvm && (spec.topology.threads > 1 || spec.topology.dies > 1) {
        // old kernels find the threads of an AMD core, and all find its dies, by features that the emulator lacks
        model.push_str(",vendor=GenuineIntel");
    }
    if spec.topology.dies > 1 {
        // QEMU 11.1 ends, by an assertion, at a guest that reads all of leaf 0x1f, as Linux 7 does; caches tell of dies as well
        model.push_str(",level=0x1e");
    }
    if spec.reproducible.is_some() {
        model.push_str(",rdrand=off,rdseed=off");
    }
    for (feature, on) in &spec.features {
        model.push_str(&format!(",{feature}={}", if *on { "on" } else { "off" }));
    }
    line.pair("-accel", accelerator);
    line.pair("-cpu", model);
    let t = &spec.topology;
    let sockets = t.sockets * if spec.counted_time { SHARES.div_ceil(t.cpus()) } else { 1 };
    let cpus = sockets * t.dies * t.cores * t.threads;
    let shape = format!("sockets={sockets},dies={},cores={},threads={}", t.dies, t.cores, t.threads);
    line.pair("-smp", format!("{cpus},{shape}"));
    if let Some(seed) = spec.reproducible {
        line.words("-icount shift=0,align=off,sleep=off -rtc base=2026-01-01,clock=vm");
        line.pair("-seed", seed);
    }
    if spec.counted_time {
        line.words("-icount shift=0,align=off -netdev hubport,id=nobody,hubid=0");
        let timer_us = spec.cpus() * TIMER_NS / 1000;
        line.pair("-object", format!("filter-buffer,id=timer,netdev=nobody,interval={timer_us}"));
    }
}

fn memory(line: &mut Line, spec: &NodeSpec) {
    let nodes = spec.topology.numa_nodes;
    let (memory, cpus) = (spec.memory_mib / nodes, spec.cpus() / nodes);
    line.pair("-m", format!("{}M", spec.memory_mib));
    for node in 0..nodes {
        // shared, because virtiofsd reads and writes it
        line.pair("-object", format!("memory-backend-memfd,id=memory{node},size={memory}M,share=on"));
        if nodes > 1 {
            let (first, last) = (node * cpus, (node + 1) * cpus - 1);
            line.pair("-numa", format!("node,nodeid={node},cpus={first}-{last},memdev=memory{node}"));
        }
    }
    if nodes == 1 {
        line.words("-machine memory-backend=memory0");
    }
}

fn kernel_line(spec: &NodeSpec, how: Execution) -> String {
    // an emulated TSC is the host's: the guest's watchdog can only be wrong about it
    // on a busy host it may not tick while the guest looks whether it does
    let mut words = vec!["console=ttyS0 quiet loglevel=4 panic=-1 no_timer_check".to_owned()];
    if how != Execution::Kvm {
        words.push("tsc=reliable".to_owned());
    }
    if spec.counted_time {
        words.push(format!("nr_cpus={}", spec.cpus()));
    }
    if spec.reproducible.is_some() {
        words.push("nokaslr random.trust_cpu=off".to_owned());
    }
    if spec.systemd {
        // no network to wait for, nobody to ask
        words.push("tacet.systemd systemd.unit=multi-user.target systemd.firstboot=off".to_owned());
        words.push("systemd.mask=systemd-networkd-wait-online.service".to_owned());
    }
    words.extend(spec.kernel_arguments.iter().cloned());
    words.join(" ")
}

fn disk(line: &mut Line, id: &str, image: &Path) {
    let image = escaped(image);
    line.pair("-drive", format!("if=none,id={id},file={image},format=raw,snapshot=on,cache=unsafe"));
    line.pair("-device", format!("virtio-blk-pci,drive={id}"));
}

fn shares(line: &mut Line, shares: &[Wire]) {
    for (index, share) in shares.iter().enumerate() {
        let id = format!("share{index}");
        match share {
            Wire::Packed => (),
            Wire::Disk(image) => disk(line, &id, image),
            Wire::Socket(socket) => {
                line.pair("-chardev", format!("socket,id={id},path={}", escaped(socket)));
                line.pair("-device", format!("vhost-user-fs-pci,chardev={id},tag={id}"));
            }
        }
    }
}

fn plugins(line: &mut Line, spec: &NodeSpec, log: &Path) {
    for plugin in &spec.plugins {
        let words = std::iter::once(escaped(&plugin.object)).chain(plugin.arguments.iter().cloned());
        line.pair("-plugin", words.collect::<Vec<_>>().join(","));
    }
    if !spec.plugins.is_empty() {
        line.words("-d plugin");
        line.pair("-D", log.display());
    }
}

/// QEMU's option lists take a comma in a value when it is doubled.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

struct Line(Vec<String>);

impl Line {
    fn words(&mut self, words: &str) {
        self.0.extend(words.split(' ').map(str::to_owned));
    }

    fn pair(&mut self, option: &str, value: impl std::fmt::Display) {
        self.0.extend([option.to_owned(), value.to_string()]);
    }
}

#[cfg(test)]
mod tests;
