// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Slurm's daemons killed before and after the module has begun a job, and before and after it has ended it. Kills while the
//! job's program runs are in job.rs. Steps that are killed while a job begins are not here: docs/slurm.md says what
//! remains.
//!
//! The plugin's command is a script here, which holds at the chosen point until the daemon is dead.

use super::site::{COMPUTES, QUIET, SLURMCTLD, WHERE, does, lines};

/// In the place of /usr/local/bin/tacet. The file /run/hold has the point at which it waits.
const WRAPPER: &str = r#"
    rm /usr/local/bin/tacet
    cat >/usr/local/bin/tacet <<'EOF'
#!/bin/sh
hold() {
    [ "$1" = "$(cat /run/hold 2>/dev/null)" ] || return
    : >/run/held
    while [ -e /run/hold ]; do sleep 0.1; done
}
case "$1 $2" in
"job begin" | "job end")
    hold "before $2"
    @TACET@ "$@"
    status=$?
    hold "after $2"
    exit $status
    ;;
esac
exec @TACET@ "$@"
EOF
    chmod 755 /usr/local/bin/tacet"#;

/// Starts a job whose program computes, until the command holds.
const BEGINS: &str = r#"
    rm -f /run/held
    echo "@POINT@" >/run/hold
    runuser -u alice -- srun -w n1 -n1 -c3 --tacet $START python3 -c 'while True: pass' >/tmp/said 2>&1 &
    until [ -e /run/held ]; do [ $SECONDS -lt 90 ] || { cat /tmp/said; exit 1; }; sleep 0.2; done"#;
/// The program computes already; its job's end holds.
const ENDS: &str = r#"
    rm -f /run/held
    echo "@POINT@" >/run/hold
    scancel --user alice
    until [ -e /run/held ]; do [ $SECONDS -lt 90 ] || { squeue; exit 1; }; sleep 0.2; done"#;
/// Lets the command go on, if it lives still, and ends the job, wherever it is.
const GOES_ON: &str = r#"
    rm -f /run/hold
    until scancel --user alice; do [ $SECONDS -lt 60 ] || exit 1; sleep 0.5; done"#;

const SLURMD: &str = "kill -9 $(pgrep -x slurmd); sleep 1; start-slurmd";
/// The epilogue, in which the command runs at a job's end.
const EPILOGUE: &str = "kill -9 $(pgrep -f '[s]lurmstepd')";
/// The step's or the epilogue's command alone.
const COMMAND: &str = "kill -9 $(pgrep -f '[/]usr/local/bin/tacet job')";

/// After a slurmd that died in an epilogue, slurmctld asks for the job's end again some two minutes later.
const SLURM_KNOWS: &str =
    r#"until [ -z "$(squeue -h -w n1)" ]; do [ $SECONDS -lt 280 ] || { squeue; exit 1; }; sleep 0.2; done"#;

/// Slurm drains a node whose epilogue is killed, whatever plugins there are. The next job finishes the end of the last one.
const NEXT_JOB: &str = r#"
    case $(sinfo -h -N -n n1 -o %T) in drain*) scontrol update nodename=n1 state=resume ;; esac
    srun -w n1 -n1 -c3 --tacet true"#;
/// As the site's timer.
const SWEEP: &str = "tacet job sweep >/dev/null";

/// Where, who, how; and what is needed then before everything is back.
const KILLS: [(&str, &str, &str, &str); 14] = [
    ("before begin", "slurmd", SLURMD, ""),
    ("before begin", "slurmctld", SLURMCTLD, ""),
    ("before begin", "the command", COMMAND, SWEEP),
    ("after begin", "slurmd", SLURMD, ""),
    ("after begin", "slurmctld", SLURMCTLD, ""),
    ("after begin", "the command", COMMAND, SWEEP),
    ("before end", "slurmd", SLURMD, ""),
    ("before end", "slurmctld", SLURMCTLD, ""),
    ("before end", "the command", COMMAND, SWEEP),
    ("before end", "the epilogue", EPILOGUE, NEXT_JOB),
    ("after end", "slurmd", SLURMD, ""),
    ("after end", "slurmctld", SLURMCTLD, ""),
    ("after end", "the command", COMMAND, ""),
    ("after end", "the epilogue", EPILOGUE, NEXT_JOB),
];

#[test]
#[ignore = "boots a cluster"]
fn everything_comes_back_whichever_daemon_is_killed_while_a_job_begins_or_ends() {
    let real = lines("readlink /usr/local/bin/tacet").concat();
    does(&WRAPPER.replace("@TACET@", &real));
    for (point, daemon, kill, then) in KILLS {
        eprintln!("{point}: {daemon} is killed");
        let ends = point.ends_with("end");
        if ends {
            does(COMPUTES);
        }
        does(&if ends { ENDS } else { BEGINS }.replace("@POINT@", point));
        does(kill);
        does(GOES_ON);
        does(SLURM_KNOWS);
        does(then);
        does(QUIET);
    }
    does(&format!("ln -sf {real} /usr/local/bin/tacet"));
    assert_eq!(lines(&format!("srun -w n1 -n1 -c3 --tacet $START {WHERE}")), ["n1 1 2"]);
    does(QUIET);
}
