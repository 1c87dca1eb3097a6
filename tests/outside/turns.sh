#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# turns.sh OUT CPUS MEMORY RUNS COMMAND: runs a command natively on these CPUs, and hosted on a partition of the same CPUs, in
# turns: each second pair begins with the hosted run. Called by common.sh, in a node or on this machine, as root. It
# writes OUT/native.N and OUT/hosted.N, and leaves no partition behind.
set -eu
out=$1 cpus=$2 memory=$3 runs=$4 command=$5
. "$(dirname "$0")/partition.sh"

# once KIND N LAUNCHER PREFIX…: runs it below the prefix; a failure shows the end of the output.
once() {
	kind=$1 number=$2 line=$(printf %s "$command" | sed "s|@|$3|g")
	shift 3
	if ! "$@" sh -c "$line" >"$out/$kind.$number" 2>&1 </dev/null; then
		echo "turns.sh: $kind run $number of \`$line\` failed; its last lines:" >&2
		tail -n 5 "$out/$kind.$number" >&2
		exit 1
	fi
}

native() {
	once native "$1" '' taskset -c "$cpus"
}

hosted() {
	up
	once hosted "$1" 'tacet run --' env
	down
}

turn=1
while [ "$turn" -le "$runs" ]; do
	if [ $((turn % 2)) = 1 ]; then
		native "$turn"
		hosted "$turn"
	else
		hosted "$turn"
		native "$turn"
	fi
	echo "turn $turn of $runs done"
	turn=$((turn + 1))
done
