#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Each stressor for a fixed number of operations, with its own verification; with FULL=1 twice as many.
. "$(dirname "$0")/lib"
need stress-ng
while read -r name ops options; do
	[ "${FULL:-0}" = 1 ] && ops=$((2 * ops))
	# shellcheck disable=SC2086  # options are words
	if stress-ng --$name 2 --$name-ops $ops $options --verify --temp-path . >log 2>&1; then
		echo "$name ok"
	else
		echo "$name failed"
		tail -n 5 log
	fi
done <<'LIST'
cpu 10 --cpu-method matrixprod
vm 100 --vm-bytes 8m
futex 500
pthread 100
signal 500
fork 30
mmap 2 --mmap-bytes 2m
switch 500
sigsegv 100
sigfpe 50
timer 100 --timer-freq 1000
pipe 250
tlb-shootdown 10
mprotect 100
madvise 2
clone 50
itimer 50
bsearch 2
matrix 10
zombie 25
LIST
