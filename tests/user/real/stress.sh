#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Each stressor for a fixed number of operations, with its own verification; with FULL=1 four times as many.
. "$(dirname "$0")/lib"
need stress-ng
while read -r name ops options; do
	[ "${FULL:-0}" = 1 ] && ops=$((4 * ops))
	# shellcheck disable=SC2086  # options are words
	if stress-ng --$name 2 --$name-ops $ops $options --verify --temp-path . >log 2>&1; then
		echo "$name ok"
	else
		echo "$name failed"
		tail -n 5 log
	fi
done <<'LIST'
cpu 5 --cpu-method matrixprod
vm 50 --vm-bytes 8m
futex 500
pthread 100
signal 500
fork 15
mmap 2 --mmap-bytes 2m
switch 250
sigsegv 100
sigfpe 50
timer 100 --timer-freq 1000
pipe 100
tlb-shootdown 10
mprotect 50
madvise 2
clone 25
itimer 50
bsearch 2
matrix 10
zombie 15
LIST
