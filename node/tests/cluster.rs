// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of a cluster's promises, on two nodes with Slurm. A bare `cargo test` ignores them; `cargo xtask test` runs them.
//!
//! The tests share one cluster, and each leaves it as it was.

use std::sync::OnceLock;
use std::time::Duration;

use tacet_node::cluster::{Cluster, ClusterSpec, Rule};
use tacet_node::{Cache, Command, KernelLine, Output, provision};

#[path = "cluster/mpi.rs"]
mod mpi;

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let line = std::env::var("TACET_TEST_KERNEL").unwrap_or_else(|_| "6.12".to_owned());
        let mut spec = ClusterSpec::new(line.parse::<KernelLine>().expect("a kernel line"), 2);
        let built = mpi::build_directory();
        spec.node = spec.node.share(&built);
        spec.node.memory_mib = 1536;
        spec.first = Some(format!("ln -sf {}/bin/tacet* /usr/local/bin/", built.display()));
        let cache = Cache::open().expect("cache");
        provision::ensure_cluster(&cache, spec.slurm).expect("Slurm");
        Cluster::up(&cache, &spec).expect("boots")
    })
}

fn run(node: &str, script: &str) -> Output {
    cluster().node(node).and_then(|node| node.run(&Command::shell(script))).expect("runs")
}

/// The lines of a script that succeeds, sorted.
fn lines(node: &str, script: &str) -> Vec<String> {
    let output = run(node, script);
    assert!(output.status.success(), "{script}: {}{}", output.text(), output.error_text());
    let mut lines: Vec<String> = output.text().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
#[ignore = "boots a cluster"]
fn a_job_of_two_nodes_runs_on_both_for_each_user() {
    assert_eq!(lines("n1", "srun -N2 hostname"), ["n1", "n2"]);
    assert_eq!(lines("n2", "runuser -u alice -- srun -N2 id -un"), ["alice", "alice"]);
}

#[test]
#[ignore = "boots a cluster"]
fn names_and_home_are_the_same_on_all_nodes() {
    assert_eq!(lines("n1", "getent hosts n2 | tr -s ' '"), ["10.77.0.2 n2"]);
    assert!(lines("n1", "runuser -u bob -- sh -c 'echo from n1 >/home/bob/word'").is_empty());
    assert_eq!(lines("n2", "cat /home/bob/word; stat -c %U /home/bob/word"), ["bob", "from n1"]);
}

#[test]
#[ignore = "boots a cluster"]
fn a_node_that_loses_power_comes_back_to_slurm() {
    cluster().kill("n2").expect("runs");
    assert!(cluster().node("n2").is_err() && cluster().kill("n2").is_err());
    cluster().boot("n2").expect("boots");
    assert!(cluster().boot("n2").is_err(), "it runs already");
    assert_eq!(lines("n1", "srun -N2 hostname"), ["n1", "n2"]);
}

#[test]
#[ignore = "boots a cluster"]
fn the_switch_drops_and_delays_what_a_rule_names_and_counts_it() {
    let switch = cluster().switch();
    assert!(run("n1", "ping -c 1 -W 20 n2").status.success());
    let before = switch.counts(2);
    switch.set_rules(&[Rule { from: Some(1), to: Some(2), drop_each: 1, ..Rule::default() }]);
    assert!(!run("n1", "ping -c 2 -W 2 n2").status.success());
    let after = switch.counts(2);
    assert!(after.dropped >= before.dropped + 2 && after.lost == before.lost, "{before:?} {after:?}");
    switch.set_rules(&[Rule { delay: Duration::from_millis(700), ..Rule::default() }]);
    let said = lines("n1", "ping -c 1 -W 60 n2 | grep -o 'time=[0-9]*'").concat();
    let time: u32 = said.trim_start_matches("time=").parse().expect("milliseconds");
    switch.set_rules(&[]);
    assert!(time >= 1400, "{time} ms there and back");
    assert_eq!(lines("n1", "srun -N2 hostname"), ["n1", "n2"]);
}

#[test]
#[ignore = "boots a cluster"]
fn a_slurmd_that_starts_while_a_cpu_is_away_counts_the_whole_machine() {
    let restart = r#"
        set -e
        echo 0 >/sys/devices/system/cpu/cpu3/online
        before=$(scontrol show node n2 | grep -o 'SlurmdStartTime=[^ ]*')
        pid=$(pgrep -x -o slurmd); kill $pid
        while [ -e /proc/$pid ]; do sleep 0.1; done
        sleep 1
        start-slurmd
        for try in $(seq 200); do
            [ "$(scontrol show node n2 | grep -o 'SlurmdStartTime=[^ ]*')" = "$before" ] || break
            sleep 0.3
        done
        echo 1 >/sys/devices/system/cpu/cpu3/online
        scontrol show node n2 | grep -o -e 'CPUTot=[0-9]*' -e 'State=[A-Z+*]*'"#;
    assert_eq!(lines("n2", restart), ["CPUTot=4", "State=IDLE"]);
    assert_eq!(lines("n1", "srun -w n2 -n4 hostname | uniq"), ["n2"]);
}
