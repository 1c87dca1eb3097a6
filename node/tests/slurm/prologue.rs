// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sites without the plugin: prolog.sh and epilog.sh of packaging/slurm, in the job's extern step.

use super::site::{WHERE, cluster, top};
use tacet_node::Command;

/// On n2 alone, which is as before afterwards.
const SCRIPT: &str = r#"
    restart() { kill $(pgrep -x slurmd); while pgrep -x slurmd >/dev/null; do sleep 0.1; done; start-slurmd; sleep 2; }
    cp /etc/slurm/slurm.conf /tmp/slurm.conf
    sed -i s/PrologFlags=.*/PrologFlags=Contain,RunInJob/ /etc/slurm/slurm.conf
    printf '%s\n' Prolog=@PLUGIN@/prolog.sh Epilog=@PLUGIN@/epilog.sh >>/etc/slurm/slurm.conf
    restart
    runuser -u alice -- srun -w n2 -n1 -c3 --comment=tacet tacet run @WHERE@
    runuser -u alice -- srun -w n2 -n1 -c3 @WHERE@
    until [ -z "$(squeue -h -w n2)" ] && [ "$(tacet job list | tail -n +2)" = "" ]; do
        [ $SECONDS -lt 90 ] || { squeue; tacet job list; break; }
        sleep 0.2
    done
    echo online $(cat /sys/devices/system/cpu/online), $(sinfo -h -N -n n2 -o %T)
    cp /tmp/slurm.conf /etc/slurm/slurm.conf
    restart"#;

#[test]
#[ignore = "boots a cluster"]
fn a_prologue_and_an_epilogue_give_a_job_its_cpus_without_the_plugin() {
    let plugin = top().join("packaging/slurm").display().to_string();
    let script = SCRIPT.replace("@PLUGIN@", &plugin).replace("@WHERE@", WHERE);
    let output = cluster().node("n2").and_then(|node| node.run(&Command::shell(&script))).expect("runs");
    let said = output.text();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines, ["n2 1 2", "n2 0 1 2", "online 0-3, idle"], "{}", output.error_text());
}
