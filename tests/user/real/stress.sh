#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Each stressor for a fixed number of operations, with its own verification.
. "$(dirname "$0")/lib"
need stress-ng
while read -r name ops options; do
	# shellcheck disable=SC2086  # options are words
	if stress-ng --$name 2 --$name-ops $ops $options --verify --temp-path . >log 2>&1; then
		echo "$name ok"
	else
		echo "$name failed"
		tail -n 5 log
	fi
done <<'LIST'
cpu 20 --cpu-method matrixprod
vm 200 --vm-bytes 8m
futex 1000
pthread 200
signal 1000
fork 60
mmap 4 --mmap-bytes 2m
switch 1000
sigsegv 200
sigfpe 100
timer 200 --timer-freq 1000
pipe 500
tlb-shootdown 20
mprotect 200
madvise 4
clone 100
itimer 100
bsearch 4
matrix 20
zombie 50
LIST
