#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later OR MIT
# Prolog= of slurm.conf for sites that do not build the plugin, with PrologFlags=RunInJob (Slurm 24.05 or newer): a job of
# `srun --comment=tacet tacet run ./a.out` has all of its CPUs but the first in the partition. epilog.sh gives them back.
#
# Slurm runs it as root in the job's extern step, whose control group names the job's CPUs. It must never fail: that would
# drain the node. A job that cannot begin is refused by `tacet run`, and the journal says why.
TACET=${TACET:-$(command -v tacet || echo /usr/local/bin/tacet)}

case ",$SLURM_JOB_COMMENT," in
*,tacet,*) ;;
*) exit 0 ;;
esac

complain() {
	echo "tacet: job $SLURM_JOB_ID: $1" >&2
	logger -t tacet-prolog "job $SLURM_JOB_ID: $1" 2>/dev/null
	exit 0
}

# A list of CPUs like 1-2,5: one in a line.
each() {
	echo "$1" | tr , '\n' | while IFS=- read -r first last; do
		[ -z "$first" ] || seq "$first" "${last:-$first}"
	done
}

group=$(sed -n 's|^0::\(/.*/job_[0-9]*\)/.*|\1|p' /proc/self/cgroup)
[ -n "$group" ] || complain "it has no control group of version 2: PrologFlags=RunInJob, ProctrackType=proctrack/cgroup"
cpus=$(cat "/sys/fs/cgroup$group/cpuset.cpus" 2>/dev/null)
[ -n "$cpus" ] || complain "Slurm does not confine jobs to their CPUs: ConstrainCores=yes in cgroup.conf"
linux=$(each "$cpus" | head -n 1)
# a core whose other hardware thread is Linux's would be disturbed by it
kept=$(each "$(cat "/sys/devices/system/cpu/cpu$linux/topology/thread_siblings_list" 2>/dev/null || echo "$linux")")
take=$(each "$cpus" | grep -vxF "$kept" | paste -sd, -)
[ -n "$take" ] || complain "it has the CPUs $cpus alone, and Linux keeps one core: ask for more (-c)"

# what an earlier job left behind is in the way
"$TACET" job sweep >/dev/null 2>&1
said=$("$TACET" job begin "$SLURM_JOB_ID" --user "$SLURM_JOB_UID" --cpus "$take" --cgroup "$group" 2>&1 >/dev/null) ||
	complain "$(echo "$said" | tail -n 1)"
exit 0
