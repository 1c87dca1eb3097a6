// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--tacet-tune` and `--tacet-sched`: the other ways to keep Linux away from a job, by another word.

use super::site::{QUIET, does, lines, refused, run};

/// What they change on a node. Not every kernel has sched_ext.
const STATE: &str = "cat /sys/devices/virtual/workqueue/cpumask; cat /sys/kernel/sched_ext/state 2>/dev/null; true";
const POLICY: &str = "python3 -c 'import os; print(os.sched_getscheduler(0), *sorted(os.sched_getaffinity(0)))'";

fn job(words: &str, program: &str) -> Vec<String> {
    lines(&format!("runuser -u alice -- srun -w n1 -n1 -c3 {words} {program}"))
}

/// The node is as before though all steps were killed.
fn nothing_is_left(words: &str, before: &[String]) {
    does(&format!(
        r#"
        runuser -u alice -- srun -w n1 -n1 -c3 {words} python3 -c 'while True: pass' >/tmp/said 2>&1 &
        until pgrep -x python3; do [ $SECONDS -lt 90 ] || {{ cat /tmp/said; exit 1; }}; sleep 0.2; done"#
    ));
    assert_ne!(lines(STATE), before, "{words}");
    does("kill -9 $(pgrep -f '[s]lurmstepd: ')");
    does("scancel --user alice; kill -9 $(pgrep -x python3) || true");
    does(QUIET);
    assert_eq!(lines(STATE), before, "{words}");
}

#[test]
#[ignore = "boots a cluster"]
fn a_tuned_job_leaves_nothing_behind() {
    let before = lines(STATE);
    assert_ne!(job("--tacet-tune", "cat /sys/devices/virtual/workqueue/cpumask"), before[..1]);
    does(QUIET);
    assert_eq!(lines(STATE), before);
    assert_eq!(job("--tacet-tune", POLICY), ["0 1 2"]);
    does(QUIET);
    refused("a job can have one of them", "srun --tacet --tacet-sched true");
    refused("`memory`: unknown", "srun --tacet-tune=memory=1G true");
    nothing_is_left("--tacet-tune", &before);
}

#[test]
#[ignore = "boots a cluster"]
fn a_job_with_a_scheduling_class_leaves_nothing_behind() {
    if !run("[ -e /sys/kernel/sched_ext ]").status.success() {
        refused("sched_ext", "srun -w n1 -n1 -c3 --tacet-sched true");
        does(QUIET);
        return;
    }
    let before = lines(STATE);
    assert_eq!(job("--tacet-sched", POLICY), ["7 1 2"]);
    does(QUIET);
    assert_eq!(lines(STATE), before);
    nothing_is_left("--tacet-sched", &before);
}
