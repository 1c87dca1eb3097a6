# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# pressure.sh: Linux moves, drops, swaps, merges and splits the pages of a
# hosted program that checks every page, and which cores it rings for that. Called by the runner with the name of a
# function.

. "$F/lib.sh"

vm=/proc/sys/vm
thp=/sys/kernel/mm/transparent_hugepage
ksm=/sys/kernel/mm/ksm

swap_on() {
	dd if=/dev/zero of=swapfile bs=1M count=128 status=none
	chmod 600 swapfile
	mkswap -q swapfile && swapon "$(realpath swapfile)" || note "without swap"
}

counter() { # NAME in /proc/vmstat
	sed -n "s/^$1 //p" /proc/vmstat
}

# A core whose thread waits in a call is rung for the first change of that program's tables, and not for the next thousand.
# The core of the thread that changes them has them loaded again each time.
resting_core() {
	local changing waiting first
	up
	victim tables --memory linux --bind 2,3
	alive $rounds_file
	changing=$(doorbells 2) waiting=$(doorbells 3) first=$(rounds $rounds_file)
	until_true "a thousand changes" more_than $((first + 1000)) $rounds_file
	changing=$(($(doorbells 2) - changing)) waiting=$(($(doorbells 3) - waiting))
	[ $changing -ge 1000 ] || fail "the tables changed a thousand times, but the changing core was rung $changing times"
	[ $waiting -lt 10 ] || fail "the core that waits was rung $waiting times in a thousand changes"
	kill -9 $victim
	until_true "nothing is hosted" hosted 0
	down
}

stale_translations() {
	local files i before
	before="$(counter pgmigrate_success) $(counter pswpout) $(counter thp_collapse_alloc)"
	swap_on
	echo always >$thp/enabled
	echo 0 >$thp/khugepaged/scan_sleep_millisecs
	echo 4096 >$thp/khugepaged/pages_to_scan
	[ ! -e $ksm/run ] || { echo 1 >$ksm/run; echo 1000 >$ksm/pages_to_scan; }
	up
	for i in 1 2; do
		mkdir $i
		(cd $i && exec $T run --memory linux -- $F/pattern rounds 8 >said) &
		pids="$pids $!"
	done
	for i in 1 2; do until_true "pattern $i begins" counted $i/rounds; done
	for i in $(seq "$(often 4 100)"); do
		echo 1 >$vm/compact_memory
		echo 3 >$vm/drop_caches
		sleep 1
	done
	for i in 1 2; do
		[ ! -s $i/said ] || fail "program $i: $(cat $i/said)"
		alive $i/rounds
	done
	kill -TERM $pids
	for i in $pids; do ended $i 0; done
	set -- $before
	note "$(($(counter pgmigrate_success) - $1)) pages moved, $(($(counter pswpout) - $2)) swapped," \
		"$(($(counter thp_collapse_alloc) - $3)) collapsed, $(cat 1/rounds 2/rounds | od -An -tu8 -w4096 -N8 | tr -d ' ') rounds"
	[ "$(counter pgmigrate_success)" -gt "$1" ] || fail "no page was moved: nothing was tested"
	down
	[ ! -e $ksm/run ] || echo 2 >$ksm/run
	echo madvise >$thp/enabled
	swapoff -a
	rm -rf swapfile 1 2
}

scenario "$@"
