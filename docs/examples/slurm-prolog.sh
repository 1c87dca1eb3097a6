#!/bin/sh
# A part of a Slurm prologue (Prolog=/etc/slurm/prolog.d/*.sh in slurm.conf) for nodes
# that run one job at a time. If the exit status is not 0, Slurm drains the node and
# gives the job another one; slurmd's log has the verdict, with the thief.
#
# Five seconds are too short for noise that comes once a minute. Measure longer in a
# health check, and let this script catch nodes that are clearly wrong.

# Slurm gives a prologue no search path.
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

# The job's CPUs: those of its control group, if it has one yet (PrologFlags=RunInJob
# with ConstrainCores=yes); else those that `tacet tune` keeps for applications; else
# those on which Slurm's own programs may run. Not the numbers that scontrol shows:
# they are Slurm's own, not Linux's.
cpus=$(cat /sys/fs/cgroup/system.slice/*slurmstepd.scope/job_"$SLURM_JOB_ID"/cpuset.cpus.effective 2>/dev/null)
[ -n "$cpus" ] || cpus=$(tacet tune status --json 2>/dev/null | sed -n 's/.*"cpus": "\([0-9,-]*\)".*/\1/p' | head -n 1)
[ -n "$cpus" ] || cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)

verdict=$(tacet noise check --cpus "$cpus" --max-noise 500us --rate 1e-3 --duration 5s 2>&1)
status=$?
logger -t tacet-noise "job ${SLURM_JOB_ID:-?} on CPUs $cpus: $verdict"
case $status in
0) exit 0 ;;
1) echo "$verdict" >&2; exit 1 ;;
*) exit 0 ;; # not enough to say, or the check itself failed: no reason to drain a node
esac
