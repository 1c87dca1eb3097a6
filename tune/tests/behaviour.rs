// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Plan, apply, verify and undo in the face of refusals, changes by others, reboots and damage.

mod fake;

use fake::{Fake, MANAGED, everything, job};
use tacet_tune::apply::{Done, Event, reconcile};
use tacet_tune::claim::{Claim, Owner};
use tacet_tune::journal::{JOURNAL, Journal, State};
use tacet_tune::plan::Plan;
use tacet_tune::verify;

const STAT: &str = "/proc/sys/vm/stat_interval";

fn to(node: &Fake, claims: &[Claim]) -> Done {
    reconcile(node, Journal::open(node).unwrap(), claims).unwrap()
}

fn applied() -> Fake {
    let node = Fake::node();
    to(&node, &[everything(Owner::Node, "4-7")]);
    node
}

fn verdict(node: &Fake) -> verify::Verdict {
    verify::verify(node, &verify::applied(node).unwrap()).unwrap()
}

#[test]
fn a_plan_writes_nothing_and_is_what_is_done() {
    let (node, untouched) = (Fake::node(), Fake::node());
    let claims = [everything(Owner::Node, "4-7")];
    let plan = Plan::make(&node, &State::default(), &claims).unwrap();
    assert_eq!(node.differs(&untouched.snapshot()), None);
    assert_eq!(plan.boot_line, "nohz_full=4-7 rcu_nocbs=4-7 tsc=reliable");
    let planned: Vec<String> =
        plan.parts.iter().flat_map(|part| part.open()).map(|step| step.change.object.to_string()).collect();
    let done = to(&node, &claims);
    for event in done.changed.iter().chain(&done.kept) {
        assert!(planned.contains(&event.object.to_string()), "{event:?} was not planned");
    }
    assert!(done.refused.is_empty(), "{:?}", done.refused);
    assert_eq!(node.get("/proc/irq/24/smp_affinity_list"), "0-3\n");
    assert_eq!(node.get("/proc/irq/25/smp_affinity_list"), "0-3\n", "it had no other CPU");
    assert_eq!(node.get("/proc/irq/26/smp_affinity_list"), "0-3\n");
    assert_eq!(node.get("/sys/fs/cgroup/tacet/cpuset.mems"), "1\n");
    assert_eq!(node.get("/sys/fs/resctrl/schemata"), "    MB:0= 50;1= 50\n    L3:0=003;1=003\n");
    assert_eq!(node.get("/sys/fs/resctrl/tacet/schemata"), "    MB:0=100;1=100\n    L3:0=ffc;1=ffc\n");
    assert_eq!(node.get("/sys/fs/cgroup/cgroup.subtree_control"), "cpu cpuset hugetlb memory\n");
    assert_eq!(node.get("/sys/fs/cgroup/tacet/memory.low"), "1073741824\n");
    for limit in ["hugetlb.2MB.max", "hugetlb.2MB.rsvd.max"] {
        assert_eq!(node.get(&format!("/sys/fs/cgroup/tacet/{limit}")), "2147483648\n", "{limit}");
    }
    assert_eq!(node.get("/sys/fs/cgroup/system.slice/collectd.service/cgroup.freeze"), "1\n");
    assert_eq!(node.get("/sys/devices/system/cpu/cpu5/online"), "0\n");
    assert_eq!(node.get("/sys/devices/system/cpu/cpu4/online"), "1\n");
    assert!(node.get("/proc/4/status").contains("0-7"), "a thread that is tied to its CPU");
}

/// Some interrupts are the kernel's own, on every node. One that it refuses for another reason is a failure.
#[test]
fn only_refusals_that_are_always_there_are_no_failure() {
    const READ_ONLY: i32 = 30;
    let named = |events: &[Event]| events.iter().map(|event| event.object.to_string()).collect::<Vec<_>>();
    let node = Fake::node();
    let done = to(&node, &[everything(Owner::Node, "4-7")]);
    assert!(!done.is_partial() && named(&done.kept).contains(&MANAGED.to_owned()), "{done:?}");
    let node = Fake::node();
    node.refuse("/proc/irq/24/smp_affinity_list", READ_ONLY);
    let done = to(&node, &[everything(Owner::Node, "4-7")]);
    assert!(named(&done.kept).contains(&MANAGED.to_owned()), "{done:?}");
    assert_eq!(named(&done.refused), ["/proc/irq/24/smp_affinity_list"]);
    assert!(done.is_partial() && tacet_tune::show::done(&done).contains("done in part: 1 "), "{done:?}");
}

/// The mask of a queue's workers is set once: a partition comes too late, and before 6.10 isolation had no effect.
#[test]
fn queues_that_keep_their_workers_are_named() {
    let node = Fake::node();
    let said = || {
        let claims = [everything(Owner::Node, "4-7")];
        serde_json::to_string(&Plan::make(&node, &State::default(), &claims).unwrap()).unwrap()
    };
    assert!(
        said().contains("only isolcpus=domain,4-7 at boot, a disk found again within the partition, or fewer queues"),
        "{}",
        said()
    );
    node.set("/sys/devices/system/cpu/isolated", "4-7\n");
    assert!(!said().contains("keep their workers away"), "{}", said());
    node.set("/proc/sys/kernel/osrelease", "6.1.0-test\n");
    assert!(said().contains("only fewer queues of its driver keep their workers away"), "{}", said());
}

#[test]
fn applying_twice_changes_nothing() {
    let (node, once) = (applied(), applied());
    let done = to(&node, &[everything(Owner::Node, "4-7")]);
    assert!(done.changed.is_empty() && done.restored.is_empty(), "{done:?}");
    assert_eq!(node.differs(&once.snapshot()), None);
    assert!(verdict(&node).holds());
}

#[test]
fn other_cpus_take_the_place_of_the_first() {
    let node = applied();
    to(&node, &[everything(Owner::Node, "6-7")]);
    let fresh = Fake::node();
    to(&fresh, &[everything(Owner::Node, "6-7")]);
    assert_eq!(node.differs(&fresh.snapshot()), None);
    to(&node, &[]);
    assert_eq!(node.differs(&Fake::node().snapshot()), None);
}

#[test]
fn a_refusal_is_reported_and_the_rest_goes_on() {
    let node = applied();
    assert_eq!(node.get(MANAGED), "0-7\n");
    let verdict = verdict(&node);
    assert!(verdict.holds());
    assert_eq!(verdict.refused.len(), 1);
    let offered = || {
        let state = verify::applied(&node).unwrap();
        Plan::make(&node, &state, &state.claims).unwrap().boot_line
    };
    assert!(offered().starts_with("isolcpus=managed_irq,4-7 "), "{}", offered());
    node.set("/proc/cmdline", "isolcpus=domain,managed_irq,4-7\n");
    assert!(!offered().contains("isolcpus"), "{}", offered());
    node.set("/proc/cmdline", "root=/dev/vda quiet\n");
    let done = to(&node, &[]);
    assert!(done.not_restored.is_empty() && done.restored.iter().all(|event| event.object.to_string() != MANAGED));
}

#[test]
fn a_countermeasure_that_cannot_be_whole_leaves_nothing() {
    let node = Fake::node();
    // the kernel accepts the word and shows why it is not in force
    let mut claim = everything(Owner::Node, "4-7");
    claim.measures.retain(|name, _| name == "partition");
    claim.cpus = "".parse().unwrap_or_default();
    let done = to(&node, &[claim]);
    assert!(done.refused.iter().any(|event| event.text.contains("isolated invalid")), "{done:?}");
    assert!(done.changed.is_empty(), "{done:?}");
    assert_eq!(node.differs(&Fake::node().snapshot()), None);
}

#[test]
fn what_others_do_is_named() {
    let node = applied();
    node.set(STAT, "1\n");
    node.set("/proc/irq/31/smp_affinity_list", "0-7\n");
    std::fs::remove_file(node.root().join("proc/irq/24/smp_affinity_list")).unwrap();
    let found = verdict(&node);
    assert!(!found.holds());
    let names =
        |events: &[tacet_tune::apply::Event]| events.iter().map(|event| event.object.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&found.drifted), [STAT]);
    assert_eq!(names(&found.new), ["/proc/irq/31/smp_affinity_list"]);
    assert_eq!(names(&found.gone), ["/proc/irq/24/smp_affinity_list"]);
    to(&node, &[everything(Owner::Node, "4-7")]);
    let again = verdict(&node);
    assert!(again.drifted.is_empty() && again.new.is_empty(), "{again:?}");
}

#[test]
fn a_reboot_leaves_nothing_to_give_back() {
    let node = applied();
    // after the boot one value has another default, and an interrupt's number belongs to another device
    let rebooted = Fake::node();
    for (path, text) in
        [("/proc/sys/kernel/random/boot_id", "second\n"), (STAT, "5\n"), ("/proc/irq/25/smp_affinity_list", "7\n")]
    {
        rebooted.set(path, text);
    }
    rebooted.set(JOURNAL, &node.get(JOURNAL));
    assert!(verify::applied(&rebooted).unwrap_err().to_string().contains("booted since"));
    let before = rebooted.snapshot();
    let done = to(&rebooted, &[]);
    assert!(done.gone_with_boot > 50 && done.restored.is_empty() && done.not_restored.is_empty(), "{done:?}");
    assert_eq!(rebooted.snapshot(), before);
    assert!(!rebooted.has_journal());
}

#[test]
fn a_job_within_the_nodes_cpus_adds_and_takes_nothing() {
    let (node, without) = (applied(), applied());
    let outer = everything(Owner::Node, "4-7");
    to(&node, &[outer.clone(), job("a", "4-5")]);
    assert_eq!(node.differs(&without.snapshot()), None);
    to(&node, &[outer]);
    assert_eq!(node.differs(&without.snapshot()), None);
}

#[test]
fn a_partition_that_became_invalid_is_made_anew() {
    const PARTITION: &str = "/sys/fs/cgroup/tacet/cpuset.cpus.partition";
    let node = applied();
    node.set(PARTITION, "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n");
    assert_eq!(verdict(&node).drifted.len(), 1);
    let done = to(&node, &[everything(Owner::Node, "4-7")]);
    assert!(done.refused.is_empty(), "{:?}", done.refused);
    assert_eq!(node.get(PARTITION), "isolated\n");
    to(&node, &[]);
    assert_eq!(node.differs(&Fake::node().snapshot()), None);
}

/// The thread of a NUMA node belongs on CPUs that are in the partition until that has ended.
#[test]
fn threads_go_back_when_their_cpus_are_free() {
    let node = Fake::node();
    node.set("/proc/8/stat", "8 (kcompactd1) S 0 0 0 0 0 2129984 0 0 0 0 0 0 0 0 0 0 0 0 5 0 0\n");
    node.set("/proc/8/status", "Name:\tany\nCpus_allowed_list:\t4-7\nMems_allowed_list:\t0-1\n");
    node.set("/proc/8/cgroup", "0::/\n");
    let before = node.snapshot();
    to(&node, &[everything(Owner::Node, "4-7")]);
    assert!(node.get("/proc/8/status").contains("\t0-3\n"));
    let done = to(&node, &[]);
    assert!(done.not_restored.is_empty(), "{:?}", done.not_restored);
    assert_eq!(node.differs(&before), None);
}

/// The countermeasure that bound the threads is not wanted any more, but Linux does not let them back to a partition's
/// CPUs.
#[test]
fn threads_wait_for_their_partition_to_end() {
    let node = Fake::node();
    let before = node.snapshot();
    let whole = everything(Owner::Node, "4-7");
    to(&node, std::slice::from_ref(&whole));
    let mut rest = whole.clone();
    rest.measures.remove("rcu");
    for claims in [vec![rest], vec![whole], Vec::new()] {
        let done = to(&node, &claims);
        assert!(done.not_restored.is_empty(), "{:?}", done.not_restored);
    }
    assert_eq!(node.differs(&before), None);
}

/// Linux ends its own threads when their work is done: that is no fault.
#[test]
fn a_thread_that_has_ended_has_not_drifted() {
    let node = Fake::node();
    node.set("/proc/8/stat", "8 (psimon) S 0 0 0 0 0 2129984 0 0 0 0 0 0 0 0 0 0 0 0 5 0 0\n");
    node.set("/proc/8/status", "Name:\tany\nCpus_allowed_list:\t0-7\nMems_allowed_list:\t0-1\n");
    node.set("/proc/8/cgroup", "0::/\n");
    to(&node, &[everything(Owner::Node, "4-7")]);
    assert!(node.get("/proc/8/status").contains("\t0-3\n"));
    let before = verdict(&node);
    std::fs::remove_dir_all(node.root().join("proc/8")).unwrap();
    let after = verdict(&node);
    assert!(after.holds() && after.in_force == before.in_force - 1, "{after:?}");
}

/// Two countermeasures change the same files; the end of a job undoes only its own.
#[test]
fn what_two_share_goes_with_the_last() {
    const SCHEMATA: &str = "/sys/fs/resctrl/schemata";
    const CONTROL: &str = "/sys/fs/cgroup/cgroup.subtree_control";
    let claim = |id: &str, cpus: &str, words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let measures = tacet_tune::claim::choose(&words, &[], &[]).unwrap();
        Claim { owner: id.parse().unwrap(), cpus: cpus.parse().unwrap(), measures }
    };
    let node = Fake::node();
    let (first, second) = (
        claim("a", "2-3", &["cache=4", "partition"]),
        claim("b", "4-5", &["bandwidth=33", "huge-pages=8", "partition"]),
    );
    to(&node, std::slice::from_ref(&first));
    assert_eq!(node.get(SCHEMATA), "    MB:0=100;1=100\n    L3:0=00f;1=00f\n");
    to(&node, &[first.clone(), second.clone()]);
    assert_eq!(node.get(SCHEMATA), "    MB:0= 40;1= 40\n    L3:0=00f;1=00f\n");
    assert_eq!(node.get("/sys/fs/resctrl/tacet/cpus_list"), "2-5\n");
    assert_eq!(node.get("/sys/fs/cgroup/tacet-job-b/hugetlb.2MB.max"), "16777216\n");
    assert!(verdict(&node).holds(), "{:?}", verdict(&node));
    to(&node, &[first]);
    assert_eq!(node.get(SCHEMATA), "    MB:0=100;1=100\n    L3:0=00f;1=00f\n");
    assert_eq!(node.get(CONTROL), "cpu cpuset hugetlb memory\n", "until nobody needs any");
    to(&node, &[second]);
    assert_eq!(node.get(SCHEMATA), "    MB:0= 40;1= 40\n    L3:0=fff;1=fff\n");
    to(&node, &[]);
    assert_eq!(node.differs(&Fake::node().snapshot()), None);
}

#[test]
fn bandwidth_in_bytes_is_not_touched() {
    let node = Fake::node();
    node.set("/sys/fs/resctrl/schemata", "    MB:0=2048;1=2048\n");
    let plan = Plan::make(&node, &State::default(), &[everything(Owner::Node, "4-7")]).unwrap();
    for name in ["bandwidth", "cache"] {
        let part = plan.parts.iter().find(|part| part.measure == name).unwrap();
        assert!(part.changes.is_empty() && part.notes().len() == 1, "{part:?}");
    }
}

#[test]
fn programs_that_still_run_leave_the_group() {
    let node = Fake::node();
    to(&node, &[job("a", "2-3")]);
    node.set("/sys/fs/cgroup/tacet-job-a/cgroup.procs", "77\n");
    let done = to(&node, &[]);
    assert!(done.not_restored.is_empty(), "{done:?}");
    assert_eq!(node.get("/sys/fs/cgroup/cgroup.procs"), "2\n3\n77\n");
}

#[test]
fn a_damaged_journal_is_not_guessed_at() {
    let node = applied();
    let text = node.get(JOURNAL);
    let before = node.snapshot();
    for damaged in [
        text.replacen("\"original\":", "\"origin\":", 1),
        text.replace("\"version\":1", "\"version\":9"),
        text[10..].to_owned(),
    ] {
        node.set(JOURNAL, &damaged);
        let error = Journal::open(&node).err().expect("an error").to_string();
        assert!(error.starts_with(JOURNAL) && error.lines().count() == 1, "{error}");
        assert_eq!((node.snapshot(), node.get(JOURNAL)), (before.clone(), damaged));
    }
}

#[test]
fn what_is_not_there_is_told() {
    let node = Fake::node();
    std::fs::remove_file(node.root().join(&STAT[1..])).unwrap();
    let plan = Plan::make(&node, &State::default(), &[everything(Owner::Node, "4-7")]).unwrap();
    let part = plan.parts.iter().find(|part| part.measure == "vmstat").unwrap();
    assert!(part.changes.is_empty());
    assert_eq!(part.notes(), [tacet_tune::split::Note::Missing(STAT.to_owned())]);
}
