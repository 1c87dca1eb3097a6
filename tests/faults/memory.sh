# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# memory.sh: programs whose anonymous memory comes from the partition. The partition must
# get all of it back, however they end. Called by the runner with the name of a function.

. "$F/lib.sh"

finish() {
	until_true "nothing is hosted" hosted 0
	until_true "all memory is given back" given_back
	down
}

# The suite's program with memory populated when mapped, with memory touched later, and with more memory than the
# partition has (populated, because faults in memory handed over to Linux are slow).
anonymous() {
	as_on_linux 64M --follow --populate
	# the suite has this too, on another kernel
	[ "$FULL" != 1 ] || as_on_linux 64M --follow
	as_on_linux 8M --follow --populate
}

as_on_linux() { # MEMORY [tacet run's arguments]
	up --memory "$1"
	shift
	TACET_CPUS=2-3 TEST_ONLY='anonymous*' TEST_TIMEOUT=120 \
		bash $U/run.sh $T run "$@" -- >suite.out 2>&1 ||
		fail "$*: $(grep '^not ok' suite.out)"
	# a policy that the range already satisfies must not cause a hand-over
	$T log | grep "(anonymous): its range becomes Linux's memory, for system call 237" && fail "$*: mbind"
	finish
}

# Read-only and executable pages stay in the range like others; only when the program locks some, the range is handed
# over.
rights() {
	up
	rights_left >before	# another scenario may have run it on this node
	$T run --follow -- $U/rights >rights.out || fail "rights: $(tail -n 1 rights.out)"
	cmp -s rights.out $U/rights.expected || fail "it said $(tr '\n' ';' <rights.out)"
	rights_left | comm -13 before - >left
	[ "$(grep -c 'system call 329$' left)" = 1 ] && [ "$(wc -l <left)" = 1 ] || fail "left: $(cat left)"
	finish
}

# .data and .bss are in the range if requested and possible, and are given back however the program ends.
data() {
	local before seed=$((RANDOM * RANDOM + 1))
	up --memory 512M
	# a hosted program must get its data from its file, not from what an earlier program left
	for program in data data-static-pie data-static; do
		for how in '' --populate; do
			# shellcheck disable=SC2086  # may be nothing
			$T run --memory all --follow $how -- $U/$program >data.out || fail "$program $how: $(tail -n 1 data.out)"
			cmp -s data.out $U/data.expected || fail "$program $how said $(tr '
' ';' <data.out)"
		done
		until_true "all memory is given back" given_back
	done
	taken_by data all 64
	taken_by data-static-pie all 64
	taken_by data own 0
	taken_by data-static all 0
	data_stay data-static "it is not position-independent"
	stay_where_linux_puts_them
	# without randomisation the victim is moved, too
	setarch -R $F/killer "$(often 30 600)" $seed $F/victim any all || exit
	finish
	note "seed $seed"
	up --memory 32M
	$T run --memory all --populate --follow -- $U/data >data.out || fail "without room: $(tail -n 1 data.out)"
	cmp -s data.out $U/data.expected || fail "without room it said $(tr '
' ';' <data.out)"
	data_stay data "the partition has no room"
	finish
}

# Programs that would have too few random places, or whose sanitizer forbids most of them.
stay_where_linux_puts_them() {
	$T run --memory all --follow -- $U/places >places.out || fail "places: $(tail -n 1 places.out)"
	cmp -s places.out $U/places.expected || fail "places said $(tr '\n' ';' <places.out)"
	data_stay places "a sanitizer is linked to it that has fixed addresses"
	$T run --memory all -- /bin/true || fail "true ended with $?"
	data_stay true "they are too small for a random place"
}

# Programs with damaged headers: the result must be the same as on Linux.
images() {
	local program seed=$((RANDOM * RANDOM + 1))
	up --memory 512M
	for program in data data-static-pie; do
		python3 $F/images.py "$(often 25 400)" $seed $U/$program $T run --memory all -- >images.out ||
			fail "images.py ended with $?"
		grep '^fail' images.out && exit 1
		cat images.out
	done
	finish
	note "seed $seed"
}

# Stops the program, and checks how many MiB of its data the partition has: all but the first 8 MiB, and less than 16 MiB of
# its other memory.
taken_by() { # PROGRAM WHOSE MIB
	local mebibytes
	rm -f orders answers
	mkfifo orders answers
	$T run --populate --memory "$2" -- $U/"$1" hold <orders >answers &
	exec 7>orders 8<answers
	read -r answer <&8
	[ "$answer" = held ] || fail "$1: '$answer'"
	mebibytes=$(($(own_bytes) >> 20))
	[ $mebibytes -ge $(($3 - 8)) ] && [ $mebibytes -lt $(($3 + 16)) ] || fail "$1 --memory $2: $mebibytes MiB, not $3"
	exec 7>&- 8<&-
	wait $! || fail "$1 ended with $?"
	until_true "all memory is given back" given_back
}

data_stay() { # PROGRAM REASON
	$T log | grep -q "($1): its data stay on Linux: $2" || fail "$1: the log does not say: $2"
}

# Memory of two NUMA nodes: policies hold for it on every core, and no range is handed over.
nodes() {
	local cpu
	up --cpus 1,3 --memory 256M
	for cpu in 1 3; do
		$U/policy >policy.out || fail "on Linux: $(tail -n 1 policy.out)"
		$T run --follow --bind $cpu -- $U/policy >policy.out || fail "on CPU $cpu: $(tail -n 1 policy.out)"
		cmp -s policy.out $U/policy.expected || fail "on CPU $cpu it said $(tr '\n' ';' <policy.out)"
	done
	said=$($T log | grep "(policy): its range becomes Linux's memory") && fail "$said"
	in_flight
	none_is_movable
	in_a_pipe
}

# A device may keep programs' pages: none lies in ZONE_MOVABLE, where Linux would have to move it first.
none_is_movable() {
	local before=$(movable_free)
	[ "$before" -gt 70000 ] || fail "$before free pages in ZONE_MOVABLE: no room for the 65536 of a partition"
	$T run --follow -- $U/uring >uring.out || fail "registered buffers: $(tail -n 1 uring.out)"
	finish
	refused ZONE_MOVABLE $T up --cpus 1,3 --memory 1500M
	up --cpus 1,3 --memory 256M
	[ "$(movable_free)" -gt $((before - 30000)) ] || fail "ZONE_MOVABLE had $before free pages, now $(movable_free)"
}

movable_free() { # in pages, without those that only keep files in memory
	sync
	echo 3 >/proc/sys/vm/drop_caches
	awk '/, zone /{ movable = $4 == "Movable" } movable && $1 == "nr_free_pages" { free += $2 } END { print free + 0 }' /proc/zoneinfo
}

# The kernel still has pages of a program in a pipe when the partition is given back: they keep their content.
in_a_pipe() {
	local pages
	mkfifo pages
	$T run --follow -- $F/inuse pipe hither >pages & pages=$!
	exec 7<pages
	ended $pages 0
	until_true "nothing is hosted" hosted 0
	down
	tr -d '\0' <&7 >pages.out
	exec 7<&-
	for i in 0 1 2 3 4 5 6 7; do echo "hither $i"; done | cmp -s - pages.out ||
		fail "the pipe had $(tr '\n' ';' <pages.out)"
}

# A program's range becomes Linux's memory while a thread of it waits on its core. Another program gets the range's number,
# and its memory, before that thread goes on.
numbers() {
	local waits checks said
	up --cpus 1-3 --memory 128M
	mkfifo waits-in waits-out checks-in checks-out
	$T run --follow -- $F/named waits <waits-in >waits-out & waits=$!
	exec 5>waits-in 6<waits-out
	read -r said <&6
	[ "$said" = filtered ] || fail "it said $said"
	until_true "the range is Linux's memory" given_back
	$T run --follow -- $F/named checks <checks-in >checks-out & checks=$!
	exec 7>checks-in 8<checks-out
	read -r said <&8
	[ "$said" = mapped ] || fail "it said $said"
	echo go >&5
	echo look >&7
	ended $waits 0
	exec 7>&-
	ended $checks 0
	read -r said <&6 && [ "$said" = done ] || fail "the one that waits said $said"
	read -r said <&8 && [ "$said" = done ] || fail "the one that checks said $said"
	exec 5>&- 6<&- 8<&-
	finish
}

# Devices write into the partition's memory while the program moves it, gives it back and forks.
in_flight() {
	modprobe -a brd dm-delay || fail "no disk that delays"
	tr '\0' D </dev/zero | head -c 1048576 >/dev/ram0
	$F/inuse disk /dev/ram0 >inuse.out || fail "on Linux: $(cat inuse.out)"
	$T run --follow -- $F/inuse disk /dev/ram0 >inuse.out || fail "in flight: $(cat inuse.out)"
	[ "$($T log | grep -c "(inuse): its range becomes Linux's memory, for system call 329")" = 1 ] &&
		[ "$($T log | grep -c "(inuse): its range becomes")" = 1 ] || fail "$($T log | grep '(inuse)')"
	modprobe -r dm-delay brd
}

# Stacks that are given back one after the other. Linux has written to each; none may cause a hand-over of the rest.
stacks() {
	up
	for _ in 1 2 3; do
		$T run --follow -- $U/stacks >stacks.out || fail "stacks: $(tail -n 1 stacks.out)"
		cmp -s stacks.out $U/stacks.expected || fail "it said $(tr '\n' ';' <stacks.out)"
	done
	said=$($T log | grep "(stacks): its range becomes Linux's memory") && fail "$said"
	finish
}

# Children that have their parent's memory and change it. They are hosted for that, and the range stays the partition's.
strangers() {
	local how many='i=0; while [ $i -lt 2600 ]; do export "V$i=0123456789012345678901234567890123456789"; i=$((i+1)); done'
	up
	for how in '' --follow; do
		# shellcheck disable=SC2086  # may be nothing
		$T run $how -- $U/vfork >vfork.out || fail "vfork $how: status $?: $(tail -n 1 vfork.out)"
		cmp -s vfork.out $U/vfork.expected || fail "vfork $how said $(tr '\n' ';' <vfork.out)"
	done
	said=$($T log | grep "(vfork): its range becomes") && fail "$said"
	# the shell's child needs room for the environment of its program
	$T run -- dash -c "$many; for i in 1 2 3 4; do /bin/true || exit 9; done; echo alive" >dash.out || fail "dash: status $?"
	grep -qx alive dash.out || fail "dash said $(cat dash.out)"
	finish
}

# Linux has no room for the range: the program goes on where it is. Calls that ask about the range need no room.
roomless() {
	local most=$(cat /proc/sys/vm/max_map_count) how
	up
	for how in '' --follow; do
		# shellcheck disable=SC2086  # may be nothing
		$T run $how -- $F/roomless 1000 >roomless.out || fail "roomless $how: status $?: $(cat roomless.out)"
		grep -qx done roomless.out || fail "roomless $how said $(tr '\n' ';' <roomless.out)"
	done
	echo "$most" >/proc/sys/vm/max_map_count
	$T log | grep -q "(roomless): Linux has no room for its range (for system call 329)" ||
		fail "the log does not say why pkey_mprotect failed: $($T log)"
	$T log | grep -q "(roomless): its range becomes Linux's memory, because a" || fail "the log does not name the hand-over"
	$T run --follow -- $U/residence >residence.out || fail "residence: $(tail -n 1 residence.out)"
	cmp -s residence.out $U/residence.expected || fail "residence said $(tr '\n' ';' <residence.out)"
	said=$($T log | grep "(residence): its range becomes") && fail "$said"
	finish
	up --memory 160M
	$T run --follow -- $U/resident >resident.out || fail "resident: $(tail -n 1 resident.out)"
	cmp -s resident.out $U/resident.expected || fail "resident said $(tr '\n' ';' <resident.out)"
	said=$($T log | grep "(resident): its range becomes") && fail "$said"
	finish
}

# The program's control group has no room for the range: nothing of the program is killed.
roomless_group() {
	sleep 6		# the log has ten such lines in 5 s, and the scenario before this one has caused more
	mkdir cgroup
	mount -t cgroup2 none cgroup || fail "no control groups"
	echo +memory >cgroup/cgroup.subtree_control || fail "no memory controller"
	mkdir -p cgroup/small
	echo 40M >cgroup/small/memory.max
	echo 0 >cgroup/small/memory.swap.max 2>/dev/null
	up --memory 128M
	bash -c "echo \$\$ >cgroup/small/cgroup.procs && exec $T run -- $F/roomless group" >group.out || fail "status $?: $(cat group.out)"
	grep -qx done group.out || fail "it said $(cat group.out)"
	grep -q 'oom_kill 0' cgroup/small/memory.events || fail "somebody was killed: $(cat cgroup/small/memory.events)"
	$T log | grep -q "(roomless): Linux has no room for its range (for system call 329)" ||
		fail "the log does not say why pkey_mprotect failed: $($T log)"
	finish
	rmdir cgroup/small || fail "a process stays in the group"
	umount cgroup
}

rights_left() {
	$T log | grep "(rights): its range becomes Linux's memory" | sort
}

# The largest page that fits: 1 GiB at once does not even need a page table.
largest_page() {
	local before after
	up --memory 3G	# of which Linux may not have given each in one piece
	mkfifo orders answers
	$T run --populate -- $F/pages <orders >answers &
	exec 7>orders 8<answers
	ask $((1 << 20))	# the next mapping brings nothing of the C library's
	before=$(own_bytes)
	ask $((1 << 30))
	after=$(own_bytes)
	[ $((after - before)) = $((1 << 30)) ] || fail "1 GiB took $((after - before)) bytes"
	exec 7>&- 8<&-
	wait $! || fail "pages ended with $?"
	finish
}

ask() { # BYTES: maps them; they must be zero
	local answer
	echo "$1" >&7
	read -r answer <&8
	[ "$answer" = zero ] || fail "$1 bytes: '$answer'"
}

own_bytes() {
	$T status --json | sed -n 's/.*"own_bytes": \([0-9]*\),*/\1/p'
}

killed() {
	local count seed=$((RANDOM * RANDOM + 1))
	count=$(often 80 1000)
	up
	$F/killer "$count" $seed $F/victim any own || exit
	finish
	# in the middle of calls about many pages, which a core does in portions; each program has 20 MiB
	up --memory 96M
	$T run -- $F/victim many many.rounds & victim=$!
	until_true "many pages" counted many.rounds
	alive many.rounds
	$T log | grep "process $victim (victim): its range becomes" && fail "many pages are not the partition's"
	kill -9 $victim
	ended $victim 137
	until_true "all memory is given back" given_back
	$F/killer "$((count / 5))" $seed $F/victim any own many || exit
	finish
	note "$count kills" "seed $seed"
}

# While its threads fork, a program's memory becomes Linux's: each child has all of it.
forks_and_leaves() {
	up
	for _ in $(seq 15); do
		rm -f forkers.rounds
		$T run -- $F/victim forkers forkers.rounds & victim=$!
		until_true "forkers begin" counted forkers.rounds
		[ "$($F/door recouple $victim)" = ok ] || fail "recouple"
		until_true "all memory is given back" given_back
		alive forkers.rounds
		kill -9 $victim
		ended $victim 137
	done
	down
}

# A program keeps its memory when it goes back to Linux, by itself or with all others.
left() {
	local way
	for way in keeps faults forks threads; do
		up
		$T run -- $F/victim $way $way.rounds & victim=$!
		until_true "$way begins" counted $way.rounds
		given_back && fail "$way has no memory of the partition"
		if [ $way = faults ] || [ $way = threads ]; then
			[ "$($F/door recouple $victim)" = ok ] || fail "recouple"
			until_true "all memory is given back" given_back
			alive $way.rounds
		fi
		down --force
		alive $way.rounds
		kill -9 $victim
		ended $victim 137
	done
}

# A core file has the contents of the program's range, whatever ended the program.
core_files() {
	local way
	up
	ulimit -c unlimited
	for way in 'ctypes.string_at(0)' 'os.abort()' 'os.kill(os.getpid(), 4)' 'threading.Thread(target=os.abort).start(); time.sleep(100)'; do
		rm -f core*
		$T run -- python3 -c "import ctypes, os, threading, time
word = bytes(reversed(b'eroc eht ni si siht '))
kept = word * 100000
$way"
		[ $? -gt 128 ] || fail "$way: ended with $?"
		set -- core*
		[ -s "$1" ] || fail "$way: no core file"
		[ "$(grep -ao 'this is in the core' "$1" | wc -l)" -ge 100000 ] || fail "$way: it is not in the core file"
		until_true "all memory is given back" given_back
	done
	rm -f core*
	ulimit -c 0
	$T run -- python3 -c 'import os; os.abort()'
	[ $? = 134 ] || fail "without core files: ended with $?"
	finish
}

scenario "$@"
