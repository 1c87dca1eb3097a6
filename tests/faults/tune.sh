# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# tune.sh: countermeasures on a real kernel: applied, verified, disturbed, killed halfway, undone. Called by the runner
# with the name of a function.

. "$F/lib.sh"
. "$F/objects.sh"

# A signal at any moment of apply: nothing is left, and it says so; or it is applied. An undo goes to its end.
interrupted() {
	local signal pause status
	objects >before
	for signal in INT TERM HUP; do
		for pause in 0.1 0.3 0.6 1 2 4; do
			env --default-signal "$T-tune" apply --cpus 2-3 >said 2>&1 &
			sleep $pause
			kill -$signal $! 2>/dev/null
			wait $!
			status=$?
			case $status in
			4) grep -q "interrupted by SIG$signal: what it had changed is given back" said || fail "it said $(cat said)" ;;
			0 | 1)
				env --default-signal "$T-tune" undo >said 2>&1 &
				sleep 0.1
				kill -$signal $! 2>/dev/null
				wait $! || { # before it began to watch
					tune undo
				}
				;;
			129 | 130 | 143) ;;
			*) fail "$signal after $pause s: status $status: $(cat said)" ;;
			esac
			"$T-tune" status | grep -q "nothing is applied" || fail "$signal after $pause s, status $status: $("$T-tune" status | head -3)"
			same "$signal after $pause s"
		done
	done
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
