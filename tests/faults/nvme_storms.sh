#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# nvme_storms.sh: what goes wrong at random instants while each core keeps an NVMe disk busy. After each, what Linux
# reads is what was acknowledged, or what was being written; nothing of the partition's memory is missing.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nvme_lib.sh"

by_chance

kills() {
	local round
	up
	for round in $(seq $(often 12 200)); do
		busy
		instant
		killed
		until_true "the memory is given back" given_back
	done
	down
	note "$round kills"
}

resets() {
	local round
	on_first_queue
	up
	busy
	for round in $(seq $(often 10 200)); do
		instant
		echo 1 >/sys/class/nvme/nvme0/reset_controller || fail "reset $round"
		served_again
	done
	killed
	down
	# with all CPUs again: every queue gets its interrupts
	echo 1 >/sys/class/nvme/nvme0/reset_controller || fail "the last reset"
	note "$round resets"
}

# Linux takes the driver away, or the device.
removals() {
	local round how device
	device=$(readlink -f /sys/class/nvme/nvme0/device)
	up
	for round in $(seq $(often 1 100)); do
		for how in unbind remove; do
			busy again
			instant
			case $how in
			unbind) echo ${device##*/} >/sys/bus/pci/drivers/nvme/unbind || fail "unbind $round" ;;
			remove) echo 1 >$device/remove || fail "remove $round" ;;
			esac
			until_true "the program has errors" errors
			case $how in
			unbind) echo ${device##*/} >/sys/bus/pci/drivers/nvme/bind || fail "bind $round" ;;
			remove) echo 1 >/sys/bus/pci/rescan ;;
			esac
			until_true "$disk is back" test -b $disk
			alive ledger
			served_again
			killed
		done
	done
	down
	note "$round times its driver, $round times the disk"
}

held() { # cores have given commands, and none ends
	before_calls=$(calls)
	sleep 0.3
	[ "$(calls)" = "$before_calls" ]
}

# The disk goes without a word, and another one comes. The emulator holds its commands back before: QEMU 11.1 dies if a CPU
# writes a doorbell just as it takes the disk away.
pulled() {
	local round
	up
	for round in $(seq $(often 2 20)); do
		disk=$(disk_of plug 1)
		busy again
		instant
		echo "monitor: block_set_io_throttle plug 1 0 0 0 0 0"
		until_true "commands are in flight" held
		pull
		until_true "the program has errors" errors
		plug
		[ "$(disk_of plug 1)" = "$disk" ] || fail "it came back as $(disk_of plug 1), not $disk"
		until_true "a fast path again: $(cat /sys/kernel/tacet/pico)" has_fast_path "$(address_of plug)"
		alive ledger
		served_again
		killed
	done
	down
	note "pulled $round times"
}

# A core dies while the disk has commands of several threads of both cores.
deaths() {
	local round
	for round in $(seq $(often 2 40)); do
		up
		cores=6 busy
		instant
		$T provoke 2 panic || fail "provoke: $(tail -1 .stderr)"
		until_true "the partition has failed" state 3
		ended $user 137
		checked
	done
	up
	disk_served
	down
	note "$round deaths"
}

# The program's memory becomes Linux's while the disk has commands of several threads of both cores.
handovers() {
	local round
	up
	for round in $(seq $(often 4 200)); do
		cores=6 busy
		instant
		[ "$($F/door recouple $user)" = ok ] || fail "recouple"
		alive ledger
		killed
		until_true "the memory is given back" given_back
	done
	down
	note "$round moves"
}

scenario "$@"
