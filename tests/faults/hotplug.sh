# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# hotplug.sh: with a partition up, takes CPUs on and off line, suspends, and unloads
# the module. Called by the runner with the name of a function.

. "$F/lib.sh"

foreign() {
	up
	victim compute
	for cpu in 2 3; do
		(echo 1 >$cpus/cpu$cpu/online) 2>/dev/null && fail "CPU $cpu came online"
	done
	[ "$(cat $cpus/online)" = 0-1 ] || fail "online: $(cat $cpus/online)"
	dmesg | grep -q 'cpu 2: online refused: it belongs to the partition' || fail "no reason in the kernel's log"
	$T log | grep -q 'cpu 3: online refused' || fail "no reason in tacet log"
	alive "$rounds_file"
	hosted 1 || fail "the program is not hosted any more"
	kill -9 $victim
	until_true "nothing is hosted" hosted 0
	down
}

# CPUs of Linux go offline and come back while programs compute, fault and fork.
others() {
	local i
	up --cpus 3
	victim compute
	$F/victim faults linux.rounds &
	until_true "it begins" counted linux.rounds
	for i in $(seq "$(full 3 30)"); do
		for cpu in 1 2; do
			echo 0 >$cpus/cpu$cpu/online || fail "CPU $cpu does not go offline"
			until_true "all CPUs are present" all_present
		done
		for cpu in 2 1; do
			echo 1 >$cpus/cpu$cpu/online || fail "CPU $cpu does not come online"
		done
		alive "$rounds_file"
		alive linux.rounds
	done
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	down
}

all_present() {
	[ "$(cat $cpus/present)" = 0-3 ]
}

suspend() {
	if ! grep -q freeze /sys/power/state; then
		note "this kernel cannot suspend"
		return
	fi
	up
	victim compute
	(echo freeze >/sys/power/state) 2>/dev/null && fail "suspend was not refused"
	dmesg | grep -q 'suspend refused: a partition is up' || fail "no reason in the kernel's log"
	alive "$rounds_file"
	kill -9 $victim
	until_true "nothing is hosted" hosted 0
	down
}

unload() {
	up
	victim compute
	refused "in use" rmmod tacet
	alive "$rounds_file"
	kill -9 $victim
	until_true "nothing is hosted" hosted 0
	until_true "nothing holds the module" unused
	rmmod tacet || fail "the module does not go with a partition up: $(tail -1 .stderr)"
	[ "$(cat $cpus/online)" = 0-3 ] || fail "online: $(cat $cpus/online)"
	[ ! -e /sys/kernel/tacet ] && [ ! -e /dev/tacet ] || fail "something of the module stays"
	up
	down
}

unused() {
	[ "$(cat /sys/module/tacet/refcnt)" = 0 ]
}

# The machine powers off while programs run; the runner checks that it does.
power_off() {
	running_programs
	busybox poweroff -f
	sleep 60
}

restart() {
	running_programs
	busybox reboot -f
	sleep 60
}

running_programs() {
	up
	victim threads --cpus 2
	victim compute --cpus 3
}

scenario "$@"
