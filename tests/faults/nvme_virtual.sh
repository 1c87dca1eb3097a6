#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# nvme_virtual.sh: fast paths by a virtual function of an NVMe disk, while Linux has the physical
# one. The node has an NVMe disk with one virtual function.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nvme_lib.sh"

works() {
	grep -q "^device $function nvme virtual works" /sys/kernel/tacet/pico
}

served_some() {
	[ "$(calls)" -gt 20 ]
}

down_in_flight() { # the program goes on, on Linux
	local program
	up
	$T run -- $F/disk $disk & program=$!
	until_true "cores serve calls" served_some
	down --force
	ended $program 0
}

apart() { # behind an IOMMU the functions have addresses of their own, and keep to them
	local group=/sys/bus/pci/devices/$function/iommu_group
	[ -e $group ] || return
	[ "$(readlink -f $group)" != "$(readlink -f "$(device)/iommu_group")" ] || fail "both functions are in one group"
	! dmesg | grep -iE "DMAR:.*fault|fault addr" || fail "the IOMMU reports a fault"
}

virtual() { # data right both ways, beside Linux's I/O through the physical function
	local reader
	prepare
	fill
	linux_reads & reader=$!
	for round in 1 2; do
		up
		works || fail "round $round: $(cat /sys/kernel/tacet/pico)"
		[ "$(grep -c ' shared ' /sys/kernel/tacet/pico)" = 0 ] || fail "both modes: $(cat /sys/kernel/tacet/pico)"
		disk_served
		down
	done
	down_in_flight
	kill $reader
	apart
	before=$(sum)
	unharmed
}

physical_reset() { # the virtual function is switched on again, and serves
	prepare
	fill
	up
	for round in 1 2; do
		echo 1 >/sys/class/nvme/nvme0/reset_controller || fail "reset $round"
		until_true "new queues after reset $round" said "Linux has reset it: new queues" $round
		until_true "it works after reset $round" works
		disk_served
	done
	down
	before=$(sum)
	unharmed
}

taken_away() { # with a partition: its driver, Linux's driver of the physical function, the function
	local physical
	prepare
	physical=$(basename "$(device)")
	fill
	up
	disk_served
	echo $function >/sys/bus/pci/drivers/tacet/unbind || fail "unbind"
	works && fail "it works without a driver"
	$T run -- $F/disk $disk || fail "disk ended with $? without a fast path"
	echo $function >/sys/bus/pci/drivers_probe
	until_true "back: $(cat /sys/kernel/tacet/pico)" works
	echo $physical >/sys/bus/pci/drivers/nvme/unbind || fail "unbind of the physical function"
	works && fail "it works without Linux's driver"
	echo $physical >/sys/bus/pci/drivers/nvme/bind || fail "bind"
	until_true "$disk is back" test -b $disk
	until_true "back with Linux's driver: $(cat /sys/kernel/tacet/pico)" works
	disk_served
	echo 0 >"$(device)/sriov_numvfs" || fail "the function stays"
	works && fail "it works without a function"
	$T run -- $F/disk $disk || fail "disk ended with $? without the function"
	down
	before=$(sum)
	unharmed
}

calls_of() { # FUNCTION
	sed -n "s/^$1 cpu .* calls \([0-9]*\) .*/\1/p" /sys/kernel/tacet/pico | awk '{ sum += $1 } END { print sum + 0 }'
}

serves() { # FUNCTION: more calls
	until_true "$1 works: $(cat /sys/kernel/tacet/pico)" works_now $1
	before_calls=$(calls_of $1)
	until_true "$1 serves: $(cat /sys/kernel/tacet/pico)" serves_more $1
}

works_now() {
	function=$1 works
}

serves_more() {
	[ "$(calls_of $1)" -gt "$before_calls" ]
}

two_functions() { # of one disk: grants are of the first that works; the other one takes over, with calls in flight
	local first second
	prepare
	echo 0 >"$(device)/sriov_numvfs"
	echo 2 >"$(device)/sriov_numvfs" || fail "no two functions: $(dmesg | tail -3)"
	give 0
	first=$function
	give 1
	second=$function
	up
	works_now $second || fail "the second function does not work: $(cat /sys/kernel/tacet/pico)"
	busy
	serves $first
	echo $first >/sys/bus/pci/drivers/tacet/unbind || fail "unbind of the first"
	serves $second
	echo $first >/sys/bus/pci/drivers_probe
	until_true "both: $(cat /sys/kernel/tacet/pico)" works_now $first
	echo $second >/sys/bus/pci/drivers/tacet/unbind || fail "unbind of the second"
	serves $first
	echo 0 >"$(device)/sriov_numvfs" || fail "the functions stay"
	alive ledger
	killed
	down
	no_complaint
}

stands_still() { # cores serve no call while the program goes on
	before_calls=$(calls)
	alive ledger
	[ "$(calls)" = "$before_calls" ]
}

# The namespace, from the virtual function's controller: Linux serves; from the physical one's: the disk goes, and comes.
detached() {
	prepare
	up
	busy again
	$F/virtual /dev/nvme0 detach 1 0 1 || fail "the virtual function keeps the namespace"
	until_true "Linux serves the program" stands_still
	! errors || fail "the program has errors"
	$F/virtual /dev/nvme0 attach 1 0 1 || fail "the virtual function does not get the namespace"
	served_again
	$F/virtual /dev/nvme0 detach 0 0 1 || fail "the physical function keeps the namespace"
	until_true "the program has errors" errors
	$F/virtual /dev/nvme0 attach 0 0 1 || fail "the physical function does not get the namespace"
	until_true "$disk is back" test -b $disk
	alive ledger
	served_again
	killed
	down
	no_complaint
}

scenario "$@"
