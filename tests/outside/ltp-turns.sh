#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# ltp-turns.sh OUT CPUS MEMORY LIMIT GROUP TREE: runs the tests of OUT/tests, lines of a runtest file, natively on these CPUs
# and hosted on a partition of the same CPUs, a group of so many tests after the other; each second group is hosted first, so
# two share a partition. Called by ltp.sh, in a node or on this machine, as root. It writes OUT/native.NAME and
# OUT/hosted.NAME, and to OUT/ends for each run a line with its exit status and its nanoseconds.
set -eu
out=$1 cpus=$2 memory=$3 limit=$4 group=$5 tree=$6
. "$(dirname "$0")/partition.sh"
PATH=$tree/testcases/bin:$PATH LTPROOT=$tree TMPDIR=${TMPDIR:-/tmp}
export PATH LTPROOT TMPDIR
# From a directory that a node shares, a program is read anew at each start: of this one that takes longer than most tests.
own=$(mktemp -d)
at_end() { rm -r "$own"; }
cp "$(command -v tacet)" "$own"

# each KIND PREFIX…: runs each test of the group below the prefix.
each() {
	kind=$1
	shift
	sed -n "$first,${last}p" "$out/tests" | while read -r name line; do
		status=0
		begin=$(date +%s%N)
		timeout --kill-after=5 "$limit" "$@" sh -c "$line" >"$out/$kind.$name" 2>&1 </dev/null || status=$?
		echo "$name $kind $status $(($(date +%s%N) - begin))" >>"$out/ends"
	done
}

native() {
	each native taskset -c "$cpus"
}

# A test's processes are children of children: LTP runs each test in a fork.
hosted() {
	each hosted "$own/tacet" run --follow --
}

all=$(wc -l <"$out/tests") first=1 odd=1
while [ "$first" -le "$all" ]; do
	last=$((first + group - 1))
	if [ "$odd" = 1 ]; then
		native
		up
		hosted
	else
		hosted
		down --force
		native
	fi
	[ "$last" -lt "$all" ] || last=$all
	echo "$last of $all tests done"
	first=$((last + 1)) odd=$((1 - odd))
done
[ "$odd" = 1 ] || down --force
