// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `srun --tacet` on a cluster: the plugin of packaging/slurm from a job's begin to its end, whatever is killed meanwhile.
//!
//! Boots two nodes: `cargo xtask build`, then `cargo test -p tacet-node --test slurm -- --ignored --test-threads=1`. The tests
//! share the cluster, and each leaves it without a job.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tacet_node::cluster::{Cluster, ClusterSpec};
use tacet_node::{Cache, Command, KernelLine, Output, provision};

#[path = "slurm/crowd.rs"]
mod crowd;
#[path = "slurm/kept.rs"]
mod kept;
#[path = "slurm/killed.rs"]
mod killed;
#[path = "slurm/prologue.rs"]
mod prologue;
#[path = "slurm/rungs.rs"]
mod rungs;
#[path = "slurm/steps.rs"]
mod steps;

/// Each node builds the plugin against its own Slurm's headers.
const FIRST: &str = r#"
    set -e
    ln -sf "@BUILD@"/bin/tacet* /usr/local/bin/
    make -s -C "@PLUGIN@" OUT=/tmp/plugin TACET=/usr/local/bin/tacet CFLAGS='-O1 -Wall -Wextra -Werror' install
    mkdir -p /etc/slurm/plugstack.conf.d
    echo 'optional spank_tacet.so' >/etc/slurm/plugstack.conf.d/tacet.conf
    tacet up --spare 1-3 --memory 128M
    # most tests look whether all CPUs have come back
    printf '[job]\nkeep = "off"\n' >/etc/tacet.toml
    # no udev gives the device its group here
    chmod 666 /dev/tacet"#;

/// Prints the node and the CPUs that the program sees.
const WHERE: &str = "python3 -c 'import os; print(os.uname().nodename, *sorted(os.sched_getaffinity(0)))'";
/// Starts a hosted program that computes for ever, and waits until it does.
const COMPUTES: &str = r#"
    runuser -u alice -- srun -w n1 -n1 -c3 --tacet python3 -c 'while True: pass' >/tmp/said 2>&1 &
    while [ $SECONDS -lt 90 ]; do
        tacet job list | grep -qE ' 1-2 .* 1  *(begun|apart)' && exit
        sleep 0.2
    done
    tacet job list; cat /tmp/said; exit 1"#;
/// Succeeds as soon as the node has no job of anybody, and all that jobs had.
const QUIET: &str = r#"
    while [ $SECONDS -lt 90 ]; do
        jobs=$(tacet job list | tail -n +2) queue=$(squeue -h -w n1) online=$(cat /sys/devices/system/cpu/online)
        state=$(sinfo -h -N -n n1 -o %T) left=$(pgrep -x python3)
        [ "$jobs$queue$left:$online:$state" = :0-3:idle ] && [ -z "$(ls /run/tacet/slurm)" ] && exit
        sleep 0.2
    done
    echo "jobs: $jobs; queue: $queue; online: $online; n1 is $state; left: $left; records: $(ls /run/tacet/slurm)"
    sinfo -R; tail -n 20 /var/log/slurm/slurmd.log; exit 1"#;

const SLURMCTLD: &str = r#"
    kill -9 $(pgrep -x slurmctld)
    while pgrep -x slurmctld >/dev/null; do sleep 0.1; done
    setpriv --reuid=slurm --regid=slurm --clear-groups /usr/sbin/slurmctld"#;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the source tree")
}

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let line = std::env::var("TACET_TEST_KERNEL").unwrap_or_else(|_| "6.12".to_owned());
        let (build, plugin) = (top().join("build"), top().join("packaging/slurm"));
        let mut spec = ClusterSpec::new(line.parse::<KernelLine>().expect("a kernel line"), 2);
        spec.node = spec.node.share(&build).share(&plugin);
        let of = |path: &Path| path.display().to_string();
        spec.first = Some(FIRST.replace("@BUILD@", &of(&build)).replace("@PLUGIN@", &of(&plugin)));
        let cache = Cache::open().expect("cache");
        provision::ensure_cluster(&cache).expect("Slurm");
        Cluster::up(&cache, &spec).expect("boots")
    })
}

fn run(script: &str) -> Output {
    cluster().node("n1").and_then(|node| node.run(&Command::shell(script))).expect("runs")
}

/// What a script that succeeds says, line by line, sorted.
fn lines(script: &str) -> Vec<String> {
    lines_on("n1", script)
}

fn lines_on(node: &str, script: &str) -> Vec<String> {
    let output = cluster().node(node).and_then(|node| node.run(&Command::shell(script))).expect("runs");
    assert!(output.status.success(), "{script}: {}{}", output.text(), output.error_text());
    let mut lines: Vec<String> = output.text().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn does(script: &str) {
    lines(script);
}

/// Submits a script as alice, does something meanwhile, and returns the lines of the job's files when no job is left.
fn batch_job(batch: &str, script: &str, meanwhile: &str, files: &str) -> Vec<String> {
    let commands = format!(
        r#"
        cd /home/alice && rm -f {files}
        runuser -u alice -- {batch} >/dev/null || exit 1
        {meanwhile}
        until [ -z "$(squeue -h)" ]; do
            [ $SECONDS -lt 180 ] || {{ squeue; tail -n 30 /var/log/slurm/slurmd.log; exit 1; }}
            sleep 0.5
        done
        cat {files}"#
    );
    let output =
        cluster().node("n1").and_then(|node| node.run(&Command::shell(&commands).input(script))).expect("runs");
    assert!(output.status.success(), "{}{}", output.text(), output.error_text());
    let mut lines: Vec<String> = output.text().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// A command of Slurm that fails and says this.
fn refused(said: &str, command: &str) {
    let output = run(command);
    let words = output.text() + &output.error_text();
    assert!(!output.status.success(), "{command} succeeds: {words}");
    assert_eq!(words.matches(said).count(), 1, "{command} should say `{said}` once: {words}");
}

#[test]
fn the_plugins_own_checks_pass() {
    let (plugin, out) = (top().join("packaging/slurm"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("slurm"));
    let out = format!("OUT={}", out.display());
    let mut make = std::process::Command::new("make");
    make.args(["-s", "-B", "CFLAGS=-O2 -Wall -Wextra -Werror", &out, "-C"]).arg(&plugin).arg("check");
    let output = make.output().expect("make");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "boots a cluster"]
fn a_job_has_its_own_cpus_in_the_partition_on_each_node() {
    let job = format!("runuser -u alice -- srun -N2 --ntasks-per-node=1 -c3 --tacet {WHERE}");
    assert_eq!(lines(&job), ["n1 1 2", "n2 1 2"]);
    does(QUIET);
    assert_eq!(lines(&format!("srun -w n1 -n2 -c2 --tacet=bind=compact,memory=32M {WHERE}")), ["n1 1", "n1 2 3"]);
    assert_eq!(lines(&format!("srun -w n1 -n1 -c4 --tacet=linux-cpus=2 {WHERE}")), ["n1 2 3"]);
    does(QUIET);
}

#[test]
#[ignore = "boots a cluster"]
fn a_plain_step_beside_it_is_as_without_the_plugin() {
    does(COMPUTES);
    assert_eq!(lines(&format!("srun -w n1 -n1 {WHERE}")), ["n1 3"]);
    assert_eq!(lines("tacet job list | tail -n +2 | wc -l"), ["1"]);
    does("scancel --user alice");
    does(QUIET);
    assert_eq!(lines(&format!("srun -w n1 -n1 -c4 {WHERE}")), ["n1 0 1 2 3"]);
}

#[test]
#[ignore = "boots a cluster"]
fn a_refused_job_says_why_and_drains_no_node() {
    refused("memory=2X: it is not a size", "srun --tacet=memory=2X true");
    refused("`memry`: unknown", "sbatch --tacet=memry=2G --wrap true");
    refused("the job has 1 CPU on this node and Linux keeps 1", "srun -w n1 -n1 -c1 --tacet true");
    refused("programs can have", "srun -w n1 -n1 -c2 --tacet=memory=64G true");
    refused("began without --tacet", "salloc -Q -w n1 -n1 -c2 srun --tacet true");
    let batch =
        "cd /home/alice && runuser -u alice -- sbatch -Q -W -w n1 -c2 --tacet=memory=64G --wrap 'echo runs' -o said";
    refused("programs can have", &format!("{batch}; status=$?; cat said; exit $status"));
    does(QUIET);
}

#[test]
#[ignore = "boots a cluster"]
fn a_batch_job_hosts_its_steps_and_itself_stays_on_linux() {
    let script = format!("#!/bin/sh\n{WHERE}\nsrun -n1 -c3 {WHERE}\nsrun -n1 -c3 {WHERE}\n");
    let batch = "cd /home/alice && runuser -u alice -- sbatch -Q -W -w n1 -n1 -c3 --tacet -o said >/dev/null; cat said";
    let output = cluster().node("n1").and_then(|node| node.run(&Command::shell(batch).input(script))).expect("runs");
    assert_eq!(output.text().lines().collect::<Vec<_>>(), ["n1 0", "n1 1 2", "n1 1 2"], "{}", output.error_text());
    does(QUIET);
}

#[test]
#[ignore = "boots a cluster"]
fn a_suspended_program_stands_still_and_computes_again() {
    does(COMPUTES);
    does(
        r#"
        job=$(squeue -h -w n1 -o %A) pid=$(pgrep -x python3)
        time_of() { cut -d' ' -f14 /proc/$pid/stat; }
        scontrol suspend $job
        until before=$(time_of); sleep 1; [ $before = $(time_of) ]; do
            [ $SECONDS -lt 60 ] || { echo "it goes on"; exit 1; }
        done
        scontrol resume $job
        until [ $(time_of) -gt $before ]; do
            [ $SECONDS -lt 90 ] || { echo "it stands still"; exit 1; }
            sleep 0.2
        done
        tacet job list | grep -E ' 1  *(begun|apart)'"#,
    );
    does("scancel --user alice");
    does(QUIET);
}

#[test]
#[ignore = "boots a cluster"]
fn the_doctor_has_no_serious_complaint_about_this_cluster() {
    let said = run("tacet doctor --slurm");
    assert!(said.status.success(), "{}{}", said.text(), said.error_text());
    // a site would reserve the memory, and use task/cgroup alone
    let text = said.text();
    let warned: Vec<&str> = text.lines().filter(|line| line.starts_with("warning")).collect();
    assert_eq!(warned.len(), 2, "{text}");
    does(
        "sed s/ConstrainCores=yes/ConstrainCores=no/ /etc/slurm/cgroup.conf >/tmp/cgroup.conf; cp /etc/slurm/slurm.conf /tmp",
    );
    does("SLURM_CONF=/tmp/slurm.conf tacet doctor --slurm | grep '^PROBLEM  slurm-cores'");
}

#[test]
#[ignore = "boots a cluster"]
fn everything_comes_back_whichever_daemon_is_killed() {
    for (what, kill) in [
        ("the extern step", "kill -9 $(pgrep -f '[s]lurmstepd: .*extern')"),
        ("all steps", "kill -9 $(pgrep -f '[s]lurmstepd: ')"),
        ("the step", "kill -9 $(pgrep -f '[s]lurmstepd: .*[.]0[]]')"),
        ("slurmd", "kill -9 $(pgrep -x slurmd); sleep 1; start-slurmd"),
        ("slurmctld", SLURMCTLD),
    ] {
        eprintln!("{what} is killed");
        does(COMPUTES);
        does(kill);
        // a controller that has just started answers after some seconds
        does("until scancel --user alice; do [ $SECONDS -lt 60 ] || exit 1; sleep 0.5; done");
        does(QUIET);
    }
    assert_eq!(lines(&format!("srun -w n1 -n1 -c3 --tacet {WHERE}")), ["n1 1 2"]);
    does(QUIET);
}

/// A thread that makes no call never comes to Linux by itself, and Linux counts the time of control groups.
#[test]
#[ignore = "boots a cluster"]
fn sstat_counts_the_time_of_a_program_that_computes() {
    does(COMPUTES);
    does(
        r#"
        job=$(squeue -h -w n1 -o %A)
        until seconds=$(sstat -a -n -P -o AveCPU $job.0 | cut -d: -f3 | cut -d. -f1); [ "${seconds#0}" -ge 5 ]; do
            [ $SECONDS -lt 90 ] || { sstat -a -P -o AveCPU $job.0; exit 1; }
            sleep 1
        done"#,
    );
    does("scancel --user alice");
    does(QUIET);
}
