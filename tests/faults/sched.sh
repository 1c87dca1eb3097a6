# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# sched.sh: HPL, the HPC scheduling class. Called by the runner with the name of a
# function; what needs more than a shell is in sched.py, kept.py, ends.py, launch.py, reports.py and turns.py.

. "$F/lib.sh"

promise() { # FILE, NAMES of its functions
	local file=$1 name
	shift
	for name in "$@"; do
		python3 $F/$file.py "$name" || fail "$name: $(tail -3 .stderr)"
		grep -qx disabled /sys/kernel/sched_ext/state || fail "$name: a scheduler is left"
		# a task that waits lost the turn that it was given (bpf/normal.h)
		dmesg | grep "has zero slice" && fail "$name: a task was to run without a turn"
	done
}

placement() { promise sched placement; }
placement_at_caches() { promise sched placement_at_caches; }
schedules() { promise sched randomly; }
membership() { promise sched inheritance group daemon; }
hotplug() { promise sched hotplug confined spare spares; }
death() { promise sched killed; }
trickle() { promise sched trickle; }
trickle_in_time() { promise sched trickle_in_time; }
load() { promise sched storm real_time asleep behind; }
launchers() { promise launch mpi widened; }
budget() { promise launch budget; }
tickless() { promise launch tickless; }
policies() { promise reports policies; }
changes() {
	promise reports later_cpus changing_affinities brief_tasks
	# the kernel frees later what ended on a CPU without a tick, and the runner counts pages
	sleep 5
}
real_time_hog() { promise reports real_time_hog real_time_without_limit; }
kept() { promise kept kept; }
ends() { promise ends "$(full 2 10)"; }
turns() { promise turns asked restless owed; }

# Invalid options are refused in one line, and nothing changes.
choices() {
	refused "half of the period" $T sched start --trickle 600ms
	refused "more than 3s" $T sched start --trickle-period 4s
	refused "use 1ms to 2s" $T sched start --quantum 5s
	refused "CPU 99: it does not exist" $T sched start --trickle-cpu 99
	refused "holds every task" $T sched start --group /
	refused "No such file" $T sched start --group nowhere
	refused "no user of this name" $T sched start --keep nobody-at-all
	refused "goes with no other" $T sched start --keep none --keep root
	refused "No such file" $T sched start --keep no/where
	refused "no process of this name" $T sched start --daemon nobody-at-all
	refused "not loaded" $T sched stop
	refused "not loaded" $T sched run -- true
	refused "not permitted" setpriv --reuid=1000 --clear-groups $T sched start
	$T sched start >/dev/null || fail "start"
	refused "loaded already" $T sched start
	$T sched stop >/dev/null || fail "stop"
	$T sched status | grep -q "Linux's own scheduler schedules" || fail "$($T sched status)"
}

# A signal while the class is loaded: it is not loaded, and the command says so; or it is.
interrupted() {
	local signal pause status
	for signal in INT TERM HUP; do
		for pause in 0.05 0.2 0.5 1 2; do
			env --default-signal "$T-sched" start >said 2>&1 &
			sleep $pause
			kill -$signal $! 2>/dev/null
			wait $!
			status=$?
			case $status in
			4) grep -q "interrupted by SIG$signal: HPL is not loaded" said || fail "it said $(cat said)" ;;
			0) "$T-sched" stop >said 2>&1 || fail "stop: $(cat said)" ;;
			129 | 130 | 143) ;;
			*) fail "$signal after $pause s: status $status: $(cat said)" ;;
			esac
			grep -qx disabled /sys/kernel/sched_ext/state || fail "$signal after $pause s, status $status: HPL is left"
		done
	done
}

# On a kernel without sched_ext the command says so, and names the nearest alternative.
unsupported() {
	local command
	for command in start "run -- true"; do
		refused "has no sched_ext" $T sched $command
		refused "chrt --fifo" $T sched $command
		[ "$($T sched $command 2>&1 | wc -l)" = 1 ] || fail "$command: more than one line"
	done
	$T sched start 2>/dev/null
	[ $? = 3 ] || fail "the status is not 3"
}

scenario "$@"
