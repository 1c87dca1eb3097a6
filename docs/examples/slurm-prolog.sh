#!/bin/sh
# A part of a Slurm prologue: Prolog=/etc/slurm/prolog.d/*.sh in slurm.conf, for
# nodes that are given to one job at a time. An exit status that is not 0 drains the
# node and gives the job another; the verdict, with the thief, is in slurmd's log.
#
# Five seconds are too short for noise that comes once a minute: measure longer in
# a health check, and let this one catch what is plainly wrong.

verdict=$(tacet noise check --max-noise 500us --rate 1e-3 --duration 5s 2>&1)
status=$?
logger -t tacet-noise "job ${SLURM_JOB_ID:-?}: $verdict"
case $status in
0) exit 0 ;;
1) echo "$verdict" >&2; exit 1 ;;
*) exit 0 ;; # it could not be said: no reason to drain a node
esac
