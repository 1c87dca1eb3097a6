#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# nvme_flights.sh: what goes wrong while an NVMe disk has all the commands that its queues may have: 32 of each of four
# cores. The emulator holds them back, so that they are there when it happens. The node has an NVMe disk and six CPUs.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nvme_lib.sh"

by_chance
cores=4

# Afterwards the disk moves so many bytes in a second; 0: as many as it can.
throttle() {
	echo "monitor: block_set_io_throttle nvme $1 0 0 0 0 0"
}

# For each queue: commands that were given but for those of calls that have ended, well or by the loss of the queue. Each
# call of `ledger ... parts` has 32.
in_flight() {
	sed -n 's/.* calls \([0-9]*\) commands \([0-9]*\) .* forwarded \(.*\)/\1 \2 \3/p' /sys/kernel/tacet/pico |
		awk '{ print $2 - 32 * ($1 + $9 + $10) }'
}

all_given() { # has each core given 32 commands?
	[ "$(in_flight | grep -cx 32)" = $cores ]
}

held() { # each core has 32 and no call ends
	before_calls=$(calls)
	sleep 0.3
	all_given && [ "$(calls)" = "$before_calls" ]
}

lost() { # calls whose queue was taken away
	sed -n 's/.* forwarded //p' /sys/kernel/tacet/pico | awk '{ sum += $8 } END { print sum + 0 }'
}

resets() {
	local round lost
	on_first_queue
	up --cpus 2-5
	busy parts
	for round in $(seq $(often 2 60)); do
		throttle 1
		until_true "32 commands of each core: $(in_flight)" held
		echo 1 >/sys/class/nvme/nvme0/reset_controller || fail "reset $round"
		throttle 0
		served_again
	done
	lost=$(lost)
	down_in_flight
	# with all CPUs again: every queue gets its interrupts
	echo 1 >/sys/class/nvme/nvme0/reset_controller || fail "the last reset"
	note "$round resets with 32 commands of each of $cores cores, $lost calls began again on Linux"
	no_complaint
}

down_in_flight() { # the program goes on, on Linux
	throttle 524288
	until_true "32 commands of each core: $(in_flight)" all_given
	instant
	down --force
	throttle 0
	alive ledger
	killed
}

downs() {
	local round
	for round in $(seq $(often 2 20)); do
		up --cpus 2-5
		busy parts
		down_in_flight
	done
	note "$round ends of a partition with 32 commands of each of $cores cores"
	no_complaint
}

# A command that takes longer than a core waits: Linux takes the queue away and makes a new one. The emulator deletes a
# queue when its commands are done: five seconds later, in which the node stands still.
hangs() {
	local round
	cores=1
	up --cpus 2-5
	for round in lives killed; do
		busy parts
		throttle 7500
		until_true "32 commands: $(in_flight)" all_given
		[ $round = killed ] && kill -9 $user
		dmesg -C
		until_true "Linux is asked for the end of the queue" said "is not done: new queue" 1
		throttle 0
		[ $round = killed ] && break
		served_again
		alive ledger
		killed
	done
	ended $user 137
	checked
	disk_served
	down
	no_complaint
}

freezes() { # Linux, which is about to change a disk, waits for the cores' commands
	local queue=/sys/class/block/${disk##*/}/queue waiter
	cores=1
	up --cpus 2-5
	busy parts
	throttle 524288
	until_true "32 commands: $(in_flight)" all_given
	(
		echo 64 >$queue/nr_requests
		cat /sys/kernel/tacet/pico
	) >changed & waiter=$!
	ended $waiter 0
	! grep "revoked using [1-9]" changed || fail "Linux changes the disk while it executes commands of cores"
	throttle 0
	served_again
	killed
	down
	no_complaint
}

scenario "$@"
