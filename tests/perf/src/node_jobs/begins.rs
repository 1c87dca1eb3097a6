// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long a job takes to begin and to end, beside what Slurm takes for the smallest job.
//!
//! The turns alternate in one node, so the host's other work meets all of them.

use std::collections::BTreeMap;

use crate::Result;
use crate::configuration::KEPT;
use crate::guest::Guest;
use crate::metric::Metrics;
use crate::times::middle;

/// How often each command is timed.
const TURNS: usize = 5;

/// One turn: a line with the name and the microseconds of each step. CPUs that a step finds elsewhere are moved untimed.
const TURN: &str = r#"
    took() {
        local name=$1 begun=${EPOCHREALTIME/./}
        shift
        "$@" >/dev/null
        echo "$name $((${EPOCHREALTIME/./} - begun))"
    }
    took srun srun -n1 hostname
    took begin_kept $TACET job begin bench --user 0 --cpus $CPUS
    took hosted env TACET_JOB=bench srun -n1 --cpu-bind=none $TACET run -- hostname
    took end_kept $TACET job end bench
    $TACET shrink --cpus $CPUS >/dev/null
    took begin_new $TACET job begin bench --user 0 --cpus $CPUS
    took end_returned $TACET job end bench --return
    $TACET grow --cpus $CPUS >/dev/null"#;

/// Adds the figures. The node is the only one of a cluster with Slurm, and has no partition; it has none afterwards.
pub fn begins(guest: &Guest, metrics: &mut Metrics) -> Result<()> {
    let tacet = guest.programs.tacet().display().to_string();
    guest.run(&[&tacet, "up", "--spare", KEPT, "--memory", "64M"])?;
    guest.run(&[&tacet, "grow", "--cpus", KEPT])?;
    let script = format!("TACET='{tacet}' CPUS={KEPT}\n{TURN}");
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for _ in 0..TURNS {
        for (name, microseconds) in guest.numbers(&["bash", "-ec", &script])? {
            times.entry(name).or_default().push(microseconds / 1e3);
        }
    }
    guest.down()?;
    let of = |name: &str| middle(times.get(name).cloned().unwrap_or_default());
    let srun = of("srun");
    let how = format!("middle of {TURNS} turns in one node with Slurm; `srun` is `srun -n1 hostname` as root");
    for (ratio, name, step) in [
        ("job_start_ratio", "begin_kept", "`tacet job begin` of two CPUs that the partition has, then srun"),
        ("job_start_ratio_new_cpus", "begin_new", "`tacet job begin` of two CPUs that Linux has, then srun"),
        ("job_end_ratio", "end_kept", "srun, then `tacet job end`, which keeps the CPUs in the partition"),
        ("job_end_ratio_returned", "end_returned", "srun, then `tacet job end --return`"),
    ] {
        metrics.add(ratio, (srun + of(name)) / srun, "ratio", None, &format!("time: {step}, over srun alone; {how}"));
        metrics.add(
            &format!("job_{name}_ms"),
            of(name),
            "ms",
            Some(srun),
            &format!("the command alone; baseline: srun; {how}"),
        );
    }
    let step = "`srun -n1 tacet run -- hostname` in a job, over srun alone";
    metrics.add("job_hosted_step_ratio", of("hosted") / srun, "ratio", None, &format!("time: {step}; {how}"));
    Ok(())
}
