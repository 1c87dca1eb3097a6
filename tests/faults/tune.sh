# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# tune.sh: countermeasures on a real kernel: applied, verified, disturbed, killed halfway, undone. Called by the runner
# with the name of a function.

. "$F/lib.sh"

groups=/sys/fs/cgroup

# Prints every object of the node that a countermeasure changes, found without the tool's help.
objects() {
	local file pid
	for file in /proc/sys/kernel/{nmi_watchdog,watchdog_cpumask,timer_migration,numa_balancing,sched_rt_runtime_us} \
		/proc/sys/kernel/perf_{event_max_sample_rate,cpu_time_max_percent} \
		/proc/sys/vm/{stat_interval,swappiness,compaction_proactiveness,compact_unevictable_allowed} \
		/proc/irq/default_smp_affinity /proc/irq/*/smp_affinity_list \
		/sys/devices/virtual/workqueue/cpumask /sys/devices/virtual/workqueue/*/cpumask /sys/block/*/queue/rq_affinity \
		$groups/cgroup.subtree_control /sys/kernel/rcu_normal /sys/kernel/mm/ksm/run \
		/sys/devices/system/machinecheck/*/check_interval /sys/kernel/debug/sched/fair_server/*/runtime \
		/sys/kernel/mm/transparent_hugepage/khugepaged/{defrag,scan_sleep_millisecs} \
		/sys/kernel/mm/hugepages/*/nr_overcommit_hugepages /sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us \
		/sys/devices/system/cpu/cpu*/online; do
		[ ! -e "$file" ] || echo "$file $(cat "$file" 2>&1)"
	done
	find $groups -type d
	# not the rescuers of workqueues (rcu_gp): nobody may bind them, and Linux 6.1 lets them run anywhere after a
	# partition
	for pid in $(pgrep -x 'kthreadd|kcompactd.*|khugepaged|rcu_preempt|rcu_tasks.*|ksmd|systemd'); do
		echo "$(cat /proc/$pid/comm) $(grep Cpus_allowed_list /proc/$pid/status)"
	done
	ls -A /var/lib/tacet/tune 2>/dev/null | grep -v lock
}

same() { # WHEN: the objects must be as at the beginning
	objects >after
	diff before after >difference || fail "$1: $(head -4 difference | tr '\n' ';')"
}

drifted() { # WORDS: verify must fail, with WORDS in its output
	local said
	said=$("$T-tune" verify 2>&1) && fail "verify did not see: $*"
	case $said in *"$*"*) ;; *) fail "verify does not say '$*': $said" ;; esac
}

all=counters,samplers,deadline-server,real-time-throttling,idle-states,huge-pages=8,memory,memory-reserve=64,cache,bandwidth,slices
claim() { # all countermeasures that this kernel supports
	echo --cpus 2-3 --with $all
}

# shellcheck disable=SC2046  # these are words
everything() {
	objects >before
	setpriv --reuid=65534 --regid=65534 --clear-groups "$T-tune" plan $(claim) >said 2>&1 || fail "a plan without root: $(tail -1 said)"
	grep -q '^CPUs 2-3 for the application' said || fail "a plan without root: $(head -3 said)"
	tune plan $(claim)
	same "a plan"
	tune apply $(claim)
	[ "$(cat $groups/tacet/cpuset.cpus.partition)" = isolated ] || fail "no partition: $(cat said)"
	[ "$(cat /proc/irq/default_smp_affinity)" = 3 ] || fail "interrupts to come go to $(cat /proc/irq/default_smp_affinity)"
	[ "$(cat /sys/devices/virtual/workqueue/cpumask)" = 3 ] || fail "workers run on $(cat /sys/devices/virtual/workqueue/cpumask)"
	[ "$(taskset -cp $$ | sed 's/.*: //')" = 0,1 ] || fail "this shell may run on $(taskset -cp $$)"
	[ "$("$T-tune" run -- bash -c 'taskset -cp $$' | sed "s/.*: //")" = 2,3 ] || fail "a program does not get the CPUs"
	[ "$(cat $groups/tacet/memory.low)" = 67108864 ] || fail "of memory is kept: $(cat $groups/tacet/memory.low)"
	charged
	tune verify
	objects >applied
	tune apply $(claim)
	! grep -q '^changed' said || fail "a second apply: $(cat said)"
	objects >twice
	cmp -s applied twice || fail "a second apply changed: $(diff applied twice | head -4)"
	echo 1 >/proc/sys/vm/stat_interval
	drifted " /proc/sys/vm/stat_interval"
	echo member >$groups/tacet/cpuset.cpus.partition
	drifted " /sys/fs/cgroup/tacet/cpuset.cpus.partition"
	tune apply $(claim)
	tune verify
	disturbed
	plugged
	tune undo
	! grep -q '^NOT' said || fail "undo: $(cat said)"
	same "undo"
}

charged() { # a huge page must be charged to the cgroup of its program
	local book=$groups/tacet/hugetlb.2MB
	[ "$(cat $book.max)" = $((8 << 21)) ] || fail "of huge pages may be had: $(cat $book.max)"
	# MAP_PRIVATE, MAP_ANONYMOUS, MAP_HUGETLB
	"$T-tune" run -- python3 - >booked <<-END || fail "no huge page"
		import mmap
		page = mmap.mmap(-1, 2 << 20, flags=0x40022)
		page[0] = 1
		print(open("$book.current").read().strip())
	END
	[ "$(cat booked)" = $((1 << 21)) ] || fail "of a huge page was booked: $(cat booked)"
}

# Disturbs one object of each countermeasure that is in force; a second apply repairs all.
disturbed() {
	"$T-tune" --json status >status.json
	python3 $F/disturb.py status.json >touched || fail "nothing can be disturbed"
	[ "$(wc -l <touched)" -ge 12 ] || fail "no more could be disturbed than $(cat touched)"
	"$T-tune" --json verify >verdict.json && fail "verify did not see $(cat touched)"
	python3 $F/disturb.py status.json verdict.json touched | grep . >unnamed && fail "verify does not name $(cat unnamed)"
	tune apply $(claim)
	tune verify
	note "disturbed and put right: $(cut -d' ' -f1 touched | tr '\n' ' ')"
}

plugged() { # a disk that is plugged in and removed
	local affinity=/sys/block/nullb0/queue/rq_affinity
	modprobe null_blk nr_devices=1 queue_mode=2 || fail "null_blk"
	drifted " $affinity"
	grep -q . <<<"$("$T-tune" verify | grep '^NEW')" || fail "a disk that was plugged in is not new"
	tune apply $(claim)
	[ "$(cat $affinity)" = 0 ] || fail "a disk that was plugged in has $(cat $affinity)"
	rmmod null_blk
	drifted "GONE"
}

# An apply is killed at the entry of each system call that changes something; an undo too.
calls=write,mkdir,rmdir,unlink,rename,fsync,sched_setaffinity

killed_at() { # CALL WORDS: was it killed there?
	local call=$1
	shift
	strace -qq -o /dev/null -e trace=$calls -e inject=$calls:signal=KILL:when="$call" "$T-tune" "$@" >/dev/null 2>&1
	[ $? = 137 ]
}

# shellcheck disable=SC2046  # these are words
stepped() {
	local call last stride
	objects >before
	strace -qq -o made -e trace=$calls "$T-tune" apply $(claim) >/dev/null || fail "apply"
	tune undo
	same "undo"
	# each kind of call is counted separately
	last=$(sed 's/(.*//' made | sort | uniq -c | sort -n | awk 'END { print $1 }')
	[ "$last" -gt 50 ] || fail "an apply makes $last calls of a kind"
	stride=$(full 80 9)
	for call in $(seq $((1 + RANDOM % stride)) "$stride" "$last"); do
		killed_at "$call" apply $(claim) || fail "it was not killed at call $call"
		killed_at "$call" undo
		tune undo
		same "killed at call $call of $last"
	done
}

# On a node with two threads a core and memory on each socket.
shaped() {
	objects >before
	tune apply --cpus 4-7 --with memory,siblings
	[ "$(cat $cpus/online)" = 0-4,6 ] || fail "online are $(cat $cpus/online)"
	said=$("$T-tune" run -- grep -E '^(Mem|Cpu)s_allowed_list' /proc/self/status | cut -f2 | tr '\n' ' ')
	[ "$said" = "4,6 1 " ] || fail "a program gets CPUs and memory $said"
	tune verify
	echo 0-1 >$groups/tacet/cpuset.mems
	drifted "$groups/tacet/cpuset.mems"
	echo 1 >$cpus/cpu5/online
	drifted "$cpus/cpu5/online"
	tune apply --cpus 4-7 --with memory,siblings
	tune verify
	tune undo
	! grep -q '^NOT' said || fail "undo: $(cat said)"
	# at a partition's end, the kernel gives a NUMA node's thread all CPUs
	sed -i /^kcompactd/d before
	objects | sed /^kcompactd/d >after
	diff before after >difference || fail "undo: $(head -4 difference | tr '\n' ';')"
}

# shellcheck disable=SC2046,SC2086  # these are words
killed() {
	local round tuner
	objects >before
	for round in $(seq $(full 4 40)); do
		"$T-tune" apply $(claim) >/dev/null 2>&1 &
		tuner=$!
		sleep $((RANDOM % 4)).$((RANDOM % 10))
		kill -9 $tuner 2>/dev/null
		wait $tuner
		if [ $((round % 2)) = 0 ]; then
			"$T-tune" undo >/dev/null 2>&1 &
			tuner=$!
			sleep 0.$((RANDOM % 10))
			kill -9 $tuner 2>/dev/null
			wait $tuner
		fi
		tune undo
		same "round $round"
	done
}

# Prints systemd's state on disk, in memory and in cgroups.
kept() {
	objects
	find /run/systemd/system.control 2>/dev/null
	systemctl show -p Id -p AllowedCPUs -p NeedDaemonReload init.scope system.slice user.slice
	for file in $groups/{init.scope,system.slice,user.slice}/cpuset.cpus; do
		[ ! -e $file ] || echo "$file $(cat $file)"
	done
}

# shellcheck disable=SC2046  # these are words
systemd() {
	systemctl is-system-running --wait >running
	note "systemd says: $(cat running)"
	cp /bin/sleep collectd
	systemd-run --quiet --unit=sampler "$PWD/collectd" 10000 || fail "no sampler"
	until_true "it samples" pgrep -x collectd >/dev/null
	kept >before
	tune plan --cpus 2-3
	grep -q 'collectd ([0-9]*) samples, as sampler.service' said || fail "no sampler is named: $(cat said)"
	tune apply $(claim)
	[ "$(cat $groups/system.slice/sampler.service/cgroup.freeze)" = 1 ] || fail "the sampler samples"
	[ "$(cat $groups/system.slice/cpuset.cpus.effective)" = 0-1 ] || fail "system.slice has $(cat $groups/system.slice/cpuset.cpus.effective)"
	systemd-run --quiet --unit=later sleep 1000 || fail "no service can be started"
	pid=$(systemctl show -p MainPID --value later)
	[ "$(taskset -cp $pid | sed 's/.*: //')" = 0,1 ] || fail "a daemon started later may run on $(taskset -cp $pid)"
	tune verify
	systemctl daemon-reload
	systemctl restart later || fail "no restart"
	# a new kernel thread (psimon), which systemd causes, may appear
	"$T-tune" verify >said
	! grep -q '^DRIFTED\|^GONE' said || fail "after a reload: $(cat said)"
	systemctl set-property --runtime system.slice AllowedCPUs=0-3
	drifted "AllowedCPUs of system.slice"
	tune apply $(claim)
	systemctl stop later
	exported
	tune undo
	[ "$(cat $groups/system.slice/sampler.service/cgroup.freeze)" = 0 ] || fail "the sampler stays frozen"
	! grep -q '^NOT' said || fail "undo: $(cat said)"
	kept >after
	diff before after >difference || fail "undo: $(head -6 difference | tr '\n' ';')"
	systemctl stop sampler
}

# systemd accepts the exported files, and they repair what drifted.
exported() {
	local file
	"$T-tune" export systemd --cpus 2-3 --only vmstat,rcu --output alone >files || fail "no export"
	grep -q 'slice\|scope' files && fail "the plan binds no unit, the export does: $(cat files)"
	"$T-tune" export systemd --cpus 2-3 --with slices --output /etc >files || fail "no export"
	[ "$(grep -c '\(init.scope\|system.slice\|user.slice\).d/90-tacet.conf' files)" = 3 ] || fail "exported are $(cat files)"
	echo 1 >/proc/sys/vm/stat_interval
	echo 0 >/sys/kernel/rcu_normal
	/usr/lib/systemd/systemd-sysctl /etc/sysctl.d/90-tacet.conf || fail "systemd-sysctl"
	systemd-tmpfiles --create /etc/tmpfiles.d/90-tacet.conf || fail "systemd-tmpfiles"
	[ "$(cat /proc/sys/vm/stat_interval /sys/kernel/rcu_normal | tr '\n' ' ')" = "3600 1 " ] || fail "what was exported is not in force"
	systemctl daemon-reload
	systemctl show -p DropInPaths system.slice | grep -q /etc/systemd/system/system.slice.d/90-tacet.conf || fail "systemd took no drop-in"
	while read -r file; do rm "$file"; done <files
	rmdir /etc/systemd/system/{init.scope,system.slice,user.slice}.d
	[ ! -e /etc/systemd/system/machine.slice.d ] || rmdir /etc/systemd/system/machine.slice.d
	systemctl daemon-reload
}

# Programs with affinities of their own, devices whose interrupts have not moved, threads that nobody binds, huge pages.
others() {
	local bound=() pid
	for pid in 1 1-3 0-3; do
		taskset -c $pid sleep 1000 &
		bound+=($!)
	done
	python3 -c 'import os, time
while True: os.sched_setaffinity(0, os.sched_getaffinity(0)); time.sleep(0.1)' &
	bound+=($!)
	until_true "it binds itself" test "$(allowed $!)" = 0-3
	tune apply --cpus 2-3
	tune verify
	moved_or_named said
	until_true "it binds itself to the rest" test "$(allowed ${bound[3]})" = 0-1
	spread
	"$T-tune" undo >said
	[ $? = 1 ] || fail "undo gave everything back: $(cat said)"
	grep -q "affinity of python3 (${bound[3]}) *0-1, was 0-3: it set again what it saw" said || {
		[ "$(old)" ] || fail "undo does not name the program that bound itself: $(grep -A5 NOT said)"
	}
	for pid in 0 1 2; do
		[ "$(allowed ${bound[pid]})" = "$(echo 1 1-3 0-3 | cut -d' ' -f$((pid + 1)))" ] ||
			grep -q "affinity of sleep (${bound[pid]})" said || fail "program $pid may run on $(allowed ${bound[pid]}), and undo does not say so"
	done
	[ "$(old)" ] || [ "$(grep -c 'taskset -cp' said)" = 1 ] || fail "undo names others: $(grep 'taskset -cp' said)"
	kill "${bound[@]}"
	wait "${bound[@]}"
	balanced
	limited
}

old() { # a kernel that forgets affinities
	case $(uname -r) in 6.1.*) echo old ;; esac
}

allowed() { # PID
	sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$1/status
}

moved_or_named() { # VERIFY'S OUTPUT: has every interrupt left CPUs 2 and 3, or is it named?
	local directory number
	"$T-tune" --json verify >verdict.json
	for directory in /proc/irq/[0-9]*; do
		number=${directory##*/}
		case $(cat $directory/effective_affinity_list 2>/dev/null) in
		2 | 3 | 2-3) grep -q "\"/proc/irq/$number/smp_affinity_list\"" verdict.json || fail "interrupt $number comes to $(cat $directory/effective_affinity_list), and verify does not name it" ;;
		esac
	done
}

spread() { # the user is told that nobody spreads threads
	"$T-tune" run -- true 2>told
	grep -q 'nothing balances CPUs 2-3' told || fail "tune run does not say that threads stay: $(cat told)"
	OMP_PROC_BIND=true "$T-tune" run -- true 2>told
	[ ! -s told ] || fail "tune run says of a program that binds its threads: $(cat told)"
}

balanced() { # two threads that nobody binds use two CPUs
	local pid pids=()
	tune apply --cpus 2-3 --with balance
	[ "$(cat $groups/tacet/cpuset.cpus.partition)" = root ] || fail "the partition is $(cat $groups/tacet/cpuset.cpus.partition)"
	"$T-tune" run -- bash -c 'for i in 1 2; do while :; do :; done & done; echo $(jobs -p) >spinning; wait' 2>told &
	until_true "they compute" grep -q ' ' spinning
	[ ! -s told ] || fail "tune run says of a balanced partition: $(cat told)"
	read -ra pids <spinning
	until_true "they use two CPUs" apart "${pids[@]}"
	for pid in "${pids[@]}"; do kill -9 $pid; done
	wait $!
	tune verify
	tune undo
}

apart() { # PID PID: are they on two CPUs of the partition?
	local first second
	first=$(awk '{ print $39 }' /proc/$1/stat) second=$(awk '{ print $39 }' /proc/$2/stat)
	[ "$((first + second))" = 5 ] && [ "$first" != "$second" ]
}

limited() { # huge pages beyond the job's number are refused by mmap, whatever others may have
	tune job begin rich --cpus 1 --with huge-pages=32
	tune job begin poor --cpus 2 --with huge-pages=8
	for number in 8 24; do
		"$T-tune" run --job poor -- python3 - $number >mapped 2>&1 <<-'END'
			import mmap, sys
			size = int(sys.argv[1]) << 21
			try:
			    pages = mmap.mmap(-1, size, flags=0x40022)
			except OSError as error:
			    sys.exit(f"errno {error.errno}")
			for at in range(0, size, 1 << 21):
			    pages[at] = 1
			print("ok")
		END
		echo "$number: $(tail -1 mapped)" >>given
	done
	[ "$(cat given)" = "8: ok
24: errno 12" ] || fail "a job with 8 huge pages: $(cat given)"
	tune job end poor
	tune job end rich
}

# More CPUs are possible than there are, so masks have words; a disk's interrupts are managed.
possible() {
	objects >before
	[ "$(tr -cd , </proc/irq/default_smp_affinity)" ] || fail "a mask of one word: $(cat /proc/irq/default_smp_affinity)"
	"$T-tune" apply --cpus 2-3 >said || fail "apply: $(cat said)"
	tune verify
	grep -q 'boot with isolcpus=managed_irq,2-3' said || fail "managed interrupts are not named with their remedy: $(cat said)"
	moved_or_named
	"$T-tune" --json plan --cpus 2-3 >plan.json
	python3 - <<-'END' >open || fail "plan"
		import json
		refused = {json.dumps(o, sort_keys=True) for o in json.load(open("verdict.json"))["refused"] for o in [o.get("path")]}
		for part in json.load(open("plan.json"))["parts"]:
		    for step in part["changes"]:
		        if not step["in_force"] and json.dumps(step.get("path"), sort_keys=True) not in refused:
		            print(part["measure"], step)
	END
	[ ! -s open ] || fail "after apply, plan proposes: $(head -3 open)"
	returned
	tune undo
	! grep -q '^NOT' said || fail "undo: $(cat said)"
	objects >after
	# Linux 6.1 drops CPUs that are absent from an affinity, whoever sets it
	sed -i 's/\(Cpus_allowed_list:[[:space:]]*\)0-39$/\10-3/' before after
	diff before after >difference || fail "undo: $(head -4 difference | tr '\n' ';')"
}

returned() { # a disk's driver asks for its interrupts again
	local device
	device=$(readlink -f /sys/class/nvme/nvme0/device) || fail "no NVMe disk"
	echo 1 >$device/remove
	echo 1 >/sys/bus/pci/rescan
	until_true "the disk is back" test -e /sys/block/nvme0n1/queue/rq_affinity
	moved_or_named
	tune apply --cpus 2-3
	tune verify
	moved_or_named
}

# A service manager that reloads, and others who set CPU lists meanwhile.
reloaded() {
	systemctl is-system-running --wait >running
	systemd-run -q --unit=box -p Delegate=yes -p AllowedCPUs=1-3 sleep 1000 || fail "no box"
	lists >before
	tune apply --cpus 2-3
	systemctl daemon-reload
	systemctl set-property --runtime box AllowedCPUs=
	systemd-run -q --unit=late sleep 1000 || fail "no service"
	"$T-tune" --json verify >verdict.json
	for unit in box late; do
		pid=$(systemctl show -p MainPID --value $unit)
		case $(allowed $pid) in *[23]*) grep -q "$unit" verdict.json || fail "$unit may run on $(allowed $pid), and verify does not say so" ;; esac
	done
	tune undo
	! grep -q '^NOT' said || fail "undo: $(cat said)"
	systemctl stop late
	lists | grep -v /box.service/ >after
	grep -v /box.service/ before | diff - after >difference || fail "undo: $(head -4 difference | tr '\n' ';')"
	systemctl stop box
}

lists() { # every list of CPUs that a group has
	grep -r . $groups --include=cpuset.cpus --include=cpuset.cpus.partition 2>/dev/null | sort
}

# Two jobs that end in either order; invalid names; a job that begins twice.
two_jobs() {
	local first
	objects >before
	for first in a b; do
		tune job begin a --cpus 1
		tune job begin b --cpus 3
		[ "$(cat $groups/tacet-job-b/cpuset.cpus.partition)" = isolated ] || fail "no partition for b"
		[ "$(cat /proc/irq/default_smp_affinity)" = 5 ] || fail "beside both: $(cat /proc/irq/default_smp_affinity)"
		refused "already job a's" "$T-tune" job begin c --cpus 0-1
		tune job begin a --cpus 1
		tune job end $first
		tune verify
		[ ! -e $groups/tacet-job-$first ] || fail "$first's group stays"
		tune job end a
		tune job end b
		tune job end b
		same "after $first and the other"
	done
	for word in ../x 'a b' '' '$(id)' a/b; do
		refused "" "$T-tune" job begin "$word" --cpus 1
	done
	sleep 1000 &
	tune job begin pid --cpus 2 --pid $!
	[ "$(sed 's/.*:://' /proc/$!/cgroup)" = /tacet-job-pid ] || fail "the process is in $(cat /proc/$!/cgroup)"
	tune job end pid
	kill $!
	wait $!
	same "a process that was left"
}

# A complete ablation of three countermeasures; then one that a signal ends, and one that is killed.
ablation() {
	local signal ablation
	chosen="--cpus 2-3 --only partition,vmstat,rcu --quantum 1ms --trust-clock --no-trace"
	objects >before
	"$T-tune" --json ablate $chosen --rounds 2 --duration 300ms --picture picture.svg >table.json 2>said || fail "$(tail -1 said)"
	same "an ablation"
	grep -q '</svg>' picture.svg || fail "no picture"
	python3 - <<-'END' 2>wrong || fail "the table: $(head -c 500 table.json) $(tail -2 wrong) $(grep complaint table.json)"
		import json
		table = json.load(open("table.json"))
		assert sorted(row["measure"] for row in table["rows"]) == ["all of them", "partition", "rcu", "vmstat"]
		assert all(len(row["readings"]) == 2 and row["complaint"] is None for row in table["rows"])
		assert len(table["baseline"]["readings"]) == 2 * 4 + 1 and table["application"] == "2-3"
		assert all(r["max_noise_ns"] > 0 and r["noise_rate"] > 0 for row in table["rows"] for r in row["readings"])
		assert table["untraced"]
	END
	for signal in TERM KILL; do
		"$T-tune" ablate $chosen --rounds 100 >/dev/null 2>said &
		ablation=$!
		until_true "the first measurement" grep -q 'round 1' said
		sleep $((RANDOM % 4)).$((RANDOM % 10))
		kill -$signal $ablation
		wait $ablation
		[ $signal = KILL ] || grep -q 'it was interrupted' said || fail "after $signal: $(tail -1 said)"
		[ $signal = TERM ] || tune undo
		same "$signal"
	done
	tune apply --cpus 2-3 --only vmstat
	refused "is applied already" "$T-tune" ablate $chosen
	tune undo
}

scenario "$@"
