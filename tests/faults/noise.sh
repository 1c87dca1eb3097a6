# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# noise.sh: tests the noise laboratory's trace with noise made on purpose.
# Called by the runner with the name of a function.

. "$F/lib.sh"

cpu=3 # the measured one

trace() { # [ARGUMENTS]: starts a trace in the background and waits until its thread measures. Its findings go to found.json
	$T-noise trace --cpus $cpu --method fwq --quantum 1ms --trust-clock "$@" --json --force -o found.parquet >found.json 2>found.err &
	tracer=$!
	until_true "it measures" measuring
	sleep 2 # from the name to the first quantum
}

measuring() { # does the thread measure? Or has the trace already ended with status 0? Noise may come before we look
	grep -qx measuring /proc/$tracer/task/*/comm 2>/dev/null && return
	[ ! -d /proc/$tracer ] && traced
}

traced() { # waits for the trace, which must end by itself with status 0
	wait $tracer || fail "trace: $(cat found.err)"
}

traced_enough() { # ends the trace after the noise has happened: on a slow machine its duration is unknown
	kill -INT $tracer
	traced
}

finds() { # PYTHON: an expression with count(kind, name, origin), which sums the matching sources
	local answer
	answer=$(python3 - "$1" <<-'END' 2>&1
		import json, sys
		found = json.load(open("found.json"))["thieves"]
		def sources(kind, name, origin=""):
		    return [s for s in found["sources"] if s["kind"] == kind and name in s["name"] and origin in (s["origin"] or "")]
		def count(*what):
		    return sum(s["count"] for s in sources(*what))
		def explained(*what):
		    return sum(s["explained_ns"] for s in sources(*what))
		if not eval(sys.argv[1]):
		    print([(s["kind"], s["name"], s["origin"], s["count"]) for s in found["sources"]], found["events_lost"])
	END
	)
	[ -z "$answer" ] || fail "not $1: $answer"
}

thief() { # a thief on the measured CPU, in a unit of its own
	mkdir -p /sys/fs/cgroup/thief.service
	mkfifo orders reports
	$F/thief $cpu <orders >reports &
	thief=$!
	exec 7>orders 8<reports
	echo $thief >/sys/fs/cgroup/thief.service/cgroup.procs || fail "no unit for the thief"
}

steal() { # BYTE TIMES
	local times=$2 done
	while [ $times -gt 0 ]; do
		printf %s "$1" >&7
		read -r -N 1 done <&8
		times=$((times - 1))
	done
}

no_thief() {
	exec 7>&- 8<&-
	wait $thief
	rmdir /sys/fs/cgroup/thief.service
}

# A daemon with its unit, the process that woke it, and a short-lived thread.
daemon() {
	thief
	trace --duration 600s
	steal w 40
	steal m 10
	traced_enough
	no_thief
	finds 'found["events_lost"] == 0'
	finds 'count("task", "thief", "thief.service") >= 40 + 10'
	finds 'count("migration", "thief came") == 10'
	finds 'count("kernel_thread", "migration") >= 10'
	finds '0 < count("ipi", "reschedule", "pipe_write") <= 50'
	finds 'explained("task", "thief", "thief.service") >= 40 * 300e3 * 0.9'
	finds 'sources("task", "thief")[0]["longest_ns"] >= 300e3'
}

# The count must be exactly how often the thief came to the CPU, which is how often it had left the CPU. If the thief
# gets the next order while it still reports the last one, it does both in one visit.
exactly() {
	local before after
	thief
	trace --duration 600s
	before=$(switches)
	steal w 50
	traced_enough
	after=$(switches)
	no_thief
	[ $((after - before)) -ge 25 ] || fail "the thief came only $((after - before)) times"
	finds "count('task', 'thief', 'thief.service') == $((after - before))"
}

switches() { # how often the thief has left a CPU; when the measured thread runs, the thief has left
	awk '/ctxt_switches/ { sum += $2 } END { print sum }' /proc/$thief/status
}

# A kernel worker, by the function that it executes: Linux runs one on each CPU for each write.
kworker() {
	local times=25
	trace --duration 600s
	for _ in $(seq $times); do echo 1 >/proc/sys/vm/stat_refresh; done
	traced_enough
	finds "count('kworker', 'refresh_vm_stats', 'bound worker') == $times"
}

# A device's interrupt, as often as in the kernel's own table.
interrupt() {
	local before after number
	exec 6>/dev/ttyS0
	number=$(sed -n 's/^ *\([0-9]*\):.*ttyS0.*/\1/p' /proc/interrupts)
	[ -n "$number" ] || fail "ttyS0 has no interrupt"
	echo $cpu >/proc/irq/$number/smp_affinity_list || fail "the interrupt cannot be steered"
	trace --duration 600s
	before=$(interrupts $number)
	for _ in $(seq 10); do
		echo . >&6
		sleep 0.1
	done
	after=$(interrupts $number)
	traced_enough
	exec 6>&-
	[ $((after - before)) -gt 0 ] || fail "the device interrupted no CPU"
	finds "count('interrupt', 'ttyS0 (irq $number)') == $((after - before))"
}

interrupts() { # NUMBER: its count so far on the measured CPU
	awk -v line="$1:" -v column=$((cpu + 2)) '$1 == line { print $column }' /proc/interrupts
}

# The tick, by its function, at most as often as the CPU's timer interrupted.
tick() {
	local before after
	before=$(awk -v column=$((cpu + 2)) '$1 == "LOC:" { print $column }' /proc/interrupts)
	trace --duration "$(full 4 10)s"
	traced
	after=$(awk -v column=$((cpu + 2)) '$1 == "LOC:" { print $column }' /proc/interrupts)
	finds "0 < count('timer', 'tick_') <= $((after - before))"
	finds "0 < count('timer', 'local timer interrupt') <= $((after - before))"
	finds 'all("nohz_full" in s["remedy"] for s in sources("timer", "tick_"))'
}

# The first long noise ends the trace, which reports it with the events around it.
until_noise() {
	local tries
	thief
	# if the host delays the node for as long, that ends the trace too: then try once more
	for tries in $(seq 12); do
		trace --duration 600s --until 400ms
		steal l 1
		traced
		! (finds 'count("task", "thief")') >/dev/null || break
	done
	no_thief
	finds 'found["stopped"]["noise_ns"] >= 400e6 and found["stopped"]["cpu"] == 3'
	finds 'any(e["name"] == "thief" and e["length_ns"] >= 400e6 for e in found["stopped"]["events"])'
}

# Refusals are one line; a killed tracer leaves nothing in the kernel.
refusals() {
	local programs
	refused "needs root" setpriv --reuid=1000 --clear-groups $T-noise trace --trust-clock --duration 1s -o /tmp/none.parquet
	[ -z "$(ls /tmp | grep none.parquet)" ] || fail "a record of nothing"
	refused "--until: only fixed work" $T-noise trace --trust-clock --method ftq --until 1ms --duration 1s
	programs=$(attached)
	trace --duration 600s
	[ "$(attached)" -gt "$programs" ] || fail "nothing was attached"
	kill -9 $tracer
	wait $tracer
	until_true "the kernel took the programs away" no_more_than "$programs"
}

attached() { # the number of loaded tracing programs
	grep -l '^prog_type:.26$' /proc/[0-9]*/fdinfo/* 2>/dev/null | wc -l
}

no_more_than() {
	[ "$(attached)" -le "$1" ]
}

# A quota of the program's own cgroup stops it: the record says so, with the kernel's count.
quota() {
	local group=/sys/fs/cgroup/quota counted
	echo +cpu >/sys/fs/cgroup/cgroup.subtree_control && mkdir $group || fail "no cgroup"
	echo '50000 100000' >$group/cpu.max
	bash -c "echo \$\$ >$group/cgroup.procs; exec $T-noise measure --cpus 3 --quantum 1ms --duration 10s --trust-clock --force -o quota.parquet" >/dev/null 2>quota.err ||
		fail "measure: $(cat quota.err)"
	counted=$(sed -n 's/^nr_throttled //p' $group/cpu.stat)
	rmdir $group
	[ "$counted" -gt 10 ] || fail "the quota stopped it only $counted times"
	$T-noise analyse quota.parquet --json >quota.json
	told=$(grep -o 'quota of cgroup /quota (cpu.max 50000 100000) stopped its programs [0-9]* times' quota.json | grep -o '[0-9]* times' | head -1 | cut -d' ' -f1)
	[ "$told" ] || fail "the quota is not named: $(grep -A3 warnings quota.json)"
	# The kernel counts also while the program starts and writes its record. In an emulated node that takes as long as the
	# host likes: the record has a part of the kernel's count, and how large a part is no property of ours.
	[ "$told" -gt 10 ] && [ "$told" -le "$counted" ] || fail "the kernel counted $counted stops, the record $told"
}

# The measured CPU goes offline: its samples end there, the others' go on, and the record says so.
departs() {
	$T-noise measure --cpus 1-3 --quantum 1ms --duration "$(full 12 20)s" --trust-clock --force -o departs.parquet >/dev/null 2>departs.err &
	tracer=$!
	until_true "it measures" measuring
	sleep 3
	echo 0 >$cpus/cpu3/online || fail "CPU 3 stays"
	wait $tracer
	status=$?
	echo 1 >$cpus/cpu3/online
	if [ $status != 0 ]; then
		[ "$(wc -l <departs.err)" = 1 ] || fail "it ended with $status and said: $(cat departs.err)"
		return
	fi
	$T-noise analyse departs.parquet --json >departs.json
	python3 - <<-'END' >wrong || fail "$(cat wrong)"
		import json
		record = json.load(open("departs.json"))[0]
		samples = {cpu["cpu"]: cpu["samples"] for cpu in record["per_cpu"]}
		if samples.get(3, 0) >= min(samples[1], samples[2]):
		    print(f"samples of each CPU: {samples}")
		if not any("3" in warning for warning in record["warnings"]):
		    print(f"no warning names CPU 3: {record['warnings']}")
	END
	[ ! -s wrong ] || fail "$(cat wrong)"
}

# The cpuset shrinks: the thread of the CPU that left stops, its samples end there, the others' go on.
shrinks() {
	local group=/sys/fs/cgroup/shrinks thread=
	echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control && mkdir $group && echo 1-3 >$group/cpuset.cpus || fail "no cgroup"
	bash -c "echo \$\$ >$group/cgroup.procs; exec $T-noise measure --cpus 1-3 --quantum 1ms --duration 600s --trust-clock --force -o shrinks.parquet" >/dev/null 2>shrinks.err &
	tracer=$!
	until_true "it measures" measuring
	sleep 3
	for thread in /proc/$tracer/task/*; do
		[ "$(cat $thread/comm)" = measuring ] && grep -q '^Cpus_allowed_list:.3$' $thread/status && break
	done
	echo 1-2 >$group/cpuset.cpus || fail "CPU 3 stays"
	until_true "its thread stops" grep -q '^State:.S' $thread/status
	sleep 3
	grep -q '^State:.S' $thread/status || fail "it measures again"
	kill -INT $tracer
	wait $tracer || fail "measure ended with $?: $(cat shrinks.err)"
	rmdir $group
	$T-noise analyse shrinks.parquet --json >shrinks.json
	python3 - <<-'END' >wrong || fail "$(cat wrong)"
		import json
		record = json.load(open("shrinks.json"))[0]
		samples = {cpu["cpu"]: cpu["samples"] for cpu in record["per_cpu"]}
		if samples.get(3, 0) >= min(samples[1], samples[2]):
		    print(f"samples of each CPU: {samples}")
		if not any("cpu 3 went offline, or left the cpuset" in warning for warning in record["warnings"]):
		    print(f"no warning names CPU 3: {record['warnings']}")
	END
	[ ! -s wrong ] || fail "$(cat wrong)"
}

one_by_one() { # FUNCTION...
	local what
	for what; do
		rm -f orders reports
		$what
	done
}

unit() { # NAME COMMAND...: runs the command in a unit of its own, on CPU 0
	mkdir -p "/sys/fs/cgroup/$1" || fail "no unit $1"
	bash -c "echo \$\$ >/sys/fs/cgroup/$1/cgroup.procs && exec taskset -c 0 \"\$@\"" "$@" || fail "$*"
}

# A CPU without a tick: the trace has each timer interrupt of the kernel's table. If the deadline server has a timer there,
# its remedy works.
deadline() {
	local first before after last seconds
	seconds=$(full 4 10)
	[ "$(cat /sys/devices/system/cpu/nohz_full)" = 3 ] || fail "the node was not booted with nohz_full=3"
	taskset -cp 0-3 $$ >/dev/null # isolcpus takes CPU 3 from every shell
	first=$(interrupts LOC)
	trace --duration 600s
	before=$(interrupts LOC)
	sleep $seconds
	after=$(interrupts LOC)
	traced_enough
	last=$(interrupts LOC)
	note "timer interrupts of CPU 3: $((after - before)) in $seconds s"
	# the measurement begins and ends between two readings of the table
	finds "$((after - before - 2)) <= count('timer', 'local timer interrupt') <= $((last - first + 2))"
	case $(uname -r) in
	6.*) ;; # there is none, or the runner has switched it off at boot: it cannot be done safely later
	*)
		finds 'all("deadline-server" in s["remedy"] for s in sources("timer", "dl_"))'
		mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
		tune apply --cpus 3 --only deadline-server
		trace --duration 600s
		sleep $seconds
		traced_enough
		tune undo
		finds 'not sources("timer", "dl_")'
		;;
	esac
}

# A program on another CPU makes huge pages of its memory, and another one asks each CPU for its statistics. Each work item
# on the measured CPU that this causes has their unit as its origin.
collapser() {
	local before after
	unit collapser.service true # the trace knows the units that exist when it begins
	trace --duration 600s
	before=$(interrupts CAL)
	unit collapser.service python3 - <<-'END'
		import mmap
		memory = mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
		for _ in range(3):
		    memory[:] = bytes(16 << 20)
		    memory.madvise(25)  # MADV_COLLAPSE
		    memory.madvise(mmap.MADV_DONTNEED)
	END
	unit collapser.service bash -c 'echo 1 >/proc/sys/vm/stat_refresh' # a work item on each CPU
	after=$(interrupts CAL)
	traced_enough
	note "function calls on CPU 3: $((after - before))"
	finds "count('ipi', 'function call') >= $((after - before - 2))"
	finds 'count("kworker", "refresh_vm_stats", "(collapser.service)") == 1'
	finds 'all("collapser.service" in s["origin"] for s in sources("kworker", "lru_add_drain_per_cpu"))'
	rmdir /sys/fs/cgroup/collapser.service
}

# An agent that visits the CPU and reads its registers: both are named, with the agent's unit.
agent() {
	local before after
	modprobe msr 2>/dev/null
	[ -e /dev/cpu/$cpu/msr ] || fail "this node has no /dev/cpu/$cpu/msr"
	unit agent.service true
	trace --duration 600s
	before=$(interrupts CAL)
	unit agent.service bash -c "for _ in \$(seq 20); do taskset -c $cpu true; done"
	unit agent.service python3 - <<-END
		import os
		registers = os.open("/dev/cpu/$cpu/msr", os.O_RDONLY)
		for _ in range(20):
		    os.pread(registers, 8, 0x10)
	END
	after=$(interrupts CAL)
	traced_enough
	finds 'count("task", "", "agent.service") >= 20'
	finds 'count("task", "true", "agent.service") + count("task", "taskset", "agent.service") >= 20'
	finds '18 <= count("ipi", "function call", "(agent.service): rdmsr") <= 20'
	finds "count('ipi', 'function call') >= $((after - before - 2))"
	rmdir /sys/fs/cgroup/agent.service
}

# Tests whose events differ between kernels, and tests whose events do not.
named() { one_by_one daemon exactly kworker; }
more_named() { one_by_one interrupt tick until_noise refusals; }
stopped() { one_by_one quota departs shrinks; }
elsewhere() { one_by_one collapser agent; }

scenario "$@"
