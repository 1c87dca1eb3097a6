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

refused_with() { # WORDS
	grep "^device $(address_of plug) nvme shared none" /sys/kernel/tacet/pico | grep -q "$1"
}

queues() { # of the disk: no more than Linux uses, one more, enough
	local one first second before_calls
	up
	pull
	plug ,max_ioqpairs=4
	until_true "a reason: $(cat /sys/kernel/tacet/pico)" refused_with "Linux uses all 4 queues"
	one=$(disk_of plug 1) before_calls=$(calls)
	$T run -- $F/disk $one || fail "disk without a fast path ended with $?"
	[ "$(calls)" = "$before_calls" ] || fail "cores served calls without a queue"
	pull
	plug ,max_ioqpairs=5
	until_true "a fast path: $(cat /sys/kernel/tacet/pico)" has_fast_path "$(address_of plug)"
	said "on 1 of 2 CPUs" 1 || fail "the log does not say which: $(dmesg | grep tacet | tail -3)"
	grep "^$(address_of plug) cpu 3 queue 0 none" /sys/kernel/tacet/pico || fail "CPU 3 has a queue"
	one=$(disk_of plug 1)
	$T run -- $F/disk $one & first=$!
	$T run -- $F/disk "$(disk_of many 1)" & second=$!
	ended $first 0
	ended $second 0
	pull
	plug
	until_true "a fast path: $(cat /sys/kernel/tacet/pico)" has_fast_path "$(address_of plug)"
	disk_served "$(disk_of plug 1)"
	down
	no_complaint
}

power() { # the disk's state by a command, and Linux's leave to switch it off
	local one controller
	one=$(disk_of many 1) controller=/dev/$(basename "$(controller_of many)")
	up
	disk_served $one
	$F/admin $controller 9 0 2 0 || fail "the power state cannot be set"
	echo auto >/sys/bus/pci/devices/$(address_of many)/power/control || fail "no power control"
	until_true "a fast path: $(cat /sys/kernel/tacet/pico)" has_fast_path "$(address_of many)"
	disk_served $one
	echo on >/sys/bus/pci/devices/$(address_of many)/power/control
	down
	no_complaint
}

scenario "$@"
