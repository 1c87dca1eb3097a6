// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cases from public bug reports of similar tools: masks of many possible CPUs, interrupts that have not moved, other
//! programs' affinities, limits of huge pages, and what an export holds.

mod fake;

use fake::{Fake, everything, job};
use tacet_tune::apply::{Done, Event, reconcile};
use tacet_tune::claim::{Claim, Owner, choose};
use tacet_tune::export;
use tacet_tune::journal::{Journal, State};
use tacet_tune::plan::Plan;
use tacet_tune::verify::{self, Verdict};

fn to(node: &Fake, claims: &[Claim]) -> Done {
    reconcile(node, Journal::open(node).unwrap(), claims).unwrap()
}

fn verdict(node: &Fake) -> Verdict {
    verify::verify(node, &verify::applied(node).unwrap()).unwrap()
}

fn only(words: &[&str], cpus: &str) -> Claim {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    Claim { owner: Owner::Node, cpus: cpus.parse().unwrap(), measures: choose(&words, &[], &[]).unwrap() }
}

fn texts(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| format!("{}: {}", event.object, event.text)).collect()
}

/// A machine with more possible CPUs than online ones shows masks in words, with bits of CPUs that do not exist.
#[test]
fn many_possible_cpus_are_no_drift() {
    let node = Fake::node();
    let masks = [
        "/proc/irq/default_smp_affinity",
        "/sys/devices/virtual/workqueue/cpumask",
        "/sys/devices/virtual/workqueue/writeback/cpumask",
        "/fake/workqueue_requested",
    ];
    for path in masks {
        node.set(path, "ff,ffffffff\n");
    }
    node.set("/proc/irq/24/smp_affinity_list", "0-39\n");
    for thread in [2, 3, 5, 7] {
        allow(&node, thread, "0-39");
    }
    let before = node.snapshot();
    let claim = everything(Owner::Node, "4-7");
    to(&node, std::slice::from_ref(&claim));
    assert_eq!(node.get("/proc/irq/default_smp_affinity"), "ff,ffffff0f\n");
    assert_eq!(node.get("/proc/irq/24/smp_affinity_list"), "0-3,8-39\n");
    assert!(node.get("/proc/3/status").contains("\t0-3\n"));
    let found = verdict(&node);
    assert!(found.holds() && found.new.is_empty(), "{found:?}");
    let state = verify::applied(&node).unwrap();
    let again = Plan::make(&node, &state, &[claim]).unwrap();
    let open: Vec<_> = again.parts.iter().flat_map(|part| part.open()).map(|step| &step.change.object).collect();
    assert!(open.iter().all(|object| state.refused.contains(object)), "{open:?}");
    let done = to(&node, &[]);
    assert!(done.not_restored.is_empty(), "{done:?}");
    for thread in [2, 3, 5, 7] {
        assert!(node.get(&format!("/proc/{thread}/status")).contains("\t0-7\n"), "all that are online");
        allow(&node, thread, "0-39");
    }
    assert_eq!(node.differs(&before), None);
}

/// A managed interrupt is named once, as such, with what to boot with; it is no drift.
#[test]
fn managed_interrupts_are_named_with_their_remedy() {
    let node = Fake::node();
    node.set("/proc/irq/9/effective_affinity_list", "5\n");
    to(&node, &[only(&["interrupts"], "4-7")]);
    let found = verdict(&node);
    assert!(found.holds() && found.pending.is_empty(), "{found:?}");
    let said = texts(&found.refused);
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with(fake::MANAGED) && said[0].contains("boot with isolcpus=managed_irq,4-7"), "{said:?}");
}

/// The file says where an interrupt may go; it moves only when it next fires.
#[test]
fn an_interrupt_that_has_not_moved_is_pending() {
    const EFFECTIVE: &str = "/proc/irq/24/effective_affinity_list";
    let node = Fake::node();
    node.set(EFFECTIVE, "5\n");
    node.set("/proc/irq/0/effective_affinity_list", "0\n");
    let done = to(&node, &[only(&["interrupts"], "4-7")]);
    let named = ["/proc/irq/24/smp_affinity_list: its next one comes to CPU 5"];
    assert_eq!(texts(&done.pending), named);
    assert_eq!(texts(&verdict(&node).pending), named);
    node.set(EFFECTIVE, "1\n");
    assert!(verdict(&node).pending.is_empty());
    assert!(to(&node, &[]).pending.is_empty(), "nobody's CPUs are left");
}

/// An interrupt that comes back, or that fires and stays, is more than one that is late: the status says so.
#[test]
fn an_interrupt_that_comes_back_has_drifted() {
    let effective = |number: u32| format!("/proc/irq/{number}/effective_affinity_list");
    let (node, claim) = (Fake::node(), only(&["interrupts"], "4-7"));
    node.set(&effective(24), "5\n");
    let counts = |counts: &str| node.set("/sys/kernel/irq/24/per_cpu_count", counts);
    counts("7,0,0,0,0,3,0,0\n");
    to(&node, std::slice::from_ref(&claim));
    assert!(verdict(&node).holds(), "it is late, as apply said");
    counts("7,0,0,0,0,5,0,0\n");
    let found = verdict(&node);
    assert_eq!(texts(&found.drifted), ["/proc/irq/24/smp_affinity_list: its next one comes to CPU 5"]);
    assert!(found.pending.is_empty());
    node.set(&effective(24), "0\n");
    node.set(&effective(26), "6-7\n");
    let found = verdict(&node);
    assert_eq!(texts(&found.drifted), ["/proc/irq/26/smp_affinity_list: its next one comes to CPUs 6-7"]);
    assert!(!found.holds());
    to(&node, &[claim]);
    assert!(verdict(&node).holds(), "told at the second apply");
}

/// Nothing moves threads within an isolated partition; with `balance` Linux does, and the mask of the kernel's workers
/// is ours to set, because the kernel does not count these CPUs as isolated.
#[test]
fn a_balanced_partition() {
    let node = Fake::node();
    to(&node, &[only(&["partition", "balance", "workqueues"], "4-7")]);
    assert_eq!(node.get("/sys/fs/cgroup/tacet/cpuset.cpus.partition"), "root\n");
    assert_eq!(node.get("/sys/devices/virtual/workqueue/cpumask"), "0000000f\n");
    assert!(verdict(&node).holds());
    to(&node, &[only(&["partition", "workqueues"], "4-7")]);
    assert_eq!(node.get("/sys/fs/cgroup/tacet/cpuset.cpus.partition"), "isolated\n");
    to(&node, &[]);
    assert_eq!(node.differs(&Fake::node().snapshot()), None);
}

/// Programs 50 and 51 at 0-7, 52 at 5, 53 at 2: the second and the third are not as before when the partition ends.
fn programs(node: &Fake) {
    for (id, cpus) in [(50, "0-7"), (51, "0-7"), (52, "5"), (53, "2")] {
        node.set(
            &format!("/proc/{id}/stat"),
            &format!("{id} (p{id}) S 0 0 0 0 0 4194304 0 0 0 0 0 0 0 0 0 0 0 0 9{id} 0 0\n"),
        );
        allow(node, id, cpus);
    }
}

fn allow(node: &Fake, id: u32, cpus: &str) {
    node.set(&format!("/proc/{id}/status"), &format!("Name:\tp\nCpus_allowed_list:\t{cpus}\n"));
}

#[test]
fn programs_that_lost_their_affinity_are_named() {
    for (kernel, why) in [("7.3.1-test", "it was set anew meanwhile"), ("6.1.0-test", "this kernel forgets")] {
        let node = Fake::node();
        node.set("/proc/sys/kernel/osrelease", kernel);
        programs(&node);
        to(&node, &[only(&["partition"], "4-7")]);
        allow(&node, 51, "0-3");
        allow(&node, 52, "0-7");
        // it ended, and another program has its number
        node.set("/proc/53/stat", "53 (new) S 0 0 0 0 0 4194304 0 0 0 0 0 0 0 0 0 0 0 0 1000 0 0\n");
        allow(&node, 53, "0-1");
        let said = texts(&to(&node, &[]).not_restored);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("affinity of p51 (51): 0-3, was 0-7: it set again what it saw"), "{said:?}");
        assert!(said[1].starts_with("affinity of p52 (52): 0-7, was 5: ") && said[1].contains(why), "{said:?}");
        assert!(!node.has_journal());
    }
}

/// A program that bound itself to a CPU of its own choice lost nothing.
#[test]
fn a_program_that_chose_is_not_named() {
    let node = Fake::node();
    programs(&node);
    to(&node, &[only(&["partition"], "4-7")]);
    allow(&node, 50, "3");
    allow(&node, 51, "6");
    assert!(to(&node, &[]).not_restored.is_empty());
}

/// The first job's record serves until the last partition ends, whatever is appended to the journal meanwhile.
#[test]
fn the_last_job_names_what_the_first_took() {
    let node = Fake::node();
    programs(&node);
    let (a, b) = (job("a", "4-5"), job("b", "6-7"));
    to(&node, std::slice::from_ref(&a));
    to(&node, &[a, b.clone()]);
    allow(&node, 51, "0-3");
    assert!(to(&node, &[b]).not_restored.is_empty(), "a partition is left");
    assert_eq!(texts(&to(&node, &[]).not_restored).len(), 1);
}

/// `mmap` must refuse pages beyond the limit; a limit of charges alone ends the program at the first touch.
#[test]
fn huge_pages_are_refused_when_they_are_asked_for() {
    let node = Fake::node();
    let with = |id: &str, cpus: &str, pages: &str| Claim {
        owner: id.parse().unwrap(),
        ..only(&["partition", &format!("huge-pages={pages}")], cpus)
    };
    to(&node, &[with("a", "2-3", "8"), with("b", "4-5", "16")]);
    for (job, bytes) in [("a", "16777216\n"), ("b", "33554432\n")] {
        for limit in ["max", "rsvd.max"] {
            assert_eq!(
                node.get(&format!("/sys/fs/cgroup/tacet-job-{job}/hugetlb.2MB.{limit}")),
                bytes,
                "{job} {limit}"
            );
        }
    }
    let all = node.get("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages");
    assert_eq!(all, "24\n", "each job may have its own pages beside the other's");
}

/// An export binds the units that the plan binds.
#[test]
fn an_export_binds_no_unit_that_the_plan_leaves() {
    let node = Fake::node();
    let paths = |words: &[&str]| {
        let plan = Plan::make(&node, &State::default(), &[only(words, "4-7")]).unwrap();
        let units = export::systemd(&plan).into_iter().filter(|file| file.path.starts_with("systemd/"));
        units
            .map(|file| (file.path, file.text.lines().skip_while(|line| line.starts_with('#')).collect::<String>()))
            .collect::<Vec<_>>()
    };
    let of =
        |unit: &str, kind: &str| (format!("systemd/system/{unit}.d/90-tacet.conf"), format!("[{kind}]AllowedCPUs=0-3"));
    assert_eq!(paths(&["vmstat"]), []);
    let scope = of("init.scope", "Scope");
    assert_eq!(paths(&["slices"]), [scope, of("system.slice", "Slice"), of("user.slice", "Slice")]);
}

/// A program whose cgroup became wider, or narrower, while the partition was there follows its cgroup: nobody took that
/// from it. A program with an affinity of its own in the same group is named.
#[test]
fn what_a_programs_own_cgroup_did_is_no_loss() {
    for kernel in ["7.3.1-test", "6.1.0-test"] {
        for (first, last) in [("1-3", "0-7"), ("1-7", "1-3")] {
            let node = Fake::node();
            node.set("/proc/sys/kernel/osrelease", kernel);
            programs(&node);
            let cpus = |cpus: &str| {
                node.set("/sys/fs/cgroup/box/cpuset.cpus.effective", &format!("{cpus}\n"));
                [50, 51].iter().for_each(|id| allow(&node, *id, cpus));
            };
            node.set("/proc/50/cgroup", "0::/box\n");
            // its own group has no list: that of the group above counts
            node.set("/proc/51/cgroup", "0::/box/inner\n");
            node.set("/proc/52/cgroup", "0::/box\n");
            cpus(first);
            to(&node, &[only(&["partition"], "4-7")]);
            cpus(last);
            allow(&node, 52, "0-7");
            let said = texts(&to(&node, &[]).not_restored);
            assert_eq!(said.len(), 1, "{kernel} {first} {last}: {said:?}");
            assert!(said[0].starts_with("affinity of p52 (52): 0-7, was 5: "), "{said:?}");
        }
    }
}
