// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How to stop a source of noise, in one line. `LIST` stands for the measured CPUs, `REST` for all others.

use crate::record::thieves::Kind;

/// Remedies by kind and by the beginning of the name; the first match counts.
const REMEDIES: &[(Kind, &str, &str)] = &[
    (Kind::Timer, "tick_", "boot with nohz_full=LIST: the tick stops where one thread runs"),
    (Kind::Timer, "watchdog_timer_fn", "sysctl kernel.watchdog_cpumask=REST, or kernel.watchdog=0"),
    (Kind::Timer, "perf_", "stop perf and other samplers on these CPUs; sysctl kernel.nmi_watchdog=0"),
    (Kind::Timer, "hrtimer_wakeup", "a thread on these CPUs sleeps with a timer: bind it to REST"),
    (Kind::Timer, "posix_timer_fn", "a program armed a timer here: bind it to REST"),
    (Kind::Timer, "clocksource_watchdog", "boot with tsc=reliable, if the processor's counter is reliable"),
    (
        Kind::Timer,
        "delayed_work_timer_fn",
        "queue the work from REST: sysctl kernel.timer_migration=1, a higher vm.stat_interval",
    ),
    (Kind::Timer, "mce_timer_fn", "echo 0 > /sys/devices/system/machinecheck/machinecheckN/check_interval"),
    // before 7.0 a change of the server corrupts the kernel's accounting (`tacet tune list deadline-server`)
    (Kind::Timer, "dl_", "Linux 7.0 or later: tacet tune apply --with deadline-server; 6.12 to 6.19 have no safe way"),
    (Kind::Timer, "local timer interrupt", "boot with nohz_full=LIST; the timers that it ran are listed separately"),
    (Kind::Timer, "", "a timer fires on the CPU where it was armed: bind the thread that arms it to REST"),
    (
        Kind::Interrupt,
        "",
        "write REST to /proc/irq/N/smp_affinity_list; for managed ones boot with isolcpus=managed_irq,LIST",
    ),
    (Kind::Nmi, "", "sysctl kernel.nmi_watchdog=0; stop perf and other samplers"),
    (Kind::Softirq, "TIMER", "boot with nohz_full=LIST; bind threads that arm timers here to REST"),
    (Kind::Softirq, "NET_", "steer the device's queues and its receive steering (rps_cpus) to REST"),
    (Kind::Softirq, "BLOCK", "do no I/O from these CPUs; steer the device's interrupts to REST"),
    (Kind::Softirq, "SCHED", "use an isolated cpuset partition or isolcpus=domain,LIST: both end load balancing"),
    (Kind::Softirq, "RCU", "boot with rcu_nocbs=LIST and bind the rcuo threads to REST"),
    (Kind::Softirq, "", "it follows an interrupt on this CPU: steer that interrupt to REST"),
    (Kind::Kworker, "vmstat_", "sysctl vm.stat_interval=3600, or boot with nohz_full=LIST"),
    (Kind::Kworker, "refresh_vm_stats", "a program writes /proc/sys/vm/stat_refresh: stop it"),
    (
        Kind::Kworker,
        "lru_add_drain",
        "a program or the kernel drops caches, migrates or compacts memory: bind the job's memory, stop kcompactd",
    ),
    (Kind::Kworker, "wb_workfn", "write REST to /sys/bus/workqueue/devices/writeback/cpumask"),
    (Kind::Kworker, "blk_mq_", "do no I/O from these CPUs: this worker runs where the request was made"),
    (Kind::Kworker, "mce_", "write 0 to /sys/devices/system/machinecheck/machinecheckN/check_interval"),
    (
        Kind::Kworker,
        "",
        "if unbound: write the mask of REST to /sys/devices/virtual/workqueue/cpumask; if bound: queue the work from REST",
    ),
    (Kind::KernelThread, "ksoftirqd", "it runs softirqs of this CPU: steer their interrupts to REST"),
    (Kind::KernelThread, "rcu", "boot with rcu_nocbs=LIST, then taskset the rcu threads to REST"),
    (
        Kind::KernelThread,
        "migration",
        "a program changes affinities or stops CPUs: avoid hot-plug, and taskset on running threads",
    ),
    (Kind::KernelThread, "watchdog", "sysctl kernel.watchdog=0"),
    (Kind::KernelThread, "kcompactd", "sysctl vm.compaction_proactiveness=0; bind it to REST with taskset"),
    (
        Kind::KernelThread,
        "khugepaged",
        "write 0 to /sys/kernel/mm/transparent_hugepage/khugepaged/defrag, or bind it to REST",
    ),
    (Kind::KernelThread, "kswapd", "leave memory free; bind it to REST with taskset"),
    (Kind::KernelThread, "ksmd", "write 0 to /sys/kernel/mm/ksm/run"),
    (Kind::KernelThread, "", "bind it to REST with taskset, if the kernel allows it"),
    (Kind::Task, "", "set AllowedCPUs=REST for its unit, or make a cpuset partition of LIST"),
    (Kind::PageFault, "", "touch and lock memory first: MAP_POPULATE, mlockall, huge pages; turn NUMA balancing off"),
    (Kind::Migration, "", "bind threads; a cpuset partition of LIST keeps others away"),
    (
        Kind::Hardware,
        "system management",
        "in the firmware's settings turn off power capping, memory patrol, USB emulation",
    ),
    (Kind::Hardware, "thermal", "better cooling, or a lower frequency"),
    (Kind::Hardware, "", "the hardware reports errors: read the kernel's log, replace the part"),
];

/// Remedies for interrupts between CPUs, by a part of the sender: only the sender can stop them.
const SENDERS: &[(&str, &str)] = &[
    (
        "tlb",
        "a thread of the same process unmaps or protects memory elsewhere: keep all its threads on LIST, reuse memory",
    ),
    ("membarrier", "a thread of the same process calls membarrier: configure its run-time library not to"),
    ("rcu", "boot with rcu_nocbs=LIST rcupdate.rcu_normal=1 rcupdate.rcu_normal_after_boot=1"),
    ("text_poke", "a program switches tracing or static keys: leave them alone while jobs run"),
    ("aperfmperf", "a program reads frequencies (/proc/cpuinfo, cpufreq): stop that monitoring"),
    ("perf", "stop perf and other samplers on these CPUs"),
    ("do_sync_core", "a program switches tracing or static keys: leave them alone while jobs run"),
];

pub fn remedy(kind: Kind, name: &str, origin: Option<&str>) -> &'static str {
    if kind == Kind::Ipi {
        // the function alone: a program or its unit may have any name
        let purpose = origin.and_then(|sender| sender.rsplit(": ").next()).unwrap_or_default();
        let known = SENDERS.iter().find(|(part, _)| purpose.contains(part));
        return match (known, name) {
            (Some((_, remedy)), _) => remedy,
            (None, "reschedule") => "the sender woke a thread that may run here: bind that thread to REST",
            (None, "irq_work") => "this CPU interrupts itself for tracing, perf or printk: stop them",
            (None, _) => "stop the sender, or bind the program for which it works to REST",
        };
    }
    let fits = |(of, begin, _): &&(Kind, &str, &str)| *of == kind && name.starts_with(begin);
    REMEDIES.iter().find(fits).map_or("unknown to this tool", |(_, _, remedy)| remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one() {
        use Kind::{Hardware, Interrupt, KernelThread, Kworker, Migration, Nmi, PageFault, Softirq, Task, Timer};
        for kind in [Timer, Interrupt, Nmi, Softirq, Kworker, KernelThread, Task, PageFault, Migration, Hardware] {
            assert_ne!(remedy(kind, "something new", None), "unknown to this tool", "{kind:?}");
        }
        assert!(remedy(Timer, "tick_nohz_handler", None).contains("nohz_full"));
        assert!(remedy(Timer, "dl_task_timer", None).contains("deadline-server"));
        assert!(remedy(Kind::Ipi, "function call", Some("perf (perf.service): flush_tlb_mm_range")).contains("unmaps"));
        assert!(remedy(Kind::Ipi, "function call", Some("a: flush_tlb_mm_range")).contains("unmaps"));
        assert!(remedy(Kind::Ipi, "reschedule", None).contains("woke"));
    }
}
