# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# settings.sh: like ablation.sh, for noise that Linux's settings cause: steered packets, pages that Linux joins, watches
# or swaps, polled machine checks, pauses of real-time threads. Also daemons in cgroups. Called by the runner.

. "$F/lib.sh"
. "$F/counted.sh"

groups=/sys/fs/cgroup

slices() { # a daemon in a cgroup of its own
	mkdir $groups/noise || fail "no cgroup"
	on slices
	rounds=$(in_the_group)
	off
	none "a daemon in a cgroup" "$rounds"
	some "a daemon in a cgroup" "$(in_the_group)"
	rmdir $groups/noise
}

in_the_group() { # how often the daemon found itself on the application's CPUs
	bash -c "echo \$\$ >$groups/noise/cgroup.procs && exec $F/source busy 8 40" | awk '$1 >= 2 { sum += $2 } END { print sum + 0 }'
}

packets() { # steered to an application's CPU by software
	local steered=/sys/class/net/lo/queues/rx-0/rps_cpus
	ip link set lo up
	echo 8 >$steered || fail "packets cannot be steered"
	vanishes net/netif_receive_skb 'dev=lo' "a steered packet" network send_packets
	echo 0 >$steered
}

send_packets() {
	local packet
	for packet in $(seq 10); do
		echo "$packet" >/dev/udp/127.0.0.1/9
	done
}

# A kernel daemon that its countermeasure stops: with it, no CPU sees the daemon, wherever it is bound.
stops() { # EVENT PATTERN WHAT COUNTERMEASURE COMMAND...
	local event=$1 pattern=$2 what=$3 countermeasure=$4
	shift 4
	at_last "$event" "$pattern" "$what" "$@"
	on "$countermeasure"
	"$@" # first do the work that was already due
	struck_while "$event" "$pattern" "$@"
	off
	none "$what" "$struck"
	at_last "$event" "$pattern" "$what again" "$@"
}

joining() { # khugepaged, bound to the application's CPU
	local thread=$(pgrep -x khugepaged) scan=/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs
	local usual=$(cat $scan) offerer
	[ "$thread" ] || fail "there is no khugepaged"
	$F/source join 1024 >ready &
	offerer=$!
	until_true "pages are offered" [ -s ready ]
	taskset -cp 3 "$thread" >/dev/null || fail "khugepaged cannot be bound"
	echo 50 >$scan
	stops sched/sched_switch 'next_comm=khugepaged' "khugepaged" huge-page-daemon sleep 1
	echo "$usual" >$scan
	taskset -cp 0-3 "$thread" >/dev/null
	kill $offerer
	wait $offerer
}

compacting() { # ahead of need, by a thread bound to the application's CPU
	local thread=$(pgrep -x kcompactd0) proactiveness=/proc/sys/vm/compaction_proactiveness usual
	if ! newer_than 7.0; then
		note "before Linux 7.0 nothing here makes it compact ahead of need: not counted"
		return
	fi
	[ "$thread" ] || fail "there is no kcompactd"
	usual=$(cat $proactiveness)
	taskset -cp 3 "$thread" >/dev/null || fail "kcompactd cannot be bound"
	echo 100 >$proactiveness
	stops compaction/mm_compaction_begin 'kcompactd' "compaction" compaction in_pieces
	echo "$usual" >$proactiveness
	taskset -cp 0-3 "$thread" >/dev/null
}

in_pieces() { # fragments free memory, for as long as the thread needs to check it twice
	python3 - <<-'END'
		import mmap, time
		memory = mmap.mmap(-1, 400 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
		memory.madvise(mmap.MADV_NOHUGEPAGE)
		for at in range(0, len(memory), 4096):
		    memory[at] = 1
		for at in range(0, len(memory), 8192):
		    memory.madvise(mmap.MADV_DONTNEED, at, 4096)
		time.sleep(1.5)
	END
}

watching() { # NUMA balancing: the kernel unmaps pages to see which CPU touches them
	local toucher usual=$(cat /proc/sys/kernel/numa_balancing)
	echo 1 >/proc/sys/kernel/numa_balancing || fail "no balancing between memory nodes"
	taskset -c 3 $F/source touch 1024 >ready &
	toucher=$!
	until_true "pages are touched" [ -s ready ]
	stops exceptions/page_fault_user 'source-.*page_fault_user' "a page fault of the kernel's making" numa-balancing sleep 4
	kill $toucher
	wait $toucher
	echo "$usual" >/proc/sys/kernel/numa_balancing
}

swapping() { # an application touches its memory after its group has had to give up some
	local group=$groups/noise holder
	modprobe brd rd_nr=1 rd_size=131072 || fail "no memory to swap to"
	mkswap -q /dev/ram0 && swapon /dev/ram0 || fail "no swap"
	echo +memory >$groups/cgroup.subtree_control && mkdir $group || fail "no cgroup"
	mkfifo touch touched
	bash -c "echo \$\$ >$group/cgroup.procs && exec taskset -c 3 $F/source hold 10240" <touch >touched &
	holder=$!
	exec 8>touch 9<touched
	read -r _ <&9 || fail "it does not hold its memory"
	on swap
	swapped_in
	off
	none "a page from swap" "$swapped"
	swapped_in
	some "a page from swap" "$swapped"
	exec 8>&- 9<&-
	wait $holder || fail "it held its memory, and ended with $?"
	rm touch touched
	rmdir $group
	echo -memory >$groups/cgroup.subtree_control
	swapoff /dev/ram0 && modprobe -r brd || fail "swap stays"
}

swapped_in() { # sets $swapped: how many pages come from swap while the application touches its memory
	local before
	echo 30M 2>/dev/null >$group/memory.reclaim # has no effect if nothing may be swapped
	before=$(sed -n 's/^pswpin //p' /proc/vmstat)
	echo >&8
	read -r _ <&9
	swapped=$(($(sed -n 's/^pswpin //p' /proc/vmstat) - before))
}

polling() { # machine-check banks
	local interval=/sys/devices/system/machinecheck/machinecheck0/check_interval usual
	if [ ! -e $interval ]; then
		note "this node has no machine-check banks: not counted"
		return
	fi
	usual=$(cat $interval)
	echo 1 >$interval
	stops timer/timer_expire_entry 'function=mce_timer_fn' "a poll of machine-check banks" machine-check sleep 3
	echo "$usual" >$interval
}

pauses() { # the timer by which older kernels pause real-time threads
	if newer_than 6.12; then
		note "from Linux 6.12 on no timer pauses real-time threads: not counted"
		return
	fi
	at_last timer/hrtimer_expire_entry 'function=sched_rt_period_timer' "the pause of real-time threads" in_real_time
	on real-time-throttling
	sleep 2 # the timer of an earlier pause may still come once
	struck_while timer/hrtimer_expire_entry 'function=sched_rt_period_timer' in_real_time
	off
	none "the pause of real-time threads" "$struck"
}

in_real_time() { # a thread that never sleeps, for a while
	local thread
	taskset -c 3 chrt --fifo 1 $F/source spin &
	thread=$!
	sleep 2
	kill -9 $thread
	wait $thread
}

serving() { # ordinary threads beside a real-time thread that never sleeps: by the deadline server
	local starved turns
	if ! newer_than 7.0; then
		note "before Linux 7.0 the deadline server is left alone: not counted"
		return
	fi
	mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
	taskset -c 3 $F/source spin &
	starved=$!
	until_true "it computes" computes $starved
	on deadline-server
	beside_real_time $starved
	off
	none "an ordinary thread beside a real-time one" "$turns"
	beside_real_time $starved
	some "an ordinary thread beside a real-time one" "$turns"
	kill $starved
	wait $starved
}

beside_real_time() { # PID: sets $turns: how often it got the CPU of a thread that never sleeps
	local thread before
	taskset -c 3 chrt --fifo 1 $F/source spin &
	thread=$!
	until_true "it computes in real time" computes $thread
	before=$(switches "$1")
	sleep 4
	turns=$(($(switches "$1") - before))
	kill -9 $thread
	wait $thread
}

switches() { # PID: how often the CPU was taken from it
	sed -n 's/^nonvoluntary_ctxt_switches:\s*//p' "/proc/$1/status"
}

vanish() {
	local what
	counted=
	for what in slices packets joining compacting swapping watching polling pauses serving; do
		$what
	done
	small_again
	note "without countermeasures:$counted"
}

scenario "$@"
