#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Each stressor for a fixed number of operations, with its own verification; with FULL=1 eight times as many.
. "$(dirname "$0")/lib"
need stress-ng
while read -r name ops options; do
	[ "${FULL:-0}" = 1 ] && ops=$((8 * ops))
	# shellcheck disable=SC2086  # options are words
	if stress-ng --$name 2 --$name-ops $ops $options --verify --temp-path . >log 2>&1; then
		echo "$name ok"
	else
		echo "$name failed"
		tail -n 5 log
	fi
done <<'LIST'
cpu 3 --cpu-method matrixprod
vm 25 --vm-bytes 8m
futex 250
pthread 50
signal 250
fork 8
mmap 1 --mmap-bytes 2m
switch 125
sigsegv 50
sigfpe 25
timer 50 --timer-freq 1000
pipe 50
tlb-shootdown 5
mprotect 25
madvise 1
clone 13
itimer 25
bsearch 1
matrix 5
zombie 8
LIST
