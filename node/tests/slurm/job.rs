// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A job of `--tacet` from its begin to its end: which CPUs its programs see, what a refused one says, what comes back.

use tacet_node::SlurmRelease;

use super::SLURM;
use super::site::{COMPUTES, QUIET, SLURMCTLD, WHERE, cluster, does, lines, refused, run, shell};

#[test]
#[ignore = "boots a cluster"]
fn a_job_has_its_own_cpus_in_the_partition_on_each_node() {
    let job = format!("runuser -u alice -- srun -N2 --ntasks-per-node=1 -c3 --tacet $START {WHERE}");
    assert_eq!(lines(&job), ["n1 1 2", "n2 1 2"]);
    does(QUIET);
    assert_eq!(
        lines(&format!("srun -w n1 -n2 -c2 --tacet=bind=compact,memory=32M $START {WHERE}")),
        ["n1 1", "n1 2 3"]
    );
    assert_eq!(lines(&format!("srun -w n1 -n1 -c4 --tacet=linux-cpus=2 $START {WHERE}")), ["n1 2 3"]);
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
    let script = format!("#!/bin/sh\n{WHERE}\nsrun -n1 -c3 $START {WHERE}\nsrun -n1 -c3 $START {WHERE}\n");
    let batch = "cd /home/alice && runuser -u alice -- sbatch -Q -W -w n1 -n1 -c3 --tacet -o said >/dev/null; cat said";
    let output = cluster().node("n1").and_then(|node| node.run(&shell(batch).input(script))).expect("runs");
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
    let more = match SLURM {
        // users start `tacet run`
        SlurmRelease::Debian12 => 1,
        SlurmRelease::Debian13 => 0,
    };
    assert_eq!(warned.len(), 2 + more, "{text}");
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
    assert_eq!(lines(&format!("srun -w n1 -n1 -c3 --tacet $START {WHERE}")), ["n1 1 2"]);
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
