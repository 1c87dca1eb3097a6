// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All scenarios, in the order in which a mistake is cheapest to find.

use crate::scenario::Scenario;

/// HPL works without any other part: also on kernels for which there is no module (`other_kernel.sh`).
const fn hpl(name: &'static str, script: &'static str) -> Scenario {
    Scenario::new(name, script).newest().without_module()
}

pub const SCENARIOS: &[Scenario] = &[
    Scenario::new("up and down with every choice of CPUs", "partition.sh choices"),
    Scenario::new("a start that fails at every step", "partition.sh steps"),
    Scenario::new("a CPU that does not come up", "partition.sh silent"),
    Scenario::new("requests that cannot be met", "partition.sh refusals").middle(),
    Scenario::new("memory that cannot be had", "partition.sh memory"),
    Scenario::new("others put a taken CPU online", "hotplug.sh foreign"),
    Scenario::new("other CPUs go and come", "hotplug.sh others"),
    Scenario::new("suspend", "hotplug.sh suspend"),
    Scenario::new("the module unloaded", "hotplug.sh unload"),
    Scenario::new("decoupled and recoupled under load", "moves.sh there_and_back"),
    Scenario::new("decoupled with many threads", "moves.sh many_threads"),
    Scenario::new("decoupled while born and while ending", "moves.sh births_and_deaths"),
    Scenario::new("files of processes while the partition goes", "moves.sh files_going").middle(),
    Scenario::new("stopped and continued", "moves.sh stop_and_go_on").middle(),
    Scenario::new("children, with and without --follow", "moves.sh children"),
    Scenario::new("hosted through execve", "moves.sh execute").middle(),
    Scenario::new("the files of the Decoupled paper", "moves.sh files"),
    Scenario::new("more threads than cores", "moves.sh crowd"),
    Scenario::new("threads that are bound, and ranks that divide", "moves.sh bound").middle(),
    Scenario::new("a profile of a program that has ended", "profile.sh at_end").newest(),
    Scenario::new("a profile of a program that runs", "profile.sh while_it_runs").middle(),
    Scenario::new("the co-kernel fails a check", "crash.sh panic"),
    Scenario::new("the co-kernel uses a wild pointer", "crash.sh wild_pointer"),
    Scenario::new("the co-kernel hangs", "crash.sh hang"),
    Scenario::new("the co-kernel corrupts an index", "crash.sh corrupt_index"),
    Scenario::new("the co-kernel names a context that is none", "crash.sh bogus_entry").middle(),
    Scenario::new("a core whose outbox is full", "crash.sh full_outbox"),
    Scenario::new("the co-kernel dies again and again", "crash.sh repeated").middle(),
    Scenario::new("killed for its group's memory", "oom.sh group"),
    Scenario::new("killed for the node's memory", "oom.sh node").middle(),
    Scenario::new("the door, closed and opened to a group", "users.sh door"),
    Scenario::new("other users' programs", "users.sh others"),
    Scenario::new("guarded programs", "users.sh guarded"),
    Scenario::new("a container's pids", "users.sh namespaces").middle(),
    Scenario::new("gdb on a hosted program", "debug.sh debugger"),
    Scenario::new("gdb on hosted threads", "debug.sh threads_debugged").middle(),
    Scenario::new("strace on a hosted program", "debug.sh tracer"),
    Scenario::new("CPU time as top shows it", "debug.sh times"),
    Scenario::new("a core file", "debug.sh core_file").middle(),
    Scenario::new("pages moved under a hosted program", "pressure.sh stale_translations").within(600),
    Scenario::new("the user programs, hosted", "suite.sh exact").within(900),
    Scenario::new("the user programs in the partition's memory alone", "suite.sh in_own_memory").middle().within(1500),
    Scenario::new("the user programs in Linux's memory", "suite.sh in_linux_memory").middle().within(1500),
    Scenario::new("the user programs without their children", "suite.sh alone").middle().rarely().within(1500),
    Scenario::new("the user programs in locked memory", "suite.sh locked").middle().rarely().within(1500),
    Scenario::new("anonymous memory from the partition", "memory.sh anonymous"),
    Scenario::new("a program's data from the partition", "memory.sh data").within(900),
    Scenario::new("damaged programs with data from the partition", "memory.sh images").middle().within(1200),
    Scenario::new("the largest page of the partition's memory", "memory.sh largest_page").middle().with_memory(8192),
    Scenario::new("rights of the partition's memory", "memory.sh rights"),
    Scenario::new("stacks that are given back", "memory.sh stacks").middle(),
    Scenario::new("NUMA policies of the partition's memory", "memory.sh nodes").on(2, 2, 1).with_memory_nodes(2),
    Scenario::new("killed with memory of the partition", "memory.sh killed").middle().within(900),
    Scenario::new("back to Linux with memory of the partition", "memory.sh left").middle(),
    Scenario::new("a core file with memory of the partition", "memory.sh core_files").middle(),
    Scenario::new("real programs", "suite.sh programs").middle().within(1500),
    Scenario::new("allocators, runtimes and codes that programs bring along", "suite.sh computing")
        .middle()
        .within(1500),
    Scenario::new("stress-ng verifies what it stresses", "suite.sh stress").middle().within(1500),
    Scenario::new("Python's own tests", "suite.sh python").middle().within(1500),
    Scenario::new("hostile input from root", "fuzz.sh root").within(900),
    Scenario::new("hostile input from a user", "fuzz.sh user").within(900),
    Scenario::new("up and down under load", "partition.sh cycles").within(1200),
    Scenario::new("killed at random instants", "kills.sh random").within(1200),
    Scenario::new("every countermeasure on and off", "tune.sh everything"),
    Scenario::new("countermeasures killed halfway", "tune.sh killed").middle(),
    Scenario::new("countermeasures killed at each call", "tune.sh stepped").middle().within(1200),
    Scenario::new("countermeasures by sockets and cores", "tune.sh shaped").middle().on(2, 2, 2).with_memory_nodes(2),
    Scenario::new("countermeasures for two jobs", "tune.sh two_jobs").middle(),
    Scenario::new("countermeasures under systemd", "tune.sh systemd").middle().with_systemd(),
    Scenario::new("countermeasures ablated", "tune.sh ablation").middle().rarely(),
    Scenario::new("noise made on purpose vanishes", "ablation.sh vanish").rarely().in_turn(),
    Scenario::new("noise of Linux's settings vanishes", "settings.sh vanish").rarely().in_turn(),
    Scenario::new("no tick with its countermeasure", "ablation.sh tick")
        .middle()
        .rarely()
        .booted_with("nohz_full=2-3")
        .in_turn(),
    Scenario::new("a program compared on each rung", "compare.sh rungs").newest().rarely().in_turn().within(900),
    Scenario::new("noise named", "noise.sh named").outer().in_turn(),
    Scenario::new("noise named, and more of it", "noise.sh more_named").middle().in_turn(),
    Scenario::new("HPL on a kernel without sched_ext", "sched.sh unsupported").older(),
    hpl("HPL refuses what cannot be", "sched.sh choices").in_turn(),
    hpl("HPL places on 1 package, 1 core, 2 threads", "sched.sh placement").on(1, 1, 2).in_turn(),
    hpl("HPL places on 1 package, 2 cores, 2 threads", "sched.sh placement").rarely().on(1, 2, 2),
    hpl("HPL places on 4 packages, 1 core, 1 thread", "sched.sh placement").rarely().on(4, 1, 1),
    hpl("HPL places on 2 packages, 2 cores, 2 threads", "sched.sh placement").rarely().on(2, 2, 2),
    hpl("HPL places on 1 package, 2 cores, 4 threads", "sched.sh placement").rarely().on(1, 2, 4),
    hpl("HPL places on 1 package, 2 caches, 2 cores at each", "sched.sh placement_at_caches")
        .rarely()
        .on(1, 2, 1)
        .with_dies(2),
    hpl("HPL places by a random schedule", "sched.sh schedules").rarely().on(2, 1, 2),
    hpl("HPL's members and their children", "sched.sh membership").rarely().on(2, 1, 2).in_turn(),
    hpl("CPUs go while HPC tasks compute on all", "sched.sh hotplug").rarely().on(1, 2, 2),
    hpl("HPL's loader killed", "sched.sh death").rarely().on(1, 2, 2),
    hpl("HPL's trickle and the kernel's watchdog", "sched.sh trickle").rarely().on(1, 2, 2),
    hpl("HPL's trickle takes no more than its time", "sched.sh trickle_in_time")
        .rarely()
        .on(1, 2, 2)
        .counted()
        .within(900),
    hpl("HPL in a storm of forks, and under real time", "sched.sh load").rarely().on(1, 2, 2),
    hpl("HPL's programs stay small for the verifier", "sched.sh budget").in_turn(),
    hpl("mpiexec keeps no rank from a core", "sched.sh launchers").rarely().on(2, 2, 2),
    hpl("HPC tasks take turns; who wakes goes first", "sched.sh turns").on(1, 1, 2).in_turn(),
    hpl("an HPC task on a CPU without a tick", "sched.sh tickless").rarely().booted_with("nohz_full=1-3"),
    Scenario::new("power-off with programs running", "hotplug.sh power_off").powers_off(),
    Scenario::new("reboot with programs running", "hotplug.sh restart").middle().powers_off(),
];
