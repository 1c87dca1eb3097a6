// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Turns a node's description into QEMU's command line. Pure: it looks nothing up and starts nothing.

use std::path::{Path, PathBuf};

use super::accelerator::Execution;
use super::guarded;
use crate::kernel::{Kernel, KernelLine};
use crate::secure_boot::Secure;
use crate::spec::{NodeSpec, Port};

/// The number of CPUs that QEMU is told with counted time. The emulator divides the time until the next timer among the
/// CPUs, but computes each share from the time left, so the last of eight CPUs gets a third of the first one's share.
/// With this many CPUs the shares are small and nearly equal; with more, the emulator would do little else. The kernel
/// never starts the additional CPUs.
const SHARES: u32 = 32;

/// The period of an additional timer, in nanoseconds for each CPU. An emulated CPU sees the writes of another CPU only
/// when that CPU's turn is over, and a turn lasts until the next timer: with few timers CPUs would wait long for each
/// other. This timer keeps all turns short; a shorter period would occupy the host while many CPUs idle. The timer
/// interrupts no CPU: it belongs to a buffer on a network without stations.
const TIMER_NS: u32 = 62_500;

/// The files and sockets that connect a node with the host, in its run directory.
#[derive(Debug)]
pub(crate) struct Wiring {
    pub agent: PathBuf,
    pub console: PathBuf,
    pub monitor: PathBuf,
    /// Where the emulator tells whether its machine runs; none where nothing may come from outside.
    pub guard: Option<PathBuf>,
    pub plugin_log: PathBuf,
    pub root: PathBuf,
    /// The disk that a cluster's node mounts over its root.
    pub cluster: Option<PathBuf>,
    pub initramfs: PathBuf,
    pub shares: Vec<Wire>,
    pub secure: Option<Secure>,
    pub nvme: Option<PathBuf>,
}

/// The host's side of one share.
#[derive(Debug)]
pub(crate) enum Wire {
    /// A virtiofsd listens here.
    Socket(PathBuf),
    /// A disk with a copy.
    Disk(PathBuf),
    /// A copy in the initramfs.
    Packed,
}

/// All arguments after the program name.
pub(crate) fn arguments(
    spec: &NodeSpec,
    kernel: &Kernel,
    wiring: &Wiring,
    how: Execution,
    version: (u32, u32),
) -> Vec<String> {
    let mut line = Line(Vec::new());
    line.words("-nodefaults -no-user-config -no-reboot -display none -machine q35");
    if spec.iommu {
        // it serves only devices that come after it
        line.words("-device intel-iommu,intremap=off");
    }
    processor(&mut line, spec, how, version);
    memory(&mut line, spec);
    match &wiring.secure {
        None => line.pair("-kernel", kernel.image().display()),
        Some(secure) => firmware(&mut line, secure),
    }
    line.pair("-initrd", wiring.initramfs.display());
    line.pair("-append", kernel_line(spec, how));
    line.pair("-chardev", format!("file,id=console,path={}", escaped(&wiring.console)));
    line.pair("-serial", "chardev:console");
    line.pair("-chardev", format!("socket,id=agent,path={}", escaped(&wiring.agent)));
    // with an ioeventfd another thread of the emulator would serve the request, at a time that is not reproducible
    let events = if spec.reproducible.is_some() { ",ioeventfd=off" } else { "" };
    line.pair("-device", format!("virtio-serial-pci{events}"));
    line.words("-device virtserialport,chardev=agent,name=tacet.agent");
    if spec.reproducible.is_none() {
        line.pair("-monitor", format!("unix:{},server=on,wait=off", escaped(&wiring.monitor)));
        disk(&mut line, "root", &wiring.root);
    }
    line.0.extend(wiring.guard.as_deref().into_iter().flat_map(guarded::words));
    shares(&mut line, &wiring.shares);
    if let (Some(port), Some(disk)) = (&spec.port, &wiring.cluster) {
        network(&mut line, port, disk);
    }
    if let Some(image) = &wiring.nvme {
        line.pair("-drive", format!("if=none,id=nvme,file={},format=raw,cache=unsafe", escaped(image)));
        nvme(&mut line, spec);
        if spec.nvme_more {
            more_nvme(&mut line, image, spec.nvme_mib);
        }
    }
    plugins(&mut line, spec, &wiring.plugin_log);
    line.0
}

/// The additional disk has a name of its own: shares that are disks go by their order.
fn network(line: &mut Line, port: &Port, disk: &Path) {
    let image = escaped(disk);
    line.pair("-drive", format!("if=none,id=cluster,file={image},format=raw,snapshot=on,cache=unsafe"));
    line.words("-device virtio-blk-pci,drive=cluster,serial=cluster");
    let socket = format!("addr.type=unix,addr.path={}", escaped(&port.socket));
    line.pair("-netdev", format!("stream,id=net,server=off,{socket}"));
    let address = format!("52:54:00:00:00:{:02x}", port.number);
    line.pair("-device", format!("virtio-net-pci,romfile=,netdev=net,mac={address}"));
}

/// A disk with virtual functions is a subsystem of several controllers, which share one namespace with a name of its own;
/// its functions have numbers below those of a port.
fn nvme(line: &mut Line, spec: &NodeSpec) {
    let functions = spec.nvme_functions;
    let most = spec.nvme_mdts.map_or_else(String::new, |mdts| format!(",mdts={mdts}"));
    if functions == 0 {
        return line.pair("-device", format!("nvme,drive=nvme,serial=tacet{most}"));
    }
    // A function has a queue for each CPU of a partition; Linux and a partition may both have one for each CPU.
    let cpus = spec.cpus();
    let (queues, interrupts) = (functions * (cpus + 1).max(8), functions * 2);
    line.words("-device pcie-root-port,id=above,chassis=1 -device nvme-subsys,id=subsystem,nqn=tacet");
    let resources = format!("sriov_vq_flexible={queues},sriov_vi_flexible={interrupts}");
    let own = format!("max_ioqpairs={},sriov_max_vfs={functions}", queues + (3 * cpus).max(16));
    line.pair("-device", format!("nvme,id=disk,bus=above,serial=tacet,subsys=subsystem,{own},{resources}{most}"));
    line.words("-device nvme-ns,drive=nvme,bus=disk,nsid=1,eui64=5924110000000001");
}

/// A block device that is no "drive" stays when its disk is unplugged, for the next one.
fn more_nvme(line: &mut Line, image: &Path, first_mib: u32) {
    const MIB: u32 = 32;
    for number in 0..3 {
        let part = format!("offset={},size={}", u64::from(first_mib + number * MIB) << 20, MIB << 20);
        let file = format!("file.driver=file,file.locking=off,file.filename={}", escaped(image));
        line.pair("-blockdev", format!("driver=raw,node-name=part{number},{part},{file}"));
    }
    line.words("-device nvme,id=many,serial=many");
    line.words("-device nvme-ns,drive=part0,bus=many,nsid=1 -device nvme-ns,drive=part1,bus=many,nsid=2");
    line.words("-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off");
    line.words("-device pcie-root-port,id=socket,chassis=2 -device nvme,id=plug,bus=socket,drive=part2,serial=plug");
}

/// Only code in system-management mode may write the firmware's variables.
fn firmware(line: &mut Line, secure: &Secure) {
    line.words("-machine smm=on -global driver=cfi.pflash01,property=secure,value=on");
    for (unit, path, readonly) in [(0, secure.code, "on"), (1, secure.variables.as_path(), "off")] {
        line.pair("-drive", format!("if=pflash,format=raw,unit={unit},readonly={readonly},file={}", escaped(path)));
    }
    line.pair("-kernel", secure.image.display());
}

/// The tag or disk by which the node mounts share number `index`.
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
        // this emulator's cmpxchg16b corrupts flags
        model.push_str(",cx16=off");
    }
    if how != Execution::Kvm && (spec.topology.threads > 1 || spec.topology.dies > 1) {
        // for AMD, old kernels detect a core's threads, and all kernels detect dies, by features that the emulator
        // lacks
        model.push_str(",vendor=GenuineIntel");
    }
    if spec.topology.dies > 1 {
        // QEMU 11.1 dies by an assertion if a guest reads all of leaf 0x1f, as Linux 7 does; caches describe the dies
        // as well
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
    line.pair("-smp", format!("{cpus},{}", with_room(&shape, sockets, spec)));
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

/// The shape with empty sockets, if the node has any.
fn with_room(shape: &str, sockets: u32, spec: &NodeSpec) -> String {
    let t = &spec.topology;
    let all = sockets + spec.empty_sockets;
    match spec.empty_sockets {
        0 => shape.to_owned(),
        _ => {
            let (dies, cores, threads) = (t.dies, t.cores, t.threads);
            let possible = all * dies * cores * threads;
            format!("sockets={all},dies={dies},cores={cores},threads={threads},maxcpus={possible}")
        }
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
    // an emulated TSC is the host's, so the guest's clock watchdog can only be wrong about it
    // on a busy host the timer may not tick while the guest checks it
    let mut words = vec!["console=ttyS0 quiet loglevel=4 panic=-1 no_timer_check".to_owned()];
    if how != Execution::Kvm {
        words.push("tsc=reliable".to_owned());
    }
    if spec.kernel == KernelLine::Debug {
        // Linux forgets for an instant of its boot that it has five levels; KASAN takes an interrupt then for a wild access
        words.push("no5lvl".to_owned());
    }
    if spec.counted_time {
        words.push(format!("nr_cpus={}", spec.cpus()));
    }
    if spec.reproducible.is_some() {
        words.push("nokaslr random.trust_cpu=off".to_owned());
    }
    if spec.systemd {
        // there is no network to wait for, and no person to ask
        words.push("tacet.systemd systemd.unit=multi-user.target systemd.firstboot=off".to_owned());
        words.push("systemd.mask=systemd-networkd-wait-online.service".to_owned());
    }
    words.extend(spec.port.iter().map(|port| format!("tacet.name={}", port.name)));
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

/// In a value of QEMU's option lists, a comma must be doubled.
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
