// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files of a fake node before any change.

use std::fs;
use std::path::Path;

use tacet_tune::cpus::Cpus;

const FILES: &[(&str, &str)] = &[
    ("proc/cmdline", "root=/dev/vda quiet\n"),
    ("proc/cpuinfo", "vendor_id\t: GenuineIntel\n"),
    ("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
    ("proc/swaps", "Filename Type Size Used Priority\n/dev/vdb partition 1 0 -2\n"),
    ("proc/sys/kernel/osrelease", "7.3.1-test\n"),
    ("proc/sys/kernel/random/boot_id", "first\n"),
    ("proc/sys/kernel/nmi_watchdog", "1\n"),
    ("proc/sys/kernel/watchdog_cpumask", "0-7\n"),
    ("proc/sys/kernel/perf_event_max_sample_rate", "100000\n"),
    ("proc/sys/kernel/perf_cpu_time_max_percent", "25\n"),
    ("proc/sys/kernel/timer_migration", "0\n"),
    ("proc/sys/kernel/numa_balancing", "1\n"),
    ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
    ("proc/sys/vm/stat_interval", "1\n"),
    ("proc/sys/vm/swappiness", "60\n"),
    ("proc/sys/vm/compaction_proactiveness", "20\n"),
    ("proc/sys/vm/compact_unevictable_allowed", "1\n"),
    ("proc/irq/default_smp_affinity", "000000ff\n"),
    ("proc/irq/0/smp_affinity_list", "0\n"),
    ("proc/irq/9/smp_affinity_list", "0-7\n"),
    ("proc/irq/24/smp_affinity_list", "0-7\n"),
    ("proc/irq/25/smp_affinity_list", "4\n"),
    ("proc/irq/26/smp_affinity_list", "0-3,5\n"),
    ("sys/block/vda/queue/rq_affinity", "1\n"),
    ("sys/block/vda/queue/nr_requests", "256\n"),
    ("sys/block/vda/mq/0/cpu_list", "0, 1, 2, 3, 4, 5, 6, 7\n"),
    ("sys/class/net/eth0/queues/rx-0/rps_cpus", "000000ff\n"),
    ("sys/class/net/eth0/queues/rx-1/rps_cpus", "00000000\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/cpu/online", "0-7\n"),
    ("sys/devices/system/cpu/nohz_full", "(null)\n"),
    ("sys/devices/system/machinecheck/machinecheck0/check_interval", "300\n"),
    ("sys/devices/system/node/has_memory", "0-1\n"),
    ("sys/devices/system/node/node0/cpulist", "0-3\n"),
    ("sys/devices/system/node/node1/cpulist", "4-7\n"),
    ("sys/devices/virtual/workqueue/cpumask", "000000ff\n"),
    ("sys/devices/virtual/workqueue/cpumask_isolated", "00000000\n"),
    ("sys/devices/virtual/workqueue/writeback/cpumask", "000000ff\n"),
    ("sys/devices/virtual/workqueue/power/control", "auto\n"),
    ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids\n"),
    ("sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n"),
    ("sys/fs/cgroup/cgroup.procs", "2\n3\n"),
    ("sys/fs/cgroup/init.scope/cgroup.procs", "1\n"),
    ("sys/fs/cgroup/init.scope/memory.low", "0\n"),
    ("sys/fs/cgroup/system.slice/cgroup.procs", ""),
    ("sys/fs/cgroup/system.slice/memory.low", "0\n"),
    ("sys/fs/cgroup/system.slice/collectd.service/cgroup.freeze", "0\n"),
    ("sys/fs/cgroup/user.slice/cgroup.procs", ""),
    ("sys/fs/cgroup/user.slice/memory.low", "0\n"),
    ("sys/fs/resctrl/schemata", "    MB:0=100;1=100\n    L3:0=fff;1=fff\n"),
    ("sys/fs/resctrl/info/L3/cbm_mask", "fff\n"),
    ("sys/fs/resctrl/info/MB/min_bandwidth", "10\n"),
    ("sys/fs/resctrl/info/MB/bandwidth_gran", "10\n"),
    ("sys/kernel/rcu_normal", "0\n"),
    ("sys/kernel/mm/ksm/run", "1\n"),
    ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages", "0\n"),
    ("sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs", "10000\n"),
    ("sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "1\n"),
    ("run/systemd/system/none", ""),
    ("fake/workqueue_requested", "000000ff\n"),
    ("fake/stale", "no\n"),
    ("fake/systemd/init.scope", "\n"),
    ("fake/systemd/system.slice", "\n"),
    ("fake/systemd/user.slice", "\n"),
];

/// A thread whose affinity the kernel resets when CPUs go offline or online.
pub const BOUND_ANEW: u32 = 7;

/// Number, name, flags as the kernel has them, start time.
const THREADS: &[(u32, &str, u32, u32)] = &[
    (1, "systemd", 0x0040_0100, 3),
    (2, "kthreadd", 0x0020_8040, 3),
    (3, "rcu_preempt", 0x0020_8040, 4),
    (4, "migration/4", 0x0420_8040, 4),
    (5, "kcompactd0", 0x0020_8040, 5),
    (6, "irq/24-eth0", 0x0020_8040, 5),
    (BOUND_ANEW, "rcu_exp_par_gp_kthread_worker/0", 0x0020_8040, 5),
    (40, "collectd", 0x0040_0000, 900),
];

pub fn grow(root: &Path) {
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    FILES.iter().for_each(|(path, text)| put(path, text));
    for cpu in 0..8 {
        let of = |name: &str| format!("sys/devices/system/cpu/cpu{cpu}/{name}");
        put(&of("topology/thread_siblings_list"), &format!("{}-{}\n", cpu / 2 * 2, cpu / 2 * 2 + 1));
        put(&of("cpufreq/scaling_governor"), "powersave\n");
        put(&of("cpufreq/scaling_max_freq"), "2000000\n");
        put(&of("cpufreq/cpuinfo_max_freq"), "3000000\n");
        put(&of("power/pm_qos_resume_latency_us"), "0\n");
        put(&of("online"), "1\n");
        put(&format!("sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"), "50000000\n");
    }
    for (id, name, flags, started) in THREADS {
        let before_start = "0 ".repeat(12);
        put(&format!("proc/{id}/stat"), &format!("{id} ({name}) S 0 0 0 0 0 {flags} {before_start}{started} 0 0\n"));
        put(&format!("proc/{id}/status"), &status(&"0-7".parse().unwrap()));
        let group = if *name == "collectd" { "/system.slice/collectd.service" } else { "/" };
        put(&format!("proc/{id}/cgroup"), &format!("0::{group}\n"));
    }
}

pub fn status(cpus: &Cpus) -> String {
    format!("Name:\tany\nCpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0-1\n")
}
