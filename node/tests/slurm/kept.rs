// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CPUs that stay in the partition between jobs of `--tacet`, and come back for jobs without it.

use super::site::{QUIET, WHERE, does, lines};

/// From here on CPUs are kept for so long.
fn keep(time: &str) {
    does(&format!("printf '[job]\\nkeep = \"{time}\"\\n' >/etc/tacet.toml"));
}

/// Waits until no job is left on n1, and prints the CPUs that are kept.
const KEPT: &str = r#"
    until [ -z "$(squeue -h -w n1)" ]; do [ $SECONDS -lt 90 ] || exit 1; sleep 0.2; done
    tacet job list | tail -n +2 | grep -v ' kept$' && exit 1
    echo kept $(tacet job list | awk '$NF == "kept" { print $3 }')
    echo online $(cat /sys/devices/system/cpu/online)"#;
/// With its time: the log forgets, so nothing in it can be counted.
const LAST_JOIN: &str = "tacet log | grep 'cpus .*: joined the partition' | tail -n 1";

fn hosted() -> Vec<String> {
    lines(&format!("runuser -u alice -- srun -w n1 -n1 -c3 --tacet $START {WHERE}"))
}

#[test]
#[ignore = "boots a cluster"]
fn cpus_stay_between_hosted_jobs_and_come_back_for_others() {
    keep("1h");
    assert_eq!(hosted(), ["n1 1 2"]);
    assert_eq!(lines(KEPT), ["kept 1-2", "online 0,3"]);
    let joined = lines(LAST_JOIN);
    assert_eq!(hosted(), ["n1 1 2"]);
    assert_eq!(lines(KEPT), ["kept 1-2", "online 0,3"]);
    assert_eq!(lines(LAST_JOIN), joined, "they join once more");
    // each task on one CPU of its own
    let bound = lines(&format!("runuser -u alice -- srun -w n1 -n4 --cpu-bind=cores {WHERE}"));
    assert_eq!(bound, ["n1 0", "n1 1", "n1 2", "n1 3"]);
    does(QUIET);
    assert_eq!(hosted(), ["n1 1 2"]);
    does("tacet job sweep");
    assert_eq!(lines(KEPT), ["kept 1-2", "online 0,3"]);
    let batch = format!(
        "cd /home/alice && runuser -u alice -- sbatch -Q -W -w n1 -c4 -o said --wrap \"{WHERE}\" >/dev/null; cat said"
    );
    assert_eq!(lines(&batch), ["n1 0 1 2 3"]);
    does(QUIET);
    keep("1s");
    assert_eq!(hosted(), ["n1 1 2"]);
    does("until [ -z \"$(squeue -h -w n1)\" ]; do sleep 0.2; done; sleep 2; tacet job sweep");
    does(QUIET);
    keep("off");
    assert_eq!(hosted(), ["n1 1 2"]);
    does(QUIET);
}
