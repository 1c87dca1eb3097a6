// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many jobs of three users at once, hosted and not; some fail, some are cancelled. Meanwhile one node's slurmd starts again, and
//! another node loses power and boots. The processor has bugs by which a program reads what its core maps: each hosted job
//! has a memory limit, and is kept apart.

use std::time::Duration;

use super::site::{QUIET, cluster, does, lines, lines_on, run};
use tacet_node::Command;

/// For all jobs, on a busy host.
const WAIT: Duration = Duration::from_secs(420);
const USERS: [&str; 3] = ["alice", "bob", "carol"];
const JOBS: usize = 20;

/// What a job does, and how Slurm has to say that it ended: its state, and its status where that is certain.
const KINDS: [(&str, &str, &str, &str); 4] = [
    ("plain", "-c1 --wrap 'echo done'", "COMPLETED", "0:0"),
    ("hosted", "-c2 --tacet=memory=32M --wrap 'srun echo done'", "COMPLETED", "0:0"),
    ("endless", "-c2 --tacet=memory=32M --wrap 'srun tail -f /dev/null'", "CANCELLED", ""),
    ("fails", "-c2 --tacet=memory=32M --wrap 'srun sh -c \"exit 3\"'", "FAILED", "3:0"),
];

/// Cancels endless jobs as soon as they run, until no job is left.
const ENDS: &str = r#"
    until [ -z "$(squeue -h)" ]; do
        [ $SECONDS -lt 400 ] || { squeue; tacet job list; tail -n 30 /var/log/slurm/slurmd.log; exit 1; }
        scancel -t R -n endless
        sleep 1
    done"#;

#[test]
#[ignore = "boots a cluster"]
fn twenty_jobs_of_three_users_each_end_as_they_should() {
    let jobs = (0..JOBS).map(|job| (job, USERS[job % USERS.len()], KINDS[job % KINDS.len()]));
    let submit = |(job, user, (name, words, ..)): (usize, &str, (&str, &str, &str, &str))| {
        format!(
            "cd /home/{user} && rm -f out.{job} && runuser -u {user} -- sbatch --parsable -J {name} -o out.{job} {words} || exit 1\n"
        )
    };
    let said = run(&jobs.clone().map(submit).collect::<String>());
    let ids: Vec<String> = said.text().lines().map(str::to_owned).collect();
    assert_eq!(ids.len(), JOBS, "{}{}", said.text(), said.error_text());
    does("until [ -n \"$(squeue -h -n endless -t R)\" ]; do [ $SECONDS -lt 90 ] || exit 1; sleep 0.2; done");
    does("kill $(pgrep -x slurmd); while pgrep -x slurmd >/dev/null; do sleep 0.1; done; start-slurmd");
    cluster().kill("n2").expect("runs");
    cluster().boot("n2").expect("boots");
    let output = cluster().node("n1").and_then(|node| node.run(&Command::shell(ENDS).timeout(WAIT))).expect("runs");
    assert!(output.status.success(), "{}{}", output.text(), output.error_text());
    for ((job, user, (name, _, state, code)), id) in jobs.zip(&ids) {
        let shown = lines(&format!("scontrol show job {id} | grep -o -e 'JobState=[A-Z]*' -e 'ExitCode=.*'")).join(" ");
        let file = lines(&format!("cat /home/{user}/out.{job} 2>/dev/null; true")).join("; ");
        let as_it_should = shown.contains(&format!("JobState={state}")) && shown.contains(&format!("ExitCode={code}"));
        assert!(as_it_should, "{name} of {user}: {shown}: {file}");
        assert_eq!(file == "done", state == "COMPLETED", "{name} of {user}: {file}");
    }
    does(QUIET);
    let second = "[ -z \"$(tacet job list | tail -n +2)\" ] && cat /sys/devices/system/cpu/online";
    assert_eq!(lines_on("n2", second), ["0-3"]);
}
