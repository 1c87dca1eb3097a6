# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# resize.sh: CPUs and memory join a partition and leave it while programs run there. Called by the runner with the name of a
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

# Memory joins: a program that had no room has it then, and the core of another one is not rung. All goes back with down.
memory_joins() {
	local before bells
	up --cpus 1-2 --memory 64M
	before=$(programs_limit)
	$T run --cpus 1 -- $F/victim compute &
	until_true "it computes" computes
	refused "multiple" $T grow --memory 3M
	refused "began without memory of it" $T grow --memory 64M --node 7
	refused "cannot free" $T grow --memory 1T
	[ "$(programs_limit)" = "$before" ] || fail "refused, and yet: $(programs_limit)"
	$T grow --memory 64M --dry-run >/dev/null || fail "dry run"
	bells=$(doorbells 1)
	moves grow 64M
	moves grow 62M
	# to make room Linux may move pages of its own that the program has
	[ "$(doorbells 1)" = "$bells" ] || note "CPU 1 was rung: $bells, then $(doorbells 1)"
	[ "$(programs_limit)" = $((before + (126 << 20))) ] || fail "programs have $(programs_limit), and had $before"
	until_true "it still computes" computes
	takes 150 || fail "150 MiB: $(cat .takes)"
	holds 150
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	until_true "memory is given back" given_back
	down
	up --cpus 1-2 --memory 64M
	[ "$(programs_limit)" = "$before" ] || fail "the next partition has $(programs_limit), not $before"
	holds 30
	kill -9 $holder
	until_true "nothing is hosted again" hosted 0
	down
}

# Memory leaves where it is free; who has the rest is said. What left may join again, and is cleared.
memory_leaves() {
	local before round
	up --cpus 1-2 --spare 3 --memory 64M
	before=$(programs_limit)
	victim faults --cpus 1
	refused "so no more can leave" $T shrink --memory 2M
	for round in $(seq "$(often 3 20)"); do
		moves grow 96M
		takes 100 || fail "round $round: 100 MiB: $(cat .takes)"
		holds 110
		refused "process $holder has some of it" $T shrink --memory 96M
		[ "$(programs_limit)" -ge "$before" ] || fail "round $round: programs have $(programs_limit)"
		kill -9 $holder
		wait $holder
		until_true "round $round: the rest leaves" leaves_to "$before"
		[ "$(programs_limit)" = "$before" ] || fail "round $round: programs have $(programs_limit), and had $before"
		alive "$rounds_file"
	done
	$T grow --cpus 3 --memory 32M >/dev/null || fail "CPUs and memory do not join together"
	refused "cannot free" $T grow --memory 1T
	$T shrink --cpus 3 --memory 32M >/dev/null || fail "CPUs and memory do not leave together"
	[ "$(programs_limit)" = "$before" ] || fail "programs have $(programs_limit), and had $before"
	moves grow 32M
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	down
}

# Commands that are killed at any moment: nothing is lost, and what they began can be ended.
memory_killed() {
	local before round now
	up --cpus 1-2 --memory 64M
	before=$(programs_limit)
	victim faults --cpus 1
	for round in $(seq "$(often 6 40)"); do
		timeout -s KILL 0.$((RANDOM % 5)) $T grow --memory 96M >/dev/null 2>&1
		until_true "the killed command is gone" gone_command grow
		now=$(programs_limit)
		[ "$now" = "$before" ] || [ "$now" = $((before + (96 << 20))) ] || fail "round $round: grow leaves $now"
		timeout -s KILL 0.$((RANDOM % 5)) $T shrink --memory 96M >/dev/null 2>&1
		until_true "the killed command is gone" gone_command shrink
		until_true "round $round: the rest leaves" leaves_to "$before"
		alive "$rounds_file"
	done
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	down
}

moves() { # grow|shrink SIZE
	$T $1 --memory $2 >.resize-said 2>&1 || fail "$1 $2: $(cat .resize-said)"
}

programs_limit() { # bytes that programs can have
	field "s['own_bytes_limit']"
}

leaves_to() { # BYTES: all that joined is back at Linux
	local more=$(($(programs_limit) - $1))
	[ $more = 0 ] || $T shrink --memory $more >.resize-said 2>&1
	[ "$(programs_limit)" = "$1" ]
}

takes() { # MIB: does a program find so much zeroed, and keep what it writes there, on CPU 2?
	$T run --cpus 2 -- python3 -c "$(touches $1)" >.takes 2>&1
}

holds() { # MIB: a program has so much of the partition; sets $holder
	rm -f .holds
	$T run --cpus 2 -- python3 -c "$(touches $1)
open('.holds', 'w').close()
import time
time.sleep(1000)" &
	holder=$!
	until_true "it holds $1 MiB" [ -e .holds ]
	[ "$(field "s['own_bytes']")" -ge $(($1 << 20)) ] || fail "the partition has no $1 MiB for it"
}

touches() { # MIB
	cat <<END
import mmap
memory = mmap.mmap(-1, $1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, $1 << 20, 4096):
    assert memory[at] == 0, at
    memory[at] = at >> 12 & 255
for at in range(0, $1 << 20, 4096):
    assert memory[at] == at >> 12 & 255, at
END
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
