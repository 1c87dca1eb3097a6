# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# counted.sh: functions for ablation.sh and settings.sh: they switch a countermeasure on and off, read the kernel's own
# tables and events, and judge the counts. Sourced after lib.sh. Counts, and never times.

application="2 3"
system="0 1"
instance=/sys/kernel/tracing/instances/ablation

on() { # COUNTERMEASURE: applies it alone
	tune apply --cpus 2-3 --only "$1"
}

off() {
	tune undo
}

# --- the kernel's counts

table() { # FILE ROW CPU...: the sum of these CPUs' columns, of /proc/interrupts
	local file=$1 row=$2
	shift 2
	awk -v row="$row:" -v cpus="$*" '
		$1 == row { count = split(cpus, list, " "); for (i = 1; i <= count; i++) sum += $(list[i] + 2) }
		END { print sum + 0 }' "$file"
}

watch() { # EVENT: starts to count it
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
	mkdir $instance || fail "no tracing"
	echo 1 >"$instance/events/$1/enable" || fail "no event $1"
}

events() { # PATTERN CPU...: how many since watch
	local pattern=$1 cpu sum=0
	shift
	for cpu; do
		grep -q '^overrun: 0$' "$instance/per_cpu/cpu$cpu/stats" || fail "events were lost on CPU $cpu"
		sum=$((sum + $(grep -c "$pattern" "$instance/per_cpu/cpu$cpu/trace")))
	done
	echo $sum
}

forget() {
	echo 0 >$instance/events/enable
	rmdir $instance || fail "tracing stays"
}

small_again() { # at the first event, older kernels also enlarge the buffers of the whole node, permanently
	echo 4 >/sys/kernel/tracing/buffer_size_kb
}

none() { # WHAT COUNT
	[ "$2" = 0 ] || fail "with its countermeasure: $1 came $2 times to the application's CPUs"
}

some() { # WHAT COUNT
	[ "$2" -gt 0 ] || fail "without its countermeasure: $1 did not come to the application's CPUs"
	counted="$counted $1 $2;"
}

struck_while() { # EVENT PATTERN COMMAND...: how many while it runs, on the application's CPUs and on others
	local event=$1 pattern=$2
	shift 2
	watch "$event"
	"$@"
	struck=$(events "$pattern" $application)
	elsewhere=$(events "$pattern" $system)
	forget
}

vanishes() { # EVENT PATTERN WHAT COUNTERMEASURE COMMAND...: with it only other CPUs see some, without it also these
	local event=$1 pattern=$2 what=$3 countermeasure=$4
	shift 4
	on "$countermeasure"
	struck_while "$event" "$pattern" "$@"
	off
	none "$what" "$struck"
	[ "$elsewhere" -gt 0 ] || fail "there was no $what at all"
	at_last "$event" "$pattern" "$what" "$@"
}

at_last() { # EVENT PATTERN WHAT COMMAND...: tries several times, because Linux chooses where and when unbound work runs
	local event=$1 pattern=$2 what=$3 tries
	shift 3
	for tries in $(seq 20); do
		struck_while "$event" "$pattern" "$@"
		[ "$struck" = 0 ] || break
	done
	some "$what" "$struck"
}

# --- programs that compute, and their CPUs

newer_than() { # VERSION
	[ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]
}

compute_on_application() { # WORDS before the command
	local cpu
	spinners=
	for cpu in $application; do
		"$@" taskset -c $cpu $F/source spin &
		spinners="$spinners $!"
		until_true "it computes on CPU $cpu" computes $!
	done
}

computes() { # PID: is it our program, and has it had CPU time?
	[ "$(cat /proc/$1/comm)" = source ] && [ "$(cut -d' ' -f14 /proc/$1/stat)" -gt 0 ]
}

compute_no_more() {
	local spinner
	kill $spinners
	for spinner in $spinners; do wait $spinner; done
}
