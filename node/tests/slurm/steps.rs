// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Job arrays, requeued jobs, steps beside each other, and the memory of a job.

use tacet_node::SlurmRelease;

use super::SLURM;
use super::site::{QUIET, WHERE, batch_job, cluster, does, lines, shell};

#[test]
#[ignore = "boots a cluster"]
fn two_jobs_of_an_array_share_a_node() {
    let batch = "sbatch -Q -w n1 -n1 -c2 -a 0-1 --tacet -o part.%a";
    let script = format!("#!/bin/sh\nsrun $START {WHERE}\nsleep 5\n");
    assert_eq!(batch_job(batch, &script, "", "part.?"), ["n1 1", "n1 3"]);
    does(QUIET);
}

#[test]
#[ignore = "boots a cluster"]
fn a_requeued_job_gives_its_cpus_back_and_has_them_again() {
    let batch = "sbatch -Q -w n1 -n1 -c3 --requeue --open-mode=append --tacet -o said";
    let script = format!(
        "#!/bin/sh\nsrun $START {WHERE}\n[ -n \"$SLURM_RESTART_COUNT\" ] || srun $START python3 -c 'while True: pass'\necho end\n"
    );
    let requeue = r#"
        # the second step: the first one has said where it is
        until grep -q '^n1 1 2' /home/alice/said && tacet job list | grep -q ' 1-2 .* 1  *begun'; do
            [ $SECONDS -lt 90 ] || { tacet job list; cat /home/alice/said; exit 1; }
            sleep 0.2
        done
        job=$(squeue -h -o %A)
        scontrol requeue $job
        until [ "$(squeue -h -o %T)" = PENDING ]; do
            [ $SECONDS -lt 120 ] || exit 1
            sleep 0.2
        done
        [ "$(tacet job list | tail -n +2)$(cat /sys/devices/system/cpu/online)" = 0-3 ] || exit 1
        # Slurm would wait two minutes
        scontrol update JobId=$job StartTime=now"#;
    let said = batch_job(batch, &script, requeue, "said");
    // Slurm's own words are there too
    let own: Vec<&String> = said.iter().filter(|line| *line == "end" || line.starts_with("n1 ")).collect();
    assert_eq!(own, ["end", "n1 1 2", "n1 1 2"]);
    does(QUIET);
}

/// With task/cgroup alone, as docs/slurm.md says: task/affinity fails where all CPUs of a step have left.
#[test]
#[ignore = "boots a cluster"]
fn steps_beside_each_other_have_their_own_parts() {
    let steps = format!(
        r#"
        set -e
        sed -i s/,task.affinity// /etc/slurm/slurm.conf
        kill $(pgrep -x slurmd); while pgrep -x slurmd >/dev/null; do sleep 0.1; done
        start-slurmd
        cd /home/alice
        cat >steps <<'EOF'
        srun --exact -n1 -c2 $START {WHERE} >first &
        srun --exact -n1 -c2 $START {WHERE} >second &
        wait
EOF
        runuser -u alice -- salloc -Q -w n2 -n1 -c4 --tacet sh steps
        cat first second"#
    );
    let output = cluster().node("n2").and_then(|node| node.run(&shell(&steps))).expect("runs");
    let mut parts: Vec<String> = output.text().lines().map(str::to_owned).collect();
    parts.sort();
    let own = match SLURM {
        // nobody tells `tacet run` which part is the step's
        SlurmRelease::Debian12 => ["n2 1 2 3"; 2],
        SlurmRelease::Debian13 => ["n2 1", "n2 2 3"],
    };
    assert_eq!(parts, own, "{}", output.error_text());
}

#[test]
#[ignore = "boots a cluster"]
fn a_job_has_as_much_of_the_partition_as_slurm_gave_it_memory() {
    let list = lines("srun -w n1 -n1 -c2 --mem=64M --tacet tacet job list");
    assert!(list.iter().any(|line| line.contains(" 64 MiB ")), "{list:?}");
    // more than the partition has: what there is
    let list = lines("srun -w n1 -n1 -c2 --mem=512M --tacet tacet job list");
    assert!(list.iter().any(|line| line.contains(" - ")), "{list:?}");
    does(QUIET);
}
