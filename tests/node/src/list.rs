// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All scenarios, in the order in which a mistake is cheapest to find.
//!
//! The first word says on which kernel a scenario runs by default. Scenarios of one kind (the partition's start and end,
//! CPUs that come and go, births and deaths of threads, crashes, tracing, faults and mirrors, stale translations,
//! countermeasures) are spread so that each kernel sees each kind. Each kernel also runs the user programs, each with
//! memory of another sort. With `FULL=1` every scenario runs on every kernel that can run it.

use tacet_node::KernelLine;

use crate::scenario::{Place, Scenario};

const fn oldest(name: &'static str, script: &'static str) -> Scenario {
    Scenario::new(name, script, Place::One(KernelLine::V6_1))
}

const fn middle(name: &'static str, script: &'static str) -> Scenario {
    Scenario::new(name, script, Place::One(KernelLine::V6_12))
}

const fn newest(name: &'static str, script: &'static str) -> Scenario {
    Scenario::new(name, script, Place::One(KernelLine::V7))
}

const fn each(name: &'static str, script: &'static str) -> Scenario {
    Scenario::new(name, script, Place::Each)
}

const fn rarely(name: &'static str, script: &'static str) -> Scenario {
    Scenario::new(name, script, Place::Rare)
}

/// HPL works without any other part: also on kernels for which there is no module (`other_kernel.sh`).
const fn hpl(name: &'static str, script: &'static str) -> Scenario {
    newest(name, script).only_newest().without_module()
}

const fn hpl_rarely(name: &'static str, script: &'static str) -> Scenario {
    rarely(name, script).only_newest().without_module()
}

pub const SCENARIOS: &[Scenario] = &[
    middle("up and down with every choice of CPUs", "partition.sh choices"),
    oldest("a start that fails at every step", "partition.sh steps").more(),
    newest("a CPU that does not come up", "partition.sh silent").more(),
    middle("CPUs join and leave beside a program", "resize.sh beside"),
    oldest("a core is not disturbed by CPUs that join and leave", "resize.sh undisturbed").more(),
    newest("a partition without CPUs", "resize.sh empty").more(),
    oldest("grow and shrink killed at any moment", "resize.sh killed").more(),
    newest("a core that dies after it joined", "resize.sh fails").more(),
    middle("random steps of grow and shrink", "resize.sh random").within(1200).more(),
    newest("memory joins while programs run", "resize.sh memory_joins"),
    middle("memory leaves where it is free, and who has the rest is said", "resize.sh memory_leaves").more(),
    oldest("grow and shrink of memory killed at any moment", "resize.sh memory_killed").more(),
    middle("jobs and their users", "jobs.sh objects").within(600),
    oldest("a job's memory", "jobs.sh memory"),
    middle("random steps of jobs", "jobs.sh random").within(1200),
    oldest("begin and end of jobs killed at any moment", "jobs.sh killed").within(900).more(),
    newest("forgotten jobs", "jobs.sh swept"),
    newest("CPUs between jobs", "jobs.sh kept"),
    newest("two users' jobs beside each other", "jobs.sh beside").within(600),
    newest("a job disturbs no other", "jobs.sh quiet").within(600),
    oldest("a start that is interrupted", "partition.sh interrupted").more(),
    middle("requests that cannot be met", "partition.sh refusals"),
    oldest("memory that Linux cannot give", "partition.sh memory").more(),
    newest("another program puts a taken CPU online", "hotplug.sh foreign"),
    oldest("other CPUs go offline and online", "hotplug.sh others").more(),
    middle("suspend", "hotplug.sh suspend"),
    newest("the module unloaded", "hotplug.sh unload"),
    each("decoupled and recoupled under load", "moves.sh there_and_back"),
    oldest("decoupled with many threads", "moves.sh many_threads"),
    middle("a core that looks for the answer is not rung", "answers.sh looks"),
    middle("proxies whose CPU halts in their context", "halts.sh told"),
    newest("proxies whose CPU watches for the answer", "halts.sh watches"),
    oldest("signals to threads whose proxies halt", "halts.sh signals").more(),
    newest("other programs on a CPU that halts for a proxy", "halts.sh shares"),
    middle("a CPU that halts for a proxy goes offline", "halts.sh offline").more(),
    newest("threads that stay on Linux while they make many calls", "bursts.sh stays"),
    middle("what ends a burst of calls", "bursts.sh ends"),
    oldest("a thread that computes stays on its core", "bursts.sh computes").more(),
    oldest("memory of the partition in bursts of calls", "bursts.sh remembers").more(),
    newest("decoupled while born and while ending", "moves.sh births_and_deaths"),
    middle("files of processes while the partition goes", "moves.sh files_going").more(),
    oldest("stopped and continued", "moves.sh stop_and_go_on"),
    middle("children, with and without --follow", "moves.sh children"),
    newest("hosted through execve", "moves.sh execute"),
    newest("the files of the Decoupled paper", "moves.sh files"),
    oldest("more threads than cores", "moves.sh crowd").more(),
    middle("threads that are bound, and ranks that divide", "moves.sh bound").more(),
    oldest("CPUs as hosted programs see them", "views.sh facts").within(600).more(),
    newest("a profile of a program that has ended", "profile.sh at_end").only_newest(),
    middle("a profile of a program that runs", "profile.sh while_it_runs").more(),
    oldest("the co-kernel fails a check", "crash.sh panic"),
    newest("the co-kernel uses a wild pointer", "crash.sh wild_pointer"),
    middle("the co-kernel hangs", "crash.sh hang"),
    oldest("the co-kernel corrupts an index", "crash.sh corrupt_index"),
    middle("the co-kernel names a context that does not exist", "crash.sh bogus_entry"),
    newest("a core whose outbox is full", "crash.sh full_outbox").more(),
    middle("registers that the processor refuses", "crash.sh bad_state").more(),
    middle("machine checks on cores", "checks.sh machine_checks").with_cpus(2, 1, 2).more(),
    middle("the co-kernel dies again and again", "crash.sh repeated").more(),
    oldest("killed for its group's memory", "oom.sh group"),
    newest("killed for the node's memory", "oom.sh node").more(),
    newest("the door, closed and opened to a group", "users.sh door"),
    oldest("other users' programs", "users.sh others").more(),
    middle("guarded programs", "users.sh guarded").more(),
    middle("privileged programs of users", "users.sh privileged"),
    newest("a control group's time", "users.sh group_time").more(),
    middle("images that nobody has verified", "users.sh images").booted_with("lsm=lockdown,yama").more(),
    newest("a node with Secure Boot", "users.sh secure_boot").with_secure_boot().more(),
    middle("a container's pids", "users.sh namespaces"),
    oldest("how much of a core's stack is used", "users.sh stack"),
    newest("users kept apart", "users.sh apart").booted_with("init_on_alloc=0").more(),
    middle("tasks that are not hosted pay nothing", "strangers.sh pay_nothing"),
    oldest("calls of strangers that matter", "strangers.sh are_heard"),
    newest("another tracer of system calls", "strangers.sh are_traced"),
    oldest("gdb on a hosted program", "debug.sh debugger"),
    middle("gdb on hosted threads", "debug.sh threads_debugged").more(),
    newest("strace on a hosted program", "debug.sh tracer"),
    oldest("CPU time as top shows it", "debug.sh times").more(),
    newest("a core file", "debug.sh core_file"),
    newest("changed tables and a core that waits", "pressure.sh resting_core"),
    oldest("pages moved under a hosted program", "pressure.sh stale_translations").within(600).more(),
    newest("the user programs, hosted", "suite.sh exact").within(900),
    middle("the user programs in the partition's memory alone", "suite.sh in_own_memory").within(1500).more(),
    newest("the user programs in bursts of calls", "suite.sh in_bursts").within(1500).more(),
    oldest("the user programs in Linux's memory", "suite.sh in_linux_memory").within(1500).more(),
    each("registers that stay on the core during a call", "suite.sh registers"),
    rarely("the user programs without their children", "suite.sh alone").within(1500),
    rarely("the user programs in locked memory", "suite.sh locked").within(1500),
    oldest("anonymous memory from the partition", "memory.sh anonymous"),
    newest("a program's data from the partition", "memory.sh data").within(900).more(),
    middle("damaged programs with data from the partition", "memory.sh images").within(1200).more(),
    middle("the largest page of the partition's memory", "memory.sh largest_page").with_memory(8192).more(),
    newest("rights of the partition's memory", "memory.sh rights"),
    middle("stacks that are given back", "memory.sh stacks"),
    oldest("children with their parent's memory", "memory.sh strangers"),
    oldest("memory that Linux has no room for", "memory.sh roomless").more(),
    middle("memory that a control group has no room for", "memory.sh roomless_group").more(),
    oldest("a range's number that another program gets", "memory.sh numbers").more(),
    oldest("NUMA policies of the partition's memory", "memory.sh nodes")
        .with_cpus(2, 2, 1)
        .with_memory_nodes(2)
        .booted_with("movablecore=600M")
        .more(),
    newest("killed with memory of the partition", "memory.sh killed").within(900).more(),
    oldest("back to Linux with memory of the partition", "memory.sh left"),
    oldest("back to Linux while threads fork", "memory.sh forks_and_leaves"),
    middle("a core file with memory of the partition", "memory.sh core_files").more(),
    middle("real programs", "suite.sh programs").within(1500).more(),
    newest("allocators, runtimes and codes", "suite.sh computing").within(1500).more(),
    oldest("stress-ng verifies what it stresses", "suite.sh stress").within(1500).more(),
    rarely("Python's own tests", "suite.sh python").within(1500),
    newest("hostile input from root", "fuzz.sh root").within(900).more(),
    oldest("hostile input from a user", "fuzz.sh user").within(900).more(),
    each("calls at the edges of their arguments", "fuzz.sh calls").more(),
    newest("up and down under load", "partition.sh cycles").within(1200).more(),
    newest("killed at random instants", "kills.sh random").within(1200).more(),
    newest("every countermeasure on and off", "tune.sh everything"),
    middle("countermeasures killed halfway", "tune.sh killed").more(),
    oldest("countermeasures killed at each call", "tune.sh stepped").within(1200).more(),
    middle("countermeasures by sockets and cores", "tune.sh shaped").with_cpus(2, 2, 2).with_memory_nodes(2).more(),
    middle("countermeasures interrupted", "tune.sh interrupted").within(1200).more(),
    oldest("countermeasures for two jobs", "tune.sh two_jobs"),
    middle("countermeasures under systemd", "tune.sh systemd").with_systemd().more(),
    middle("countermeasures beside a service manager that reloads", "beside.sh reloaded")
        .with_systemd()
        .after_others()
        .more(),
    middle("countermeasures beside other programs and devices", "beside.sh others").more(),
    oldest("countermeasures beside CPUs that may come", "beside.sh possible").with_nvme().with_empty_sockets(9).more(),
    rarely("countermeasures ablated", "tune.sh ablation"),
    rarely("noise made on purpose vanishes", "ablation.sh vanish").in_turn(),
    rarely("noise of Linux's settings vanishes", "settings.sh vanish").in_turn(),
    rarely("no tick with its countermeasure", "ablation.sh tick").booted_with("nohz_full=2-3").in_turn(),
    rarely("a program compared on each rung", "compare.sh rungs").only_newest().in_turn().within(900),
    oldest("queue pairs of an NVMe disk", "nvme.sh pairs").with_nvme().more(),
    oldest("Linux's function tracer and an NVMe disk", "nvme.sh deaf").with_nvme(),
    newest("cores read and write an NVMe disk", "nvme.sh served").with_nvme(),
    newest("threads of a core share an NVMe disk", "nvme.sh shared_cores").with_nvme().more(),
    oldest("bounds of a granted partition", "nvme.sh bounds").with_nvme(),
    newest("ends of grants", "nvme.sh revoked").with_nvme(),
    newest("descriptors of a granted disk, as others have them", "nvme.sh tables").with_nvme(),
    newest("the page cache beside a core that writes", "nvme.sh beside_cache").with_nvme(),
    newest("calls on an NVMe disk are those of Linux", "nvme.sh as_on_linux").with_nvme(),
    rarely("killed with commands of an NVMe disk in flight", "nvme_storms.sh kills").with_nvme(),
    rarely("a core dies with commands of an NVMe disk in flight", "nvme_storms.sh deaths").with_nvme(),
    rarely("moved to Linux with commands of an NVMe disk in flight", "nvme_storms.sh handovers").with_nvme(),
    rarely("an NVMe disk reset with commands in flight", "nvme_storms.sh resets").with_nvme(),
    rarely("an NVMe disk taken away with commands in flight", "nvme_storms.sh removals").with_nvme().within(1800),
    middle("a disk reset, and down, with 32 commands of each of four cores", "nvme_flights.sh resets")
        .with_nvme_and_six_cpus()
        .within(1200)
        .more(),
    middle("a disk that is changed with 32 commands of a core", "nvme_flights.sh freezes")
        .with_nvme_and_six_cpus()
        .more(),
    rarely("a partition ends with 32 commands of each of four cores", "nvme_flights.sh downs").with_nvme_and_six_cpus(),
    rarely("a disk that does not complete commands", "nvme_flights.sh hangs").with_nvme_and_six_cpus(),
    oldest("fio verifies an NVMe disk", "nvme_programs.sh fio_verifies").with_nvme().more(),
    middle("an NVMe disk is reset", "nvme.sh resets").with_nvme().more(),
    oldest("a log of records on a raw NVMe disk, killed", "nvme_programs.sh store").with_nvme().within(1800).more(),
    // Linux 7.3 itself loses interrupts of a disk that is reset while CPUs are offline (CAVEATS.md).
    oldest("an NVMe disk goes and comes", "nvme.sh removals").with_nvme().only_older().more(),
    newest("namespaces of an NVMe disk", "nvme_life.sh namespaces").with_more_nvme().more(),
    newest("a namespace that is formatted", "nvme_life.sh formatted").with_more_nvme().more(),
    newest("NVMe disks with too few queues", "nvme_life.sh few_queues").with_more_nvme().more(),
    newest("an NVMe disk of which Linux takes more queues", "nvme_life.sh more_queues").with_more_nvme().more(),
    rarely("an NVMe disk pulled out with commands in flight", "nvme_storms.sh pulled").with_more_nvme().only_older(),
    newest("an NVMe disk behind a strict IOMMU", "nvme_iommu.sh behind_iommu")
        .with_nvme()
        .with_iommu("intel_iommu=on iommu.strict=1 iommu.passthrough=0")
        .more(),
    rarely("an NVMe disk that an IOMMU lets pass", "nvme_iommu.sh passed_through")
        .with_nvme()
        .with_iommu("intel_iommu=on iommu.passthrough=1"),
    newest("an NVMe disk's virtual function behind a strict IOMMU", "nvme_virtual.sh virtual")
        .with_virtual_nvme()
        .with_iommu("intel_iommu=on iommu.strict=1 iommu.passthrough=0")
        .more(),
    rarely("fio verifies an NVMe disk behind a strict IOMMU", "nvme_programs.sh fio_verifies")
        .with_nvme()
        .with_iommu("intel_iommu=on iommu.strict=1 iommu.passthrough=0"),
    rarely("fio verifies an NVMe disk's virtual function", "nvme_programs.sh fio_virtual").with_virtual_nvme(),
    middle("a virtual function, and its disk is reset", "nvme_virtual.sh physical_reset")
        .with_virtual_nvme()
        .only_older()
        .more(),
    middle("two virtual functions of a disk", "nvme_virtual.sh two_functions").with_virtual_nvme().more(),
    oldest("a namespace is detached from a virtual function, and from its disk", "nvme_virtual.sh detached")
        .with_virtual_nvme()
        .more(),
    oldest("a virtual function goes", "nvme_virtual.sh taken_away").with_virtual_nvme().more(),
    newest("noise named", "noise.sh named").in_turn().more(),
    middle("noise of a quota, and of a CPU that leaves", "noise.sh stopped"),
    middle("noise named: devices and the tick", "noise.sh more_named").in_turn().more(),
    middle("noise named: programs on other CPUs", "noise.sh elsewhere").in_turn().after_others().more(),
    newest("noise named: timers of a CPU without a tick", "noise.sh deadline")
        .booted_with("nohz_full=3 isolcpus=3 rcu_nocbs=3")
        .in_turn()
        .more(),
    oldest("HPL on a kernel without sched_ext", "sched.sh unsupported").only_older(),
    hpl("HPL refuses impossible choices", "sched.sh choices").in_turn().more(),
    hpl("HPL's programs stay small for the verifier", "sched.sh budget").in_turn().after_others().more(),
    hpl("HPL's start interrupted", "sched.sh interrupted").in_turn().more(),
    hpl("HPL keeps named shells usable", "sched.sh kept").in_turn().after_others().more(),
    hpl("policies as tools see them", "sched.sh policies").in_turn().after_others().more(),
    hpl("HPL places on 1 package, 1 core, 2 threads", "sched.sh placement").with_cpus(1, 1, 2).in_turn(),
    hpl("HPC tasks take turns, and a woken one runs first", "sched.sh turns")
        .with_cpus(1, 1, 2)
        .in_turn()
        .after_others(),
    hpl_rarely("HPL places on 1 package, 2 cores, 2 threads", "sched.sh placement").with_cpus(1, 2, 2),
    hpl_rarely("HPL places on 4 packages, 1 core, 1 thread", "sched.sh placement").with_cpus(4, 1, 1),
    hpl_rarely("HPL places on 2 packages, 2 cores, 2 threads", "sched.sh placement").with_cpus(2, 2, 2),
    hpl_rarely("HPL places on 1 package, 2 cores, 4 threads", "sched.sh placement").with_cpus(1, 2, 4),
    hpl_rarely("HPL places on 1 package, 2 caches, 2 cores at each", "sched.sh placement_at_caches")
        .with_cpus(1, 2, 1)
        .with_dies(2),
    hpl_rarely("HPL places by a random schedule", "sched.sh schedules").with_cpus(2, 1, 2),
    hpl_rarely("HPL's members and their children", "sched.sh membership").with_cpus(2, 1, 2).in_turn(),
    hpl_rarely("CPUs go offline while HPC tasks compute on all", "sched.sh hotplug").with_cpus(1, 2, 2),
    rarely("HPL ends, again and again", "sched.sh ends").only_newest(),
    hpl_rarely("HPL's loader killed", "sched.sh death").with_cpus(1, 2, 2),
    hpl_rarely("HPL's trickle and the kernel's watchdog", "sched.sh trickle").with_cpus(1, 2, 2),
    hpl_rarely("HPL's trickle stays within its time", "sched.sh trickle_in_time")
        .with_cpus(1, 2, 2)
        .counted()
        .within(900),
    hpl_rarely("HPL in a storm of forks, and under real time", "sched.sh load").with_cpus(1, 2, 2),
    hpl_rarely("HPL beside a real-time program that computes", "sched.sh real_time_hog"),
    hpl_rarely("HPL beside affinities and CPUs that change", "sched.sh changes").booted_with("nohz_full=3"),
    hpl_rarely("mpiexec never occupies a rank's core", "sched.sh launchers").with_cpus(2, 2, 2),
    hpl_rarely("an HPC task on a CPU without a tick", "sched.sh tickless").booted_with("nohz_full=1-3"),
    oldest("power-off with programs running", "hotplug.sh power_off").powers_off(),
    middle("reboot with programs running", "hotplug.sh restart").powers_off().more(),
    rarely("a panic with programs running", "hotplug.sh panic").panics().only_newest(),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn count(kernels: &[KernelLine], everything: bool) -> usize {
        SCENARIOS.iter().map(|scenario| scenario.on(kernels, everything).len()).sum()
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SCENARIOS.len());
    }

    #[test]
    fn by_default_each_scenario_runs_on_one_kernel_and_some_on_each() {
        let of = |place: fn(&Place) -> bool| SCENARIOS.iter().filter(|scenario| place(&scenario.place)).count();
        let (one, each) = (of(|place| matches!(place, Place::One(_))), of(|place| *place == Place::Each));
        assert!((1..=3).contains(&each), "{each} scenarios run on each kernel");
        assert_eq!(count(&KernelLine::ALL, false), one + 3 * each);
    }

    #[test]
    fn each_kernel_has_a_fair_share() {
        let usual = SCENARIOS.iter().filter(|scenario| scenario.machine.module);
        let shares = KernelLine::ALL.map(|kernel| {
            usual.clone().filter(|scenario| scenario.on(&KernelLine::ALL, false).contains(&kernel)).count()
        });
        let (least, most) = (shares.iter().min(), shares.iter().max());
        assert!(least.zip(most).is_some_and(|(least, most)| most - least <= 6), "{shares:?}");
    }

    #[test]
    fn everything_is_every_kernel_that_can_run_it() {
        let all = SCENARIOS.iter().map(|scenario| match scenario.kernels {
            crate::scenario::Kernels::All => 3,
            crate::scenario::Kernels::Older => 2,
            crate::scenario::Kernels::Newest => 1,
        });
        assert_eq!(count(&KernelLine::ALL, true), all.sum::<usize>());
    }
}
