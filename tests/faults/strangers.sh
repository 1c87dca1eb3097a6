# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# strangers.sh: what tasks that are not hosted notice of hosted ones: nothing but what concerns them.
# Called by the runner with the name of a function.

. "$F/lib.sh"

tracing=/sys/kernel/tracing

# Linux's function tracer tells which calls our probe sees.
watch_probe() {
	[ -e $tracing/trace ] || mount -t tracefs none $tracing
	echo 0 >$tracing/tracing_on
	echo 64 >$tracing/buffer_size_kb
	echo tacet_on_call_exit >$tracing/set_ftrace_filter || fail "the probe cannot be traced: $(tail -1 .stderr)"
	echo function >$tracing/current_tracer || fail "no function tracer: $(tail -1 .stderr)"
}

watch_nothing() { # keeps its small buffer
	echo nop >$tracing/current_tracer
	echo >$tracing/set_ftrace_filter
	echo >$tracing/set_ftrace_pid
	echo >$tracing/set_event_pid
	echo >$tracing/trace
	echo 1 >$tracing/tracing_on
}

traced() { # WORD PID FILE: how many lines with that word come from the process while it goes on
	echo 0 >$tracing/tracing_on
	echo "$2" >$tracing/set_ftrace_pid
	echo >$tracing/trace
	echo 1 >$tracing/tracing_on
	alive "$3"
	alive "$3"
	echo 0 >$tracing/tracing_on
	grep -c -e "-$2 .*$1" $tracing/trace
}

pays() { # PID FILE
	[ "$(traced tacet_on_call_exit "$1" "$2")" != 0 ]
}

pays_nothing() { # PID FILE
	! pays "$@"
}

stranger() { # FILE: a program on Linux that makes calls; sets $stranger
	$F/victim calls "$1" &
	stranger=$!
	until_true "it begins" counted "$1"
}

finish() {
	kill -9 $(jobs -p)
	wait
	until_true "nothing is hosted" hosted 0
	down
}

# Strangers that were there before, and those that came later: their calls do not reach our probes.
pay_nothing() {
	local early
	up
	stranger early.rounds
	early=$stranger
	victim calls
	stranger late.rounds
	alive early.rounds
	watch_probe
	pays $victim $rounds_file || fail "the hosted program's calls are not seen: this test sees nothing"
	pays $early early.rounds && fail "a stranger of before pays"
	pays $stranger late.rounds && fail "a stranger of later pays"
	$T recouple $victim || fail "recouple"
	until_true "it is a stranger" hosted 0
	alive $rounds_file
	until_true "a program that was hosted pays nothing" pays_nothing $victim $rounds_file
	watch_nothing
	finish
}

rung() { # by all cores
	field "sum(core['doorbells_sent'] for core in s['cores'])"
}

# Barriers for everyone, whoever makes them.
are_heard() {
	local before after
	up
	victim compute
	before=$(rung)
	after=$(rung)
	[ $((after - before)) -lt 40 ] || fail "the cores are rung all the time: this test sees nothing"
	before=$(rung)
	python3 -c 'import ctypes
call = ctypes.CDLL(None).syscall
for i in range(40):
    call(110)
    assert call(324, 1, 0, 0) == 0' || fail "membarrier"
	after=$(rung)
	[ $((after - before)) -ge 40 ] || fail "40 barriers of a stranger rang cores $((after - before)) times"
	alive $rounds_file
	finish
}

others_trace() { # 0 or 1
	echo "$1" >$tracing/events/raw_syscalls/sys_enter/enable || fail "the event cannot be switched"
}

sees() { # PID FILE: another tracer sees its calls
	echo "$1" >$tracing/set_event_pid
	[ "$(traced sys_enter "$1" "$2")" != 0 ]
}

# Another tracer of system calls sees everyone's, whenever it comes. When it has gone strangers pay nothing again.
are_traced() {
	local early i
	up
	stranger early.rounds
	early=$stranger
	victim compute
	alive early.rounds
	watch_probe
	for i in 1 2; do
		pays $early early.rounds && fail "a stranger pays"
		others_trace 1
		sees $early early.rounds || fail "a tracer that came later does not see a stranger"
		stranger late$i.rounds
		sees $stranger late$i.rounds || fail "it does not see a stranger that came after it"
		others_trace 0
		until_true "the stranger pays nothing again" pays_nothing $early early.rounds
		until_true "nor does the other" pays_nothing $stranger late$i.rounds
	done
	others_trace 1
	kill -9 $victim
	until_true "nothing is hosted" hosted 0
	down
	sees $early early.rounds || fail "a tracer sees nothing more after down"
	up
	victim compute
	sees $early early.rounds || fail "a tracer sees nothing more beside a new partition"
	others_trace 0
	until_true "the stranger pays nothing at last" pays_nothing $early early.rounds
	watch_nothing
	finish
}

scenario "$@"
