# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# nvme_lib.sh: what the scripts about NVMe disks have in common. Each sources it after lib.sh; its
# node has an NVMe disk. It turns fast paths on.

disk=/dev/nvme0n1
echo 1 >/sys/module/tacet/parameters/fast_paths

said() { # WORDS NUMBER: does Linux's log have the words at least so often?
	[ "$(dmesg | grep -c "$1")" -ge "$2" ]
}

sum() {
	dd if=$disk bs=1M iflag=direct status=none | sha256sum
}

linux_reads() { # reads the disk on Linux until it is killed
	while dd if=$disk of=/dev/null bs=64K count=64 iflag=direct status=none; do :; done
}

fill() {
	[ -b $disk ] || fail "no $disk"
	dd if=/dev/urandom of=$disk bs=1M count=8 oflag=direct status=none || fail "Linux cannot write $disk"
	before=$(sum)
}

unharmed() {
	[ "$(sum)" = "$before" ] || fail "the disk's content is another one"
	no_complaint
}

no_complaint() {
	! dmesg | grep -E "nvme.*(timeout|timed out|I/O error)|BUG|WARNING" || fail "Linux complains: $(dmesg | tail -5)"
	state 0 || fail "state $($F/door status)"
}

calls() { # served by cores since the partition began
	sed -n 's/.* calls \([0-9]*\) .*/\1/p' /sys/kernel/tacet/pico | awk '{ sum += $1 } END { print sum + 0 }'
}

has_fast_path() { # [ADDRESS]: has a controller, beside Linux's queues?
	grep -q "^device ${1:-[^ ]*} nvme shared works" /sys/kernel/tacet/pico
}

disk_served() { # [DISK]: on cores, the program's reads give what it wrote, and so do Linux's
	local calls on=${1:-$disk} earlier
	earlier=$(calls)
	$T run -- $F/disk $on || fail "disk ended with $?"
	calls=$(($(calls) - earlier))
	[ "$calls" -gt 300 ] || fail "cores served $calls calls of 400: $(cat /sys/kernel/tacet/pico)"
	# the last piece of 4 KiB: round 198, at 6 MiB behind the first
	[ "$(dd if=$on bs=4096 skip=3584 count=1 iflag=direct status=none | od -An -tu1 -N1 | tr -d ' ')" = 198 ] ||
		fail "Linux reads something else"
}

by_chance() { # instants of the scenario come from a seed, which is told
	seed=${SEED:-$RANDOM}
	RANDOM=$seed
	note "seed $seed"
}

instant() { # waits 0 to 255 ms
	sleep 0.$(printf %03d $((RANDOM % 256)))
}

cores=2

busy() { # [again|parts]: a program with so many threads as $cores, whose calls the cores serve
	rm -f ledger
	dd if=/dev/zero of=$disk bs=1M oflag=direct status=none
	$T run -- $F/ledger use $disk ledger $cores "$@" >said & user=$!
	rounds_file=ledger
	until_true "the program begins" counted ledger
	served_again
}

served_again() { # cores serve more calls
	before_calls=$(calls)
	until_true "cores serve calls: $(cat /sys/kernel/tacet/pico)" more_calls
}

more_calls() {
	[ "$(calls)" -gt "$before_calls" ] || { gone $user && fail "the program has ended: $(cat said)"; false; }
}

killed() { # the program ends by that, and what it wrote is there
	kill -9 $user
	ended $user 137
	checked
}

checked() {
	$F/ledger check $disk ledger >said || fail "after $round ($seed): $(cat said)"
}

errors() { # has each thread had one?
	[ "$(od -An -tu8 -j8 -N8 ledger | tr -d ' ')" -ge $cores ]
}

# Linux 7.3 itself, with CPUs offline and without Tacet, gets no interrupt of some of its queues after a reset: those
# whose vector follows the vector of an offline CPU. We stay on the CPU of the first queue.
on_first_queue() {
	taskset -cp "$(tr -d ' ' </sys/class/block/${disk##*/}/mq/0/cpu_list)" $$ >/dev/null || fail "taskset"
}

first=$((16 << 20)) size=$((8 << 20))

partition() { # makes two: the second one begins where the first one ends
	dd if=/dev/zero of=$disk bs=1M oflag=direct status=none
	$F/parts $disk add 1 $first $size || exit
	$F/parts $disk add 2 $((first + size)) $size || exit
	until_true "partitions" test -b ${disk}p2
}

without_partitions() {
	$F/parts $disk delete 1 || exit
	$F/parts $disk delete 2 || exit
	no_complaint
	state 0 || fail "state $($F/door status)"
}

device() { # of the disk's physical function
	readlink -f /sys/class/nvme/nvme0/device
}

live() {
	[ "$(cat /sys/class/nvme/nvme0/state)" = live ]
}

prepare() { # as an administrator does: frees queues, makes the virtual function, gives it to Tacet
	if [ -e "$(device)/virtfn0" ]; then
		give
		return
	fi
	for resource in 0 1; do
		$F/virtual /dev/nvme0 primary 0 $resource 0 || fail "resource $resource is not freed"
	done
	echo 1 >/sys/class/nvme/nvme0/reset_controller || fail "reset"
	until_true "the disk is back" live
	echo 0 >"$(device)/sriov_drivers_autoprobe"
	echo 1 >"$(device)/sriov_numvfs" || fail "no virtual function: $(dmesg | tail -3)"
	give
}

give() { # [NUMBER]
	function=$(basename "$(readlink -f "$(device)/virtfn${1:-0}")")
	echo tacet >/sys/bus/pci/devices/$function/driver_override
	[ -e /sys/bus/pci/devices/$function/driver ] || echo $function >/sys/bus/pci/drivers_probe
	[ -e /sys/bus/pci/drivers/tacet/$function ] || fail "$function has no driver: $(dmesg | tail -3)"
}

take_back() { # the function stays, without a driver: cores get queues of Linux's controller instead
	[ ! -e "$(device)/virtfn0/driver" ] || echo $(basename "$(readlink -f "$(device)/virtfn0")") >"$(device)/virtfn0/driver/unbind"
}

# Of the nodes with more disks, by their serial numbers.
controller_of() { # SERIAL
	local controller
	for controller in /sys/class/nvme/nvme*; do
		[ "$(tr -d ' ' <$controller/serial)" = "$1" ] && echo $controller
	done
}

address_of() { # SERIAL
	basename "$(readlink -f "$(controller_of $1)/device")"
}

# Linux looks at a controller's namespaces side by side, so that the first one that it finds is n1, whatever its number.
disk_of() { # SERIAL NAMESPACE
	local disk
	for disk in "$(controller_of $1)"/nvme*n*; do
		[ -e $disk/nsid ] && [ "$(cat $disk/nsid)" = "$2" ] && echo "/dev/${disk##*/}"
	done
}

is_there() { # SERIAL
	[ -b "$(disk_of $1 1)" ]
}

rescanned() { # SERIAL
	echo 1 >/sys/bus/pci/rescan
	is_there $1
}

is_gone() { # SERIAL
	[ -z "$(controller_of $1)" ]
}

config() { # DEVICE OFFSET BYTES: of its configuration space
	od -An -tu$3 -j$2 -N$3 $1/config | tr -d ' '
}

# The disk is gone at once: the emulator takes it away when its port has no power and says so. Linux hears of it afterwards.
pull() {
	local port at control device
	device=/sys/bus/pci/devices/$(address_of plug)
	port=$(readlink -f $device/..)
	at=$(config $port $((0x34)) 1)
	until [ "$(config $port $at 1)" = 16 ]; do # PCI Express
		at=$(config $port $((at + 1)) 1)
		[ "$at" != 0 ] || fail "no slot"
	done
	at=$((at + 0x18)) control=$(($(config $port $at 2) | 0x700))
	printf "\\x$(printf %02x $((control & 255)))\\x$(printf %02x $((control >> 8)))" |
		dd of=$port/config bs=2 seek=$((at / 2)) count=1 conv=notrunc status=none || fail "the port's power"
	sleep 1
	echo 1 >$device/remove
	until_true "the disk is gone" is_gone plug
}

plug() { # [MORE PROPERTIES]
	echo "monitor: device_add nvme,id=plug,bus=socket,drive=part2,serial=plug$1"
	until_true "the disk is there" rescanned plug
}
