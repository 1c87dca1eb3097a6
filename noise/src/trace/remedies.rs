// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How to stop a source of noise, in one line. `LIST` stands for the measured CPUs, `REST` for all others.
//!
//! Each source has one or more remedies, the best first, each with the check that says whether it is in force already.
//! The line names those that are not. A test demands a check of each remedy whose words name a setting.

use super::in_force::Check::{
    Before, Booted, From, Holds, InterruptsElsewhere, Isolated, Least, ListWithout, MaskWithout, Of, QueuesWithout,
    ThreadsElsewhere, Unseen, Word,
};
use super::in_force::{About, Check, Machine};
use super::sources::Identity;
use crate::record::thieves::Kind;

type Remedies = &'static [(&'static str, Check)];

const NOHZ: Check = Booted("nohz_full", None);
const NOCBS: Check = Booted("rcu_nocbs", None);
const WATCHDOG: Check = Holds("/proc/sys/kernel/watchdog", "0");
const NMI_WATCHDOG: Check = Holds("/proc/sys/kernel/nmi_watchdog", "0");
const SERVER: Check = Holds("/sys/kernel/debug/sched/fair_server/cpuCPU/runtime", "0");
const MACHINE_CHECK: (&str, Check) = (
    "write 0 to /sys/devices/system/machinecheck/machinecheckN/check_interval",
    Holds("/sys/devices/system/machinecheck/machinecheckCPU/check_interval", "0"),
);
const SAMPLERS: (&str, Check) = ("stop perf and other samplers on these CPUs", Unseen);
/// Before 7.0 a change of the server while it runs corrupts the kernel's accounting (`tacet tune list deadline-server`).
const DEADLINE_SERVER: Remedies = &[
    ("tacet tune apply --with deadline-server", From((7, 0), &SERVER)),
    (
        "write 0 to /sys/kernel/debug/sched/fair_server/cpuN/runtime for each N of LIST, once, before jobs run (if its \
         server runs just then, a kernel before 7.0 warns and may count its bandwidth wrongly)",
        Before((7, 0), &SERVER),
    ),
];
const STATIC_KEYS: Remedies = &[("a program switches tracing or static keys: leave them alone while jobs run", Unseen)];

/// Remedies by kind and by the beginning of the name; the first match counts.
const REMEDIES: &[(Kind, &str, Remedies)] = &[
    (
        Kind::Timer,
        "tick_",
        &[
            ("boot with nohz_full=LIST: the tick stops where one thread runs", NOHZ),
            (
                "let one thread alone run on each of these CPUs, without a limit of CPU time, perf or POSIX CPU timers",
                Unseen,
            ),
        ],
    ),
    (
        Kind::Timer,
        "watchdog_timer_fn",
        &[
            ("sysctl kernel.watchdog_cpumask=REST", ListWithout("/proc/sys/kernel/watchdog_cpumask")),
            ("kernel.watchdog=0", WATCHDOG),
        ],
    ),
    (Kind::Timer, "perf_", &[SAMPLERS, ("sysctl kernel.nmi_watchdog=0", NMI_WATCHDOG)]),
    (Kind::Timer, "hrtimer_wakeup", &[("a thread on these CPUs sleeps with a timer: bind it to REST", Unseen)]),
    (Kind::Timer, "posix_timer_fn", &[("a program armed a timer here: bind it to REST", Unseen)]),
    (
        Kind::Timer,
        "clocksource_watchdog",
        &[("boot with tsc=reliable, if the processor's counter is reliable", Word("tsc=reliable"))],
    ),
    (
        Kind::Timer,
        "delayed_work_timer_fn",
        &[
            ("queue the work from REST", Unseen),
            ("sysctl kernel.timer_migration=1", Holds("/proc/sys/kernel/timer_migration", "1")),
            ("a higher vm.stat_interval", Least("/proc/sys/vm/stat_interval", 60)),
        ],
    ),
    (Kind::Timer, "mce_timer_fn", &[MACHINE_CHECK]),
    (Kind::Timer, "dl_", DEADLINE_SERVER),
    (
        Kind::Timer,
        "local timer interrupt",
        &[("boot with nohz_full=LIST", NOHZ), ("stop the timers that it ran: they are listed separately", Unseen)],
    ),
    (Kind::Timer, "", &[("a timer fires on the CPU where it was armed: bind the thread that arms it to REST", Unseen)]),
    (
        Kind::Interrupt,
        "",
        &[
            ("write REST to /proc/irq/N/smp_affinity_list", InterruptsElsewhere),
            ("for managed ones boot with isolcpus=managed_irq,LIST", Booted("isolcpus", Some("managed_irq"))),
        ],
    ),
    (Kind::Nmi, "", &[("sysctl kernel.nmi_watchdog=0", NMI_WATCHDOG), SAMPLERS]),
    (
        Kind::Softirq,
        "TIMER",
        &[("boot with nohz_full=LIST", NOHZ), ("bind threads that arm timers here to REST", Unseen)],
    ),
    (
        Kind::Softirq,
        "NET_",
        &[
            ("steer the device's queues to REST (/proc/irq/N/smp_affinity_list)", InterruptsElsewhere),
            ("write the mask of REST to its receive steering (rps_cpus)", QueuesWithout),
            ("use no network from these CPUs", Unseen),
        ],
    ),
    (
        Kind::Softirq,
        "BLOCK",
        &[("do no I/O from these CPUs", Unseen), ("steer the device's interrupts to REST", InterruptsElsewhere)],
    ),
    (
        Kind::Softirq,
        "SCHED",
        &[
            ("use an isolated cpuset partition, or boot with isolcpus=domain,LIST: both end load balancing", Isolated),
            ("boot with nohz_full=LIST: it follows the tick", NOHZ),
        ],
    ),
    (
        Kind::Softirq,
        "RCU",
        &[("boot with rcu_nocbs=LIST", NOCBS), ("bind the rcuo threads to REST", ThreadsElsewhere("rcuo"))],
    ),
    (Kind::Softirq, "", &[("it follows an interrupt on this CPU: steer that interrupt to REST", InterruptsElsewhere)]),
    (
        Kind::Kworker,
        "vmstat_",
        &[
            ("sysctl vm.stat_interval=3600", Least("/proc/sys/vm/stat_interval", 3600)),
            ("boot with nohz_full=LIST", NOHZ),
        ],
    ),
    (Kind::Kworker, "refresh_vm_stats", &[("a program writes /proc/sys/vm/stat_refresh: stop it", Unseen)]),
    (
        Kind::Kworker,
        "lru_add_drain",
        &[(
            "a program or the kernel drops caches, migrates or compacts memory: bind the job's memory, stop kcompactd",
            Unseen,
        )],
    ),
    (
        Kind::Kworker,
        "wb_workfn",
        &[(
            "write the mask of REST to /sys/bus/workqueue/devices/writeback/cpumask",
            MaskWithout("/sys/bus/workqueue/devices/writeback/cpumask"),
        )],
    ),
    (Kind::Kworker, "blk_mq_", &[("do no I/O from these CPUs: this worker runs where the request was made", Unseen)]),
    (Kind::Kworker, "mce_", &[MACHINE_CHECK]),
    (
        Kind::Kworker,
        "",
        &[
            (
                "write the mask of REST to /sys/devices/virtual/workqueue/cpumask",
                Of("unbound worker", &MaskWithout("/sys/devices/virtual/workqueue/cpumask")),
            ),
            ("queue the work from REST", Of("bound worker", &Unseen)),
        ],
    ),
    (
        Kind::KernelThread,
        "ksoftirqd",
        &[("it runs softirqs of this CPU: steer their interrupts to REST", InterruptsElsewhere)],
    ),
    (
        Kind::KernelThread,
        "rcu",
        &[("boot with rcu_nocbs=LIST", NOCBS), ("taskset the rcu threads to REST", ThreadsElsewhere("rcu"))],
    ),
    (
        Kind::KernelThread,
        "migration",
        &[("a program changes affinities or stops CPUs: avoid hot-plug, and taskset on running threads", Unseen)],
    ),
    (Kind::KernelThread, "watchdog", &[("sysctl kernel.watchdog=0", WATCHDOG)]),
    (
        Kind::KernelThread,
        "kcompactd",
        &[
            ("sysctl vm.compaction_proactiveness=0", Holds("/proc/sys/vm/compaction_proactiveness", "0")),
            ("bind it to REST with taskset", ThreadsElsewhere("")),
        ],
    ),
    (
        Kind::KernelThread,
        "khugepaged",
        &[
            (
                "write 0 to /sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
                Holds("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0"),
            ),
            ("bind it to REST with taskset", ThreadsElsewhere("")),
        ],
    ),
    (
        Kind::KernelThread,
        "kswapd",
        &[("leave memory free", Unseen), ("bind it to REST with taskset", ThreadsElsewhere(""))],
    ),
    (Kind::KernelThread, "ksmd", &[("write 0 to /sys/kernel/mm/ksm/run", Holds("/sys/kernel/mm/ksm/run", "0"))]),
    (Kind::KernelThread, "", &[("bind it to REST with taskset, if the kernel allows it", ThreadsElsewhere(""))]),
    (Kind::Task, "", &[("set AllowedCPUs=REST for its unit", Unseen), ("make a cpuset partition of LIST", Isolated)]),
    (
        Kind::PageFault,
        "",
        &[
            ("touch and lock memory first: MAP_POPULATE, mlockall, huge pages", Unseen),
            ("turn NUMA balancing off (sysctl kernel.numa_balancing=0)", Holds("/proc/sys/kernel/numa_balancing", "0")),
        ],
    ),
    (Kind::Migration, "", &[("bind threads", Unseen), ("a cpuset partition of LIST keeps others away", Isolated)]),
    (
        Kind::Hardware,
        "system management",
        &[("in the firmware's settings turn off power capping, memory patrol, USB emulation", Unseen)],
    ),
    (Kind::Hardware, "thermal", &[("better cooling, or a lower frequency", Unseen)]),
    (Kind::Hardware, "", &[("the hardware reports errors: read the kernel's log, replace the part", Unseen)]),
];

/// Remedies for interrupts between CPUs, by a part of the sender: only the sender can stop them.
const SENDERS: &[(&str, Remedies)] = &[
    (
        "tlb",
        &[(
            "a thread of the same process unmaps or protects memory elsewhere: keep all its threads on LIST, reuse memory",
            Unseen,
        )],
    ),
    ("dl_task_timer", DEADLINE_SERVER),
    ("dl_server", DEADLINE_SERVER),
    ("membarrier", &[("a thread of the same process calls membarrier: configure its run-time library not to", Unseen)]),
    (
        "rcu",
        &[
            ("boot with rcu_nocbs=LIST", NOCBS),
            (
                "boot with rcupdate.rcu_normal=1 rcupdate.rcu_normal_after_boot=1",
                Holds("/sys/module/rcupdate/parameters/rcu_normal", "1"),
            ),
        ],
    ),
    ("text_poke", STATIC_KEYS),
    ("aperfmperf", &[("a program reads frequencies (/proc/cpuinfo, cpufreq): stop that monitoring", Unseen)]),
    ("perf", &[SAMPLERS]),
    ("do_sync_core", STATIC_KEYS),
];

/// For interrupts between CPUs of other senders, by their name.
const OTHER_SENDERS: &[(&str, Remedies)] = &[
    ("reschedule", &[("the sender woke a thread that may run here: bind that thread to REST", Unseen)]),
    ("irq_work", &[("this CPU interrupts itself for tracing, perf or printk: stop them", Unseen)]),
    ("", &[("stop the sender, or bind the program for which it works to REST", Unseen)]),
];

const NONE_LEFT: &str = "what is known to stop it is in force already";

/// What is not in force yet on `machine` for these CPUs.
pub fn remedy(machine: &Machine, of: &Identity, cpus: &[u32]) -> String {
    let origin = of.origin.as_deref().unwrap_or_default();
    let about = About { name: &of.name, origin, cpus };
    let left = remedies(of).iter().filter(|(_, check)| !machine.has(check, about));
    let left: Vec<&str> = left.map(|(remedy, _)| *remedy).collect();
    if left.is_empty() { NONE_LEFT.into() } else { left.join("; or ") }
}

fn remedies(of: &Identity) -> Remedies {
    if of.kind == Kind::Ipi {
        // the function alone: a program or its unit may have any name
        let purpose = of.origin.as_deref().and_then(|sender| sender.rsplit(": ").next()).unwrap_or_default();
        let known = SENDERS.iter().find(|(part, _)| purpose.contains(part));
        let other = || OTHER_SENDERS.iter().find(|(begin, _)| of.name.starts_with(begin));
        return known.or_else(other).map_or(&[], |(_, remedies)| remedies);
    }
    let fits = |(kind, begin, _): &&(Kind, &str, Remedies)| *kind == of.kind && of.name.starts_with(begin);
    REMEDIES.iter().find(fits).map_or(&[], |(_, _, remedies)| remedies)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::in_force::made;
    use super::*;

    fn of(kind: Kind, name: &str, origin: Option<&str>) -> Identity {
        Identity { kind, name: name.into(), origin: origin.map(str::to_owned) }
    }

    #[test]
    fn every_kind_has_one() {
        use Kind::{Hardware, Interrupt, Ipi, KernelThread, Kworker, Migration, Nmi, PageFault, Softirq, Task, Timer};
        let root = made(&[]);
        let machine = Machine::at(root.path());
        let said = |of: Identity| remedy(&machine, &of, &[3]);
        for kind in [Timer, Interrupt, Nmi, Softirq, KernelThread, Task, PageFault, Migration, Hardware, Ipi] {
            assert_ne!(said(of(kind, "something new", None)), NONE_LEFT, "{kind:?}");
        }
        for origin in ["bound worker, queued by cron: x", "unbound worker"] {
            assert_ne!(said(of(Kworker, "something new", Some(origin))), NONE_LEFT);
        }
        assert!(said(of(Timer, "tick_nohz_handler", None)).contains("nohz_full"));
        assert!(said(of(Ipi, "function call", Some("perf (perf.service): flush_tlb_mm_range"))).contains("unmaps"));
        assert!(said(of(Ipi, "function call", Some("a: flush_tlb_mm_range"))).contains("unmaps"));
        assert!(said(of(Ipi, "reschedule", None)).contains("woke"));
    }

    /// A node booted for one program on CPU 3: what its boot line does already is not offered, and the deadline server's
    /// interrupts have the server's own remedy, until it is in force too.
    #[test]
    fn what_is_in_force_is_not_offered() {
        let booted = [
            ("proc/cmdline", "BOOT_IMAGE=/vmlinuz nohz_full=3 isolcpus=3 rcu_nocbs=3\n"),
            ("proc/sys/kernel/osrelease", "6.12.57+deb13-amd64\n"),
            ("sys/devices/system/cpu/isolated", "3\n"),
            ("sys/kernel/debug/sched/fair_server/cpu3/runtime", "50000000\n"),
        ];
        let root = made(&booted);
        let machine = Machine::at(root.path());
        for (kind, name) in [
            (Kind::Timer, "tick_nohz_handler"),
            (Kind::Timer, "local timer interrupt"),
            (Kind::Softirq, "TIMER"),
            (Kind::Softirq, "RCU"),
            (Kind::Softirq, "SCHED"),
            (Kind::Kworker, "vmstat_update"),
            (Kind::KernelThread, "rcuop"),
            (Kind::Task, "cron"),
        ] {
            let (here, there) =
                (remedy(&machine, &of(kind, name, None), &[3]), remedy(&machine, &of(kind, name, None), &[2, 3]));
            for option in ["nohz_full", "rcu_nocbs", "isolcpus", "partition"] {
                assert!(!here.contains(option), "{name}: {here}");
            }
            assert_ne!(here, there, "{name}: CPU 2 is not among them");
        }
        let server = [
            of(Kind::Ipi, "reschedule", Some("idle: dl_task_timer")),
            of(Kind::Ipi, "function call", Some("idle: dl_task_timer and others")),
            of(Kind::Timer, "dl_task_timer", None),
        ];
        for source in &server {
            let said = remedy(&machine, source, &[3]);
            assert!(said.contains("write 0 to /sys/kernel/debug/sched/fair_server/cpuN/runtime"), "{said}");
            assert!(
                !said.contains("bind") && !said.contains("stop the sender") && !said.contains("nohz_full"),
                "{said}"
            );
        }
        fs::write(root.path().join("sys/kernel/debug/sched/fair_server/cpu3/runtime"), "0\n").expect("written");
        assert!(server.iter().all(|source| remedy(&machine, source, &[3]) == NONE_LEFT));
        fs::write(root.path().join("sys/kernel/debug/sched/fair_server/cpu3/runtime"), "50000000\n").expect("written");
        fs::write(root.path().join("proc/sys/kernel/osrelease"), "7.1.3\n").expect("written");
        let newest = "tacet tune apply --with deadline-server";
        assert!(server.iter().all(|source| remedy(&machine, source, &[3]) == newest));
    }

    /// A remedy that names a file, a kernel parameter or a boot option can be seen on the machine.
    #[test]
    fn settings_have_checks() {
        let tables = REMEDIES.iter().map(|(_, _, remedies)| *remedies);
        let tables = tables.chain(SENDERS.iter().chain(OTHER_SENDERS).map(|(_, remedies)| *remedies));
        for (said, check) in tables.flatten() {
            let names = ["boot with", "sysctl", "write ", "kernel.", "vm.", "partition", "taskset to", "tacet tune"];
            let named = names.iter().any(|part| said.contains(part));
            assert!(!named || !matches!(check, Unseen), "{said}: nothing says whether it is in force");
        }
    }
}
