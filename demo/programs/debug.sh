#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# debug.sh COMMAND...: starts the command, attaches gdb while it computes, prints a variable, stops it at a breakpoint,
# detaches, and lets it continue. Standard error tells whether the co-kernel hosts the program after that.
export DEBUGINFOD_URLS=
"$@" ./counter >counter.out &
pid=$!
for _ in {1..300}; do grep -q computing counter.out && break; sleep 0.1; done
sleep 0.5
gdb -nx -q -batch -p $pid -ex 'set confirm off' \
	-ex 'printf "radius is %g\n", radius' \
	-ex 'break make_round' -ex 'continue' \
	-ex 'printf "at the breakpoint, the argument is the round: %d\n", number == rounds' \
	-ex 'delete' -ex 'set var seen = rounds' -ex 'detach' >gdb.out 2>gdb.err </dev/null
grep -E '^(radius|at the breakpoint)' gdb.out || cat gdb.out gdb.err >&2
sleep 1
tacet ps --json 2>/dev/null | grep -q "\"pid\": $pid," && echo "hosted" >&2
kill -TERM $pid
wait $pid
echo "ended with $?"
grep -v computing counter.out
