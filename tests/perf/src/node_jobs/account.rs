// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How wrong the CPU time of a computing hosted job is in its control group, from which Slurm's `sstat` takes it.
//!
//! Compared with the time in user mode that the core itself counts.

use crate::Result;
use crate::configuration::KEPT;
use crate::guest::Guest;
use crate::metric::Metrics;

/// $0 the command, $1 the program, which makes no call. Prints the microseconds that the group and the core have counted.
const COMPUTES: &str = r#"
    tacet=$0 group=/sys/fs/cgroup/bench_account
    mkdir -p $group
    used() {
        echo "group_$1 $(awk '$1 == "usage_usec" { print $2 }' $group/cpu.stat)"
        echo "core_$1 $($tacet ps --json | python3 -c 'import json, sys
print(sum(thread["user_ns"] for thread in json.load(sys.stdin)["threads"]) // 1000)')"
    }
    (echo 0 >$group/cgroup.procs; TACET_JOB=bench exec $tacet run -- $1) &
    until $tacet ps --json | grep -q user_ns; do kill -0 $!; sleep 0.2; done
    sleep 2; used before; sleep 10; used after
    kill $!; wait $! || true
    rmdir $group"#;

/// Adds the figure. The node has control groups of version 2 and no partition; it has none afterwards.
pub fn account(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let tacet = guest.programs.tacet().display().to_string();
    guest.run(&[&tacet, "up", "--cpus", KEPT, "--memory", "64M"])?;
    guest.run(&[&tacet, "job", "begin", "bench", "--user", "0", "--cpus", KEPT])?;
    let said = guest.numbers(&["bash", "-ec", COMPUTES, &tacet, &guest.programs.program("spin")])?;
    guest.run(&[&tacet, "job", "end", "bench"])?;
    guest.down()?;
    let grown = |who: &str| -> Result<f64> {
        let at = |when: &str| said.get(&format!("{who}_{when}")).copied().ok_or_else(|| format!("{who}: no time"));
        Ok(at("after")? - at("before")?)
    };
    let (group, core) = (grown("group")?, grown("core")?);
    if core <= 0.0 {
        return Err("the program did not compute".into());
    }
    let how = "1 - (CPU time that cpu.stat of the control group counted) / (time in user mode that the core counted), over \
               10 s of a hosted program that computes without a call";
    metrics.add("sstat_error", 1.0 - group / core, "ratio", None, how);
    Ok(())
}
