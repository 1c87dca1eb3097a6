// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command lines that descriptions must give.

use super::*;
use crate::cache::Cache;
use crate::kernel::KernelLine;
use crate::spec::{Plugin, Topology};

fn line_of(spec: &NodeSpec, how: Execution, version: (u32, u32), shares: Vec<Wire>) -> String {
    let scratch = tempfile::tempdir().expect("scratch");
    let cache = Cache::at(scratch.path()).expect("cache");
    let directory = cache.kernel(spec.kernel);
    std::fs::create_dir_all(&directory).expect("kernel");
    std::fs::write(directory.join("release"), "6.12.1").expect("release");
    let kernel = Kernel::installed(&cache, spec.kernel).expect("installed");
    let wiring = Wiring {
        agent: "/r/agent".into(),
        console: "/r/console".into(),
        monitor: "/r/monitor".into(),
        guard: Some("/r/guard".into()),
        plugin_log: "/r/plugin".into(),
        root: "/r/a,b.ext4".into(),
        cluster: Some("/r/cluster".into()),
        initramfs: "/r/initramfs".into(),
        shares,
        secure: None,
        nvme: (spec.nvme_mib > 0).then(|| "/r/nvme".into()),
    };
    arguments(spec, &kernel, &wiring, how, version).join(" ")
}

fn plain() -> NodeSpec {
    NodeSpec::new(KernelLine::V6_12)
}

#[test]
fn only_an_old_emulator_loses_cmpxchg16b() {
    assert!(line_of(&plain(), Execution::Tcg, (7, 2), vec![]).contains("-cpu max,cx16=off"));
    assert!(!line_of(&plain(), Execution::Tcg, (10, 0), vec![]).contains("cx16"));
    assert!(line_of(&plain(), Execution::Kvm, (7, 2), vec![]).contains("-accel kvm -cpu host -smp"));
}

#[test]
fn numa_nodes_get_equal_parts() {
    let mut spec = plain();
    spec.topology = Topology { sockets: 2, dies: 1, cores: 2, threads: 1, numa_nodes: 2 };
    let line = line_of(&spec, Execution::Tcg, (10, 0), vec![]);
    assert!(line.contains("-numa node,nodeid=1,cpus=2-3,memdev=memory1"), "{line}");
    assert!(line.contains("id=memory1,size=1024M"), "{line}");
    assert!(!line.contains("memory-backend=memory0"), "{line}");
}

#[test]
fn dies_have_caches_but_no_leaf_of_their_own() {
    let mut spec = plain();
    assert!(!line_of(&spec, Execution::Tcg, (11, 1), vec![]).contains(",level="));
    spec.topology = Topology { sockets: 1, dies: 2, cores: 2, threads: 1, numa_nodes: 1 };
    let line = line_of(&spec, Execution::Tcg, (11, 1), vec![]);
    assert!(line.contains("vendor=GenuineIntel,level=0x1e -smp 4,sockets=1,dies=2,cores=2,threads=1"), "{line}");
}

#[test]
fn a_node_of_counted_time_keeps_its_disk() {
    let mut spec = plain();
    spec.counted_time = true;
    let line = line_of(&spec, Execution::TcgSingle, (10, 0), vec![]);
    assert!(line.contains("-icount shift=0,align=off") && line.contains("virtio-blk"), "{line}");
    // more CPUs than the node starts, for equal turns
    assert!(line.contains("-smp 32,sockets=8,dies=1,cores=4,threads=1") && line.contains("nr_cpus=4"), "{line}");
    // a timer that only keeps turns short
    assert!(line.contains("-object filter-buffer,") && line.contains("interval=250 "), "{line}");
}

#[test]
fn a_reproducible_node_has_no_entropy_and_counts_instructions() {
    let mut spec = plain();
    spec.reproducible = Some(7);
    let line = line_of(&spec, Execution::TcgSingle, (7, 2), vec![]);
    for part in ["-icount shift=0", "-seed 7", "rdrand=off", "nokaslr", "tcg,thread=single", "ioeventfd=off"] {
        assert!(line.contains(part), "{part} not in {line}");
    }
    assert!(!line.contains("virtio-blk"), "{line}");
}

#[test]
fn a_node_has_an_nvme_disk_if_it_wants_one() {
    let mut spec = plain();
    assert!(!line_of(&spec, Execution::Tcg, (10, 0), vec![]).contains("nvme"));
    spec.nvme_mib = 64;
    let line = line_of(&spec, Execution::Tcg, (10, 0), vec![]);
    assert!(line.contains("file=/r/nvme,") && line.contains("-device nvme,drive=nvme"), "{line}");
    assert!(!line.contains("mdts"), "{line}");
    spec.nvme_mdts = Some(9);
    assert!(line_of(&spec, Execution::Tcg, (10, 0), vec![]).contains(",mdts=9"));
}

#[test]
fn virtual_functions_share_a_namespace_with_a_name() {
    let mut spec = plain();
    (spec.nvme_mib, spec.nvme_functions) = (64, 2);
    let line = line_of(&spec, Execution::Tcg, (10, 0), vec![]);
    assert!(line.contains("sriov_max_vfs=2,") && line.contains("-device nvme-ns,drive=nvme,"), "{line}");
}

#[test]
fn empty_sockets_make_cpus_possible_that_never_come() {
    let mut spec = plain();
    assert!(!line_of(&spec, Execution::Tcg, (10, 0), vec![]).contains("maxcpus"));
    spec.empty_sockets = 9;
    let line = line_of(&spec, Execution::Tcg, (10, 0), vec![]);
    assert!(line.contains("-smp 4,sockets=10,dies=1,cores=4,threads=1,maxcpus=40"), "{line}");
}

#[test]
fn an_iommu_comes_before_the_devices_that_it_serves() {
    let mut spec = plain();
    (spec.nvme_mib, spec.iommu) = (64, true);
    let line = line_of(&spec, Execution::Tcg, (10, 0), vec![]);
    let (iommu, first) = (line.find("-device intel-iommu"), line.find("-device virtio"));
    assert!(iommu.is_some() && iommu < first, "{line}");
}

#[test]
fn commas_in_paths_are_doubled() {
    assert!(line_of(&plain(), Execution::Tcg, (10, 0), vec![]).contains("file=/r/a,,b.ext4"));
}

#[test]
fn copies_are_disks_in_order_and_live_shares_have_tags() {
    let shares = vec![Wire::Disk("/r/0".into()), Wire::Socket("/r/1".into()), Wire::Disk("/r/2".into())];
    let wiring = Wiring {
        agent: PathBuf::new(),
        console: PathBuf::new(),
        monitor: PathBuf::new(),
        guard: None,
        plugin_log: PathBuf::new(),
        root: PathBuf::new(),
        cluster: None,
        initramfs: PathBuf::new(),
        shares,
        secure: None,
        nvme: None,
    };
    let sources: Vec<_> = (0..3).map(|i| share_source(&wiring, i)).collect();
    assert_eq!(sources, ["/dev/vdb", "share1", "/dev/vdc"]);
}

#[test]
fn plugins_log_to_their_own_file() {
    let mut spec = plain();
    spec.plugins.push(Plugin { object: "/p.so".into(), arguments: vec!["cpu=3".into()] });
    let line = line_of(&spec, Execution::Tcg, (10, 0), vec![]);
    assert!(line.ends_with("-plugin /p.so,cpu=3 -d plugin -D /r/plugin"), "{line}");
}
