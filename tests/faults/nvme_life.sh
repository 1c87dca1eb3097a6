#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# nvme_life.sh: what may happen to NVMe disks with fast paths in a long life. The node has three: an
# ordinary one, one of two namespaces, one that can be unplugged.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nvme_lib.sh"

namespaces() { # each with a grant, at the same time: none sees another one's data
	local one two first second
	one=$(disk_of many 1) two=$(disk_of many 2)
	dd if=/dev/zero of=$one bs=1M oflag=direct status=none
	dd if=/dev/zero of=$two bs=1M oflag=direct status=none
	up
	has_fast_path "$(address_of many)" || fail "no fast path: $(cat /sys/kernel/tacet/pico)"
	disk=$two before=$(disk=$two sum)
	disk_served $one
	[ "$(sum)" = "$before" ] || fail "$two has changed"
	disk=$one before=$(disk=$one sum)
	disk_served $two
	[ "$(sum)" = "$before" ] || fail "$one has changed"
	$T run -- $F/disk $one & first=$!
	$T run -- $F/disk $two & second=$!
	ended $first 0
	ended $second 0
	down
	no_complaint
}

formatted() { # with other blocks and back: a grant of the old blocks ends, one of the new blocks is made
	local one controller
	one=$(disk_of many 1) controller=/dev/$(basename "$(controller_of many)")
	$F/formatted $controller 1 $one >native || fail "on Linux: $(tail -1 native)"
	up
	$T run -- $F/formatted $controller 1 $one count >hosted || fail "hosted: $? after $(tail -2 hosted); $(cat /sys/kernel/tacet/pico)"
	diff native hosted >differences || fail "not as on Linux: $(head -8 differences | tr '\n' ';')"
	down
	no_complaint
}

served_by_linux() { # on CPU: the same data, and no call by cores
	local earlier
	earlier=$(calls)
	$T run --cpus $1 -- $F/disk $disk || fail "disk ended with $? on CPU $1"
	[ "$(calls)" = "$earlier" ] || fail "cores served $(($(calls) - earlier)) calls"
}

# A controller with so few queues that Linux takes all, and one that has a queue for one of two cores.
few_queues() {
	local address all
	all=$(nproc) address=$(address_of plug)
	pull
	plug ,max_ioqpairs=$all
	disk=$(disk_of plug 1)
	up
	$T pico | grep -q "^$address: no fast path: Linux uses all $all queues" || fail "tacet pico says $($T pico)"
	said "$address: no fast path: Linux uses all $all queues" 1 || fail "Linux's log does not say it"
	served_by_linux 2
	down
	pull
	plug ,max_ioqpairs=$((all + 1))
	up
	said "$address: fast path for .*, on 1 of 2 CPUs" 1 || fail "Linux's log says $(dmesg | grep "fast path" | tail -2)"
	$T run --cpus 2 -- $F/disk $disk || fail "disk ended with $?"
	[ "$(calls)" -gt 300 ] || fail "cores served $(calls) calls of 400: $(cat /sys/kernel/tacet/pico)"
	served_by_linux 3
	down
	pull
	plug
	no_complaint
}

# Linux has more queues after a reset than before, and so those whose numbers ours had: it keeps them.
more_queues() {
	local all parameter=/sys/module/nvme/parameters/poll_queues cpu
	all=$(nproc)
	pull
	echo 2 >$parameter || fail "no queues for polling"
	plug ,max_ioqpairs=$((all + 2)),msix_qsize=$((all + 1))
	echo 0 >$parameter
	echo 1 >"$(controller_of plug)/reset_controller" || fail "the first reset"
	until_true "the disk is back" is_there plug
	disk=$(disk_of plug 1)
	up
	said "$(address_of plug): fast path for .*, on 2 of 2 CPUs" 1 || fail "Linux's log says $(dmesg | grep "fast path" | tail -2)"
	disk_served $disk
	echo 2 >$parameter
	echo 1 >"$(controller_of plug)/reset_controller" || fail "the second reset"
	until_true "no queue is left for cores" said "Linux uses all $((all + 2)) queues" 1
	for cpu in 0 1; do
		taskset -c $cpu $F/polled $disk || fail "a polled read on CPU $cpu ended with $?"
	done
	down
	echo 0 >$parameter
	pull
	plug
	no_complaint
}

scenario "$@"
