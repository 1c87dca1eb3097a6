# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# debug.sh: gdb, strace, top and core dumps on programs that run on the
# partition. Called by the runner with the name of a function.

. "$F/lib.sh"

finish() {
	kill -9 $(jobs -p)
	wait
	until_true "nothing is hosted" hosted 0
	down
}

debugger() {
	up
	victim compute
	for _ in 1 2; do
		timeout 100 gdb -q -batch -p $victim -ex bt -ex 'print rounds[0] > 0' -ex detach >gdb.out 2>&1
		grep -q 'for_ever' gdb.out || fail "gdb sees no frame: $(tail -3 gdb.out)"
		grep -q '= 1' gdb.out || fail "gdb reads no variable: $(tail -3 gdb.out)"
		alive $rounds_file
	done
	timeout 200 gdb -q -batch -p $victim -ex 'break compute' -ex c -ex 'stepi 5' -ex bt -ex 'info registers rip' \
		-ex delete -ex detach >gdb.out 2>&1
	grep -q 'Breakpoint 1[.0-9]*, compute' gdb.out || fail "gdb does not stop it: $(tail -3 gdb.out)"
	alive $rounds_file
	until_true "it is hosted again" hosted_on 1
	finish
}

hosted_on() { # NUMBER: so many threads are on a core now
	[ "$($F/door list | awk '$4 != 0' | wc -l)" = "$1" ]
}

threads_debugged() {
	up
	victim threads
	timeout 200 gdb -q -batch -p $victim -ex 'thread apply all bt 3' -ex detach >gdb.out 2>&1
	[ "$(grep -c '^Thread' gdb.out)" -ge 6 ] || fail "gdb sees $(grep -c '^Thread' gdb.out) threads"
	alive $rounds_file
	finish
}

tracer() {
	up
	victim calls
	strace -f -p $victim -o trace.out &
	until_true "strace sees calls" grep -q 'getuid()' trace.out
	kill -INT $!
	wait $!
	alive $rounds_file
	hosted 1 || fail "it is not hosted after strace"
	$T run -- strace -o t2.out sh -c 'echo traced' | grep -qx traced || fail "a hosted strace traces nothing"
	grep -q 'write(1, "traced' t2.out || fail "the hosted strace sees no write"
	strace -f -o t3.out $T run -- /bin/echo hello | grep -qx hello || fail "echo under strace says nothing"
	grep -q 'write(1, "hello' t3.out || fail "strace sees no write of a hosted program"
	finish
}

# Linux's tools see the time that a thread spends on its core.
times() {
	up
	victim compute
	before=$(ticks)
	until_true "its time grows" more_ticks $((before + 20))
	top -b -n 2 -d 1 -p $victim >top.out
	tail -1 top.out | awk '{ exit !($9 > 0) }' || fail "top shows no time: $(tail -1 top.out)"
	finish
}

ticks() { # user time of the victim
	sed 's/.*) //' /proc/$victim/stat | cut -d' ' -f12
}

more_ticks() { # NUMBER
	[ "$(ticks)" -gt "$1" ]
}

# A core file after SIGQUIT has the registers from the core.
core_file() {
	up
	ulimit -c unlimited
	victim compute
	kill -ABRT $victim	# a shell has its background children ignore SIGQUIT
	ended $victim 134
	set -- core*
	[ -s "$1" ] || fail "no core file"
	gdb -q -batch $F/victim "$1" -ex bt >gdb.out 2>&1
	grep -q 'compute\|for_ever' gdb.out || fail "no frame in the core file: $(tail -3 gdb.out)"
	finish
}

scenario "$@"
