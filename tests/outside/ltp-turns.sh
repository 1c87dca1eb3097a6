#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# ltp-turns.sh OUT CPUS MEMORY LIMIT TREE: runs each test of OUT/tests, lines of a runtest file, natively on these CPUs and
# hosted on a partition of the same CPUs; each second test is hosted first, so two tests share a partition. Called by
# ltp.sh, in a node or on this machine, as root. It writes OUT/native.NAME and OUT/hosted.NAME, and to OUT/ends for each run a
# line with its exit status and its nanoseconds.
set -eu
out=$1 cpus=$2 memory=$3 limit=$4 tree=$5
. "$(dirname "$0")/partition.sh"
PATH=$tree/testcases/bin:$PATH LTPROOT=$tree TMPDIR=${TMPDIR:-/tmp}
export PATH LTPROOT TMPDIR

# once KIND PREFIX…: runs the test $name, whose command is $line, below the prefix.
once() {
	kind=$1 status=0
	shift
	begin=$(date +%s%N)
	timeout --kill-after=5 "$limit" "$@" sh -c "$line" >"$out/$kind.$name" 2>&1 </dev/null || status=$?
	echo "$name $kind $status $(($(date +%s%N) - begin))" >>"$out/ends"
}

native() {
	once native taskset -c "$cpus"
}

# A test's processes are children of children: LTP runs each test in a fork.
hosted() {
	once hosted tacet run --follow --
}

all=$(wc -l <"$out/tests") number=0
while read -r name line <&3; do
	number=$((number + 1))
	if [ $((number % 2)) = 1 ]; then
		native
		up
		hosted
	else
		hosted
		down --force
		native
	fi
	[ $((number % 20)) != 0 ] || echo "$number of $all tests done"
done 3<"$out/tests"
[ $((number % 2)) = 0 ] || down --force
