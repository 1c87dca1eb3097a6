#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Runs in a node, with busybox or a whole system: measure.sh QUANTA ROUNDS CPU OTHERS LOAD
# Starts LOAD on the CPUs of the mask OTHERS, lets the node settle, runs the quanta on CPU, ends the load. Prints facts,
# one a line, then `symbols` and the kernel's functions. /tmp/tacet-said contains `begun` once the quanta run.
directory=$(cd "$(dirname "$0")" && pwd)
cat /proc/kallsyms >/tmp/tacet-symbols

address_of() {
	for name; do
		sed -n "s/^\([0-9a-f]*\) [a-zA-Z] $name\$/\1/p" /tmp/tacet-symbols
	done | head -n 1
}

load=
if [ -n "$5" ]; then
	setsid taskset "$4" sh -c "$5" </dev/null >/tmp/tacet-load 2>&1 &
	load=$!
fi
sleep 3
if [ -n "$load" ] && ! kill -0 "$load" 2>/dev/null; then
	wait "$load"
	echo "the load ended before the first quantum, with status $?: $(tail -n 1 /tmp/tacet-load)" >&2
	exit 1
fi
offsets=$(address_of __per_cpu_offset) current=$(address_of pcpu_hot current_task)
"$directory/tacet-quanta" "$1" "$2" "$3" "${offsets:-0}" "${current:-0}" >/tmp/tacet-said || exit 1
[ -z "$load" ] || kill -9 "-$load"
cat /tmp/tacet-said
echo "release $(uname -r)"
echo "arguments $(cat /proc/cmdline)"
echo symbols
grep ' [tTwW] ' /tmp/tacet-symbols
