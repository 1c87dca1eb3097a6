#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# nvme.sh: fast paths of NVMe disks: queue pairs for cores beside Linux's own, through resets
# and removals of the controller. The node has an NVMe disk.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nvme_lib.sh"

pairs() { # made and deleted, again and again, while Linux reads
	fill
	linux_reads & local reader=$!
	for round in 1 2 3; do
		up
		said "fast path for O_DIRECT" $round || fail "round $round: no fast path: $(dmesg | grep tacet | tail -3)"
		victim compute
		alive $rounds_file
		down --force
		kill -9 $victim
	done
	kill $reader
	! traced || fail "a probe stays"
	unharmed
}

traced() { # does Linux tell the module of what it does to disks?
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing || fail "no tracefs"
	grep -E "nvme_disable_ctrl|blkdev_read" /sys/kernel/tracing/enabled_functions
}

deaf() { # Linux's function tracer, by which a grant's end is heard, cannot go while there are grants; without it there are none
	local switch=/proc/sys/kernel/ftrace_enabled
	fill
	if echo 0 >$switch; then # of 7.3 nobody can
		up
		said "no fast path: this kernel does not tell of anything" 1 || fail "Linux's log does not say it: $(dmesg | tail -3)"
		$T run -- $F/disk $disk || fail "disk ended with $?"
		[ "$(calls)" = 0 ] || fail "cores served $(calls) calls that nobody can end"
		down
		echo 1 >$switch
	fi
	up
	traced || fail "Linux tells of nothing"
	! echo 0 >$switch || fail "the tracer can be switched off while cores use disks"
	disk_served
	down
	! traced || fail "a probe stays"
	no_complaint
}

profiled() { # KIND NAME: how often, as the profile says
	tr -d '\n' <profile.json | grep -o "\"on\": \"$1\", *\"name\": \"$2\", *\"count\": [0-9]*" | grep -o '[0-9]*$'
}

by_devices() { # calls of all kinds that devices served, as the profile says
	tr -d '\n' <profile.json | grep -o '"on": "device-call", *"name": "[^"]*", *"count": [0-9]*' | grep -o '[0-9]*$' |
		awk '{ sum += $1 } END { print sum + 0 }'
}

served() { # on the core: what Linux then reads is what the program wrote
	local first
	fill
	up
	$T run --profile-to profile.json -- $F/disk $disk || fail "disk ended with $?"
	first=$(calls)
	[ "$first" -gt 300 ] || fail "cores served $first calls of 400: $(cat /sys/kernel/tacet/pico)"
	$T pico | grep -q "nvme *shared *works" || fail "tacet pico says $($T pico)"
	[ "$(profiled device-call pread64)" -gt 150 ] || fail "the profile has $(profiled device-call pread64) of 200 reads"
	[ "$(by_devices)" = "$first" ] || fail "the profile has $(by_devices) calls by devices, the queues have $first"
	$T run --dry-run --no-pico -- true | grep -q "I/O on devices by Linux" || fail "the dry run does not say it"
	$T run --no-pico --profile-to profile.json -- $F/disk $disk || fail "disk without a fast path ended with $?"
	[ "$(calls)" = "$first" ] || fail "cores served $(calls) calls, not $first as before --no-pico"
	[ "$(profiled forwarded-call pread64)" -ge 200 ] || fail "with --no-pico the profile has $(profiled forwarded-call pread64) of 200 reads"
	# the last piece of 4 KiB: round 198, at 6 MiB behind the first
	[ "$(dd if=$disk bs=4096 skip=3584 count=1 iflag=direct status=none | od -An -tu1 -N1 | tr -d ' ')" = 198 ] ||
		fail "Linux reads something else"
	down
}

as_on_linux() { # each call has the same result, error and data as natively
	fill
	$F/iocalls $disk >/tmp/native || fail "natively: ended with $?"
	up
	$T run -- $F/iocalls $disk >/tmp/hosted || fail "hosted: ended with $?"
	diff /tmp/native /tmp/hosted >/tmp/differences || fail "not as on Linux: $(head -8 /tmp/differences | tr '\n' ';') $(cat /sys/kernel/tacet/pico)"
	[ "$(calls)" -gt 25 ] || fail "cores served few calls: $(cat /sys/kernel/tacet/pico)"
	down
	no_complaint
}

at_once() { # calls whose commands a device had at the same time, at most
	sed -n 's/.* at-once \([0-9]*\) .*/\1/p' /sys/kernel/tacet/pico | sort -n | tail -1
}

by_state() { # calls that were forwarded because a queue or a grant could not be used
	sed -n 's/.* forwarded \([0-9]*\) .*/\1/p' /sys/kernel/tacet/pico | awk '{ sum += $1 } END { print sum + 0 }'
}

served_more() { # than so many calls
	kill -0 $user || fail "the program has ended: $(cat said)"
	[ "$(calls)" -gt "$1" ]
}

shared_cores() { # four threads on each core: their calls are in flight at the same time
	dd if=/dev/zero of=$disk bs=1M oflag=direct status=none
	up
	$T run -- $F/ledger use $disk ledger 8 >said & user=$!
	until_true "cores serve calls: $(cat /sys/kernel/tacet/pico)" served_more 1000
	[ "$(at_once)" -ge 3 ] || fail "no calls at the same time: $(cat /sys/kernel/tacet/pico)"
	[ "$(by_state)" -le 8 ] || fail "forwarded by state: $(cat /sys/kernel/tacet/pico)"
	note "$(grep cpu /sys/kernel/tacet/pico)"
	kill -9 $user
	ended $user 137
	$F/ledger check $disk ledger >said || fail "$(cat said)"
	until_true "the memory is given back" given_back
	down
	no_complaint
}

resets() { # of the controller by Linux: the queues are made again
	fill
	up
	for round in 1 2; do
		echo 1 >/sys/class/nvme/nvme0/reset_controller || fail "reset $round"
		until_true "new queues after reset $round" said "Linux has reset it: new queues" $round
	done
	down
	unharmed
}

back() { # DISK [ADDRESS]: it is there again, and cores serve it without a new partition
	until_true "$1 is back" test -b $1
	until_true "a fast path again: $(cat /sys/kernel/tacet/pico)" has_fast_path $2
	disk_served $1
}

removals() { # of the controller, and of its driver, which these kernels have built in: each comes back by itself
	local device address module
	fill
	device=$(readlink -f /sys/class/nvme/nvme0/device) address=${device##*/}
	echo 1 >$device/remove
	up
	! grep "^device" /sys/kernel/tacet/pico || fail "a device before there is one"
	echo 1 >/sys/bus/pci/rescan
	back $disk $address
	echo $address >/sys/bus/pci/drivers/nvme/unbind || fail "unbind"
	[ ! -e $disk ] || fail "$disk stays"
	grep "^device $address nvme shared none Linux took its driver away" /sys/kernel/tacet/pico || fail "tacet pico does not say it"
	echo $address >/sys/bus/pci/drivers/nvme/bind || fail "bind"
	back $disk $address
	echo 1 >$device/remove
	! grep "^device" /sys/kernel/tacet/pico || fail "the device stays in tacet pico"
	echo 1 >/sys/bus/pci/rescan
	back $disk $address
	down
	before=$(sum)
	unharmed
}

follow=

same() { # PROGRAM ARGUMENTS: natively and on a core
	local program=$1
	shift
	$F/$program "$@" >native || fail "$program on Linux: $(tail -1 native)"
	dd if=/dev/zero of=$disk bs=1M oflag=direct status=none
	up
	$T run $follow -- $F/$program "$@" count >hosted || fail "$program: $? after: $(tail -2 hosted); $(cat /sys/kernel/tacet/pico)"
	diff native hosted >differences || fail "$program is different on a core: $(head -20 differences | tr '\n' ';')"
	down
}

bounds() { # of a partition, of memory, of rights
	partition
	same bounds $disk ${disk}p1 $first $size
	without_partitions
}

revoked() { # each way in which a grant ends
	partition
	same revoked $disk ${disk}p1 $size
	up --mix-users
	$T run -- $F/revoked $disk ${disk}p1 $size mixed >hosted || fail "another user: $(tail -1 hosted); $(cat /sys/kernel/tacet/pico)"
	down
	without_partitions
}

tables() { # who has another table of descriptors, other calls, or a ring
	partition
	follow=--follow
	same tables $disk ${disk}p1
	without_partitions
}

beside_cache() { # another process reads a block through the page cache while a core writes it
	dd if=/dev/zero of=$disk bs=1M oflag=direct status=none
	up
	$T run -- $F/buffered $disk 40 >said || fail "buffered ended with $?: $(cat said)"
	note "$(tail -1 said)"
	[ "$(calls)" -ge 40 ] || fail "cores served $(calls) calls: $(cat /sys/kernel/tacet/pico)"
	down
	no_complaint
}

scenario "$@"
