#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later OR MIT
# Epilog= of slurm.conf beside prolog.sh: the job's programs end and its CPUs go back to Linux. It must never fail: that
# would drain the node. Slurm does not call it if the extern step was killed; then `tacet job sweep` ends the job
# (tacet-job-sweep.timer).
TACET=${TACET:-$(command -v tacet || echo /usr/local/bin/tacet)}

case ",$SLURM_JOB_COMMENT," in
*,tacet,*) ;;
*) exit 0 ;;
esac
said=$("$TACET" job end "$SLURM_JOB_ID" --return 2>&1 >/dev/null) ||
	logger -t tacet-epilog "job $SLURM_JOB_ID: $(echo "$said" | tail -n 1)" 2>/dev/null
exit 0
