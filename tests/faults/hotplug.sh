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
	for i in $(seq "$(often 3 30)"); do
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
	failing
	kill -9 $(jobs -p)
	until_true "nothing is hosted" hosted 0
	down
	broadcasts || fail "Linux broadcasts by shorthand no more: this test sees nothing"
}

# Operations that fail: the first and a late step of either direction, and the scheduler's own refusal.
failing() {
	local step i
	silent_after "the beginning"
	for step in sched:active workqueue:online workqueue:prepare; do
		[ $step = workqueue:prepare ] && echo 0 >$cpus/cpu2/online
		fails_at $step
		[ "$(cat $cpus/cpu2/online)" = 1 ] && (echo 0 >$cpus/cpu2/online) 2>/dev/null && fail "CPU 2 went offline: $step"
		[ "$(cat $cpus/cpu2/online)" = 0 ] && (echo 1 >$cpus/cpu2/online) 2>/dev/null && fail "CPU 2 came online: $step"
		silent_after "a failure at $step"
	done
	echo -1 >$cpus/cpu2/hotplug/fail
	echo 1 >$cpus/cpu2/online || fail "CPU 2 does not come online after failures"
	silent_after "the successful onlining"
	for i in 1 2 3; do
		chrt -d -T 80000000 -D 100000000 -P 100000000 0 sleep 1000 &
	done
	until_true "three tasks have deadlines" deadlines 3
	(echo 0 >$cpus/cpu2/online) 2>/dev/null && fail "CPU 2 went offline in spite of tasks with deadlines"
	silent_after "the scheduler's refusal"
}

fails_at() { # STEP, by its name: the next operation of CPU 2
	local number
	number=$(sed -n "s/^ *\([0-9]*\): $1\$/\1/p" $cpus/hotplug/states)
	[ -n "$number" ] || fail "no step $1"
	echo "$number" >$cpus/cpu2/hotplug/fail || fail "step $1, number $number, cannot fail"
}

deadlines() { # NUMBER
	local pid count=0
	for pid in $(pidof sleep); do
		chrt -p "$pid" | grep -q SCHED_DEADLINE && count=$((count + 1))
	done
	[ $count = "$1" ]
}

silent_after() { # WHAT: Linux does not use the shorthand, and has all CPUs again
	broadcasts && fail "Linux broadcasts to cores after $1"
	until_true "all CPUs are present after $1" all_present
	broadcasts && fail "Linux broadcasts to cores a while after $1"
	return 0
}

# Does Linux send interrupts for all CPUs by the shorthand, which reaches cores? Its own switch says so, a static key.
broadcasts() {
	local answer
	answer=$(python3 -c "import struct
at = next(int(line.split()[0], 16) for line in open('/proc/kallsyms') if line.split()[2] == 'apic_use_ipi_shorthand')
core = open('/proc/kcore', 'rb', buffering=0)
header = core.read(64)
first, count = struct.unpack_from('<Q', header, 32)[0], struct.unpack_from('<H', header, 56)[0]
core.seek(first)
for entry in struct.iter_unpack('<IIQQQQQQ', core.read(56 * count)):
    if entry[0] == 1 and entry[3] <= at < entry[3] + entry[5]:
        core.seek(entry[2] + at - entry[3])
        print(struct.unpack('<i', core.read(4))[0])
        break") || fail "the switch of the shorthand is not readable"
	[ "$answer" != 0 ]
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

# The kernel panics while programs run; the runner looks at the cores.
panic() {
	running_programs
	trap - EXIT
	(
		sleep 1
		echo c >/proc/sysrq-trigger
	) >/dev/null 2>&1 &
}

running_programs() {
	up
	victim threads --cpus 2
	victim compute --cpus 3
}

scenario "$@"
