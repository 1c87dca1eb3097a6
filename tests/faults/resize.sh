# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# resize.sh: CPUs join a partition and leave it while programs run there. Called by the runner with the name of a
# function.

. "$F/lib.sh"

# A program that computes on CPU 1 is not disturbed by CPUs that come and go, and whoever is on these goes elsewhere.
beside() {
	local bells
	up --cpus 1 --spare 2-3
	victim compute --cpus 1
	bells=$(doorbells 1)
	changes grow 2-3
	victim threads --cpus 2-3
	until_true "CPU 3 has threads" placed_on 3
	changes shrink 3
	placed_on 3 && fail "threads count on CPU 3: $($F/door list | tr '\n' ';')"
	[ "$(cat $cpus/cpu3/online)" = 1 ] || fail "CPU 3 is not online"
	[ "$(cat $cpus/cpu3/topology/core_id)" ] || fail "CPU 3 has no topology"
	alive "$rounds_file"
	changes grow 3
	victim threads --cpus 3
	changes shrink 3
	alive "$rounds_file"
	# its program may go nowhere else, so it may go anywhere
	until_true "the threads go to CPUs 1 and 2" on_these 1 2
	[ "$(doorbells 1)" = "$bells" ] || note "CPU 1 was rung when threads came to it"
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	until_true "memory is given back" given_back
	down
	[ "$(cat $cpus/online)" = 0-3 ] || fail "online: $(cat $cpus/online)"
}

# The same with nobody who may come to CPU 1, and a program there that nobody else can disturb (the victim's file is
# mapped, and Linux's writeback has it flushed): its core is not rung once.
undisturbed() {
	local bells
	up --cpus 1 --spare 2-3
	$T run --cpus 1 -- $F/victim compute &
	until_true "it computes" computes
	bells=$(doorbells 1)
	for _ in $(seq "$(often 3 20)"); do
		changes grow 2-3
		victim calls --cpus 2
		changes shrink 3
		kill -9 $victim
		until_true "one is hosted" hosted 1
		changes shrink 2
	done
	[ "$(doorbells 1)" = "$bells" ] || fail "CPU 1 was rung: $bells, then $(doorbells 1)"
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	down
}

# A partition that begins without CPUs, and may end so.
empty() {
	$T up --spare 1-3 --memory 64M >/dev/null 2>.up-said || fail "up: $(cat .up-said)"
	[ "$(cat $cpus/online)" = 0-3 ] || fail "online: $(cat $cpus/online)"
	refused "has no CPU yet" $T run true
	refused "not one that may join" $T grow --cpus 0
	changes grow 2
	changes grow 2
	[ "$($T run -- sh -c 'echo here')" = here ] || fail "the first program does not run"
	until_true "nothing is hosted" hosted 0
	victim compute
	refused "last cpus" $T shrink --cpus 2
	changes grow 1
	changes shrink 2
	until_true "the program is on CPU 1" on_these 1 1
	kill -9 $victim
	until_true "nothing is hosted" hosted 0
	changes shrink 1-3
	[ "$(cat $cpus/online)" = 0-3 ] || fail "online: $(cat $cpus/online)"
	changes grow 1-3
	[ "$($T run -- sh -c 'echo again')" = again ] || fail "the last program does not run"
	until_true "nothing is hosted" hosted 0
	down
}

# Random steps, with programs that compute, wait, fault and fork: the status is what a model says.
random() {
	local cpu step here=1
	RANDOM=$(date +%N | sed 's/^0*//')
	note "seed $RANDOM"
	up --cpus 1 --spare 2-3
	victim compute --cpus 1
	$T run --follow -- $F/victim faults other.rounds &
	for step in $(seq "$(often 8 100)"); do
		cpu=$((RANDOM % 3 + 1))
		case " $here " in
		" $cpu ") continue ;;
		*" $cpu "*)
			changes shrink $cpu
			here=$(echo $here | tr ' ' '\n' | grep -v $cpu | tr '\n' ' ')
			;;
		*)
			changes grow $cpu
			here="$here $cpu"
			;;
		esac
		here=$(echo $here)
		[ "$(partition_cpus)" = "$(echo $here | tr ' ' '\n' | sort | tr '\n' ' ')" ] ||
			fail "step $step: CPUs $(partition_cpus), not $here"
		alive "$rounds_file"
		alive other.rounds
	done
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	until_true "memory is given back" given_back
	down
	[ "$(cat $cpus/online)" = 0-3 ] || fail "online: $(cat $cpus/online)"
}

# Commands that are killed at any moment: what they began is done or undone, and programs continue.
killed() {
	local round now
	up --cpus 1 --spare 2-3
	victim compute --cpus 1
	$T run --follow -- $F/victim threads threads.rounds &
	until_true "threads begin" counted threads.rounds
	for round in $(seq "$(often 6 40)"); do
		dies_after 0.$((RANDOM % 9)) grow 2-3
		now=$(partition_cpus)
		case "$now" in "1 " | "1 2 3 ") ;; *) fail "round $round: a killed grow leaves CPUs $now" ;; esac
		changes grow 2-3
		dies_after 0.$((RANDOM % 9)) shrink 2-3
		now=$(partition_cpus)
		case "$now" in "1 " | "1 2 3 ") ;; *) fail "round $round: a killed shrink leaves CPUs $now" ;; esac
		changes shrink 2-3
		[ "$(cat $cpus/online)" = 0,2-3 ] || fail "online: $(cat $cpus/online)"
		alive "$rounds_file"
		alive threads.rounds
	done
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	down
}

dies_after() { # SECONDS COMMAND LIST
	timeout -s KILL "$1" $T $2 --cpus $3 >/dev/null 2>&1
	until_true "the killed command is gone" gone_command "$2"
}

gone_command() { # COMMAND: the control lock is free again
	! pidof tacet >/dev/null || ! ps -eo args | grep -q "^[^ ]*tacet $1 "
}

# A core dies while others come and go: every program that was hosted ends, Linux gets all CPUs back.
fails() {
	local code
	up --cpus 1-2 --spare 3
	victim compute --cpus 1
	changes grow 3
	$F/door test 3 1 || fail "CPU 3 cannot be told to die"
	until_true "the partition has failed" state 3
	until_true "Linux has all CPUs" all_online
	refused "none is up" $T grow --cpus 3
	ended $victim 137
	up --cpus 1 --spare 2-3
	changes grow 3
	down
}

all_online() {
	[ "$(cat $cpus/online)" = 0-3 ]
}

changes() { # grow|shrink LIST
	$T $1 --cpus $2 >.resize-said 2>&1 || fail "$1 $2: $(cat .resize-said)"
}

partition_cpus() {
	field "' '.join(str(core['cpu']) for core in s['cores']) + ' '"
}

placed_on() { # CPU: is a thread there?
	$F/door list | awk -v cpu="$1" '$3 == cpu { found = 1 } END { exit !found }'
}

on_these() { # CPU CPU: no thread is on others
	$F/door list | awk -v a="$1" -v b="$2" '$3 != a && $3 != b { other = 1 } END { exit other }'
}

scenario "$@"
