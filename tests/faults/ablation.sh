# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# ablation.sh: makes, for each countermeasure, the noise that it is to stop. With the countermeasure none of that noise
# may reach the application's CPUs; without it, some must. Uses the kernel's own tables and events, never times. Called
# by the runner with the name of a function. Needs a node whose CPUs run in turn, because the kernel changes its code.
#
# Noise that the kernel's settings cause is in settings.sh. Not tested, because an emulated node has no such source: the
# NMI watchdog and hardware counters (no performance counters), frequency, idle states, cache allocation, the
# clocksource watchdog.

. "$F/lib.sh"
. "$F/counted.sh"

# --- the sources

daemon() { # a daemon that counts the CPUs on which it finds itself
	local rounds
	on partition
	rounds=$($F/source busy 8 40 | awk '$1 >= 2 { sum += $2 } END { print sum + 0 }')
	off
	none "a busy daemon" "$rounds"
	some "a busy daemon" "$($F/source busy 8 40 | awk '$1 >= 2 { sum += $2 } END { print sum + 0 }')"
}

device() { # ttyS0, whose interrupt is steered to the application
	local number before others
	exec 6>/dev/ttyS0
	number=$(sed -n 's/^ *\([0-9]*\):.*ttyS0.*/\1/p' /proc/interrupts)
	[ -n "$number" ] || fail "ttyS0 has no interrupt"
	affinity=$(cat /proc/irq/$number/smp_affinity_list)
	echo 3 >/proc/irq/$number/smp_affinity_list || fail "the interrupt cannot be steered"
	on interrupts
	print_lines # an interrupt of the I/O APIC moves only after its next delivery, which still goes to the old CPU
	before=$(table /proc/interrupts $number $application)
	others=$(table /proc/interrupts $number $system)
	print_lines
	none "a device's interrupt" $(($(table /proc/interrupts $number $application) - before))
	[ "$(table /proc/interrupts $number $system)" -gt "$others" ] || fail "the device interrupted no CPU"
	off
	print_lines
	before=$(table /proc/interrupts $number $application)
	print_lines
	some "a device's interrupt" $(($(table /proc/interrupts $number $application) - before))
	exec 6>&-
	echo "$affinity" >/proc/irq/$number/smp_affinity_list
}

print_lines() {
	local line
	for line in $(seq 10); do
		echo . >&6
		sleep 0.1
	done
}

# The kernel looks for a module by an unbound worker, which starts modprobe.
ask_for_modules() {
	local cpu
	for cpu in 0 1 2 3; do
		taskset -c $cpu $F/source modules 5 || fail "a protocol that does not exist"
	done
}

workers() {
	vanishes workqueue/workqueue_execute_start 'function call_usermodehelper_exec_work' "an unbound worker" workqueues ask_for_modules
}

sampler() {
	local cpu taken
	on counters
	for cpu in $application; do
		taken=$($F/source sample $cpu 20)
		[ "$taken" = refused ] || fail "with its countermeasure a sampler took $taken samples"
	done
	off
	some "a sampler's timer" "$($F/source sample 3 20)"
}

grace_periods() { # RCU's thread, bound to the application's CPU
	local thread=$(pgrep -x rcu_preempt || pgrep -x rcu_sched) before
	before=$(taskset -cp $thread | sed 's/.*: //')
	taskset -cp 3 $thread >/dev/null || fail "RCU's thread cannot be bound"
	vanishes sched/sched_switch 'next_comm=rcu_[ps]' "RCU's thread" rcu $F/source grace 20
	taskset -cp $before $thread >/dev/null
}

hurry() { # an expedited grace period interrupts all CPUs that compute
	if [ ! -e /sys/kernel/tracing/events/csd ]; then
		note "this kernel has no event for function calls between CPUs: expedited grace periods were not counted"
		return
	fi
	compute_on_application
	on rcu
	struck_while csd/csd_function_entry 'func=rcu_exp_handler' network_devices
	none "an expedited grace period" $struck
	off
	struck_while csd/csd_function_entry 'func=rcu_exp_handler' network_devices
	some "an expedited grace period" $struck
	compute_no_more
	rmmod dummy
}

network_devices() {
	local number
	for number in $(seq 5); do
		ip link add noise type dummy || fail "no network device"
		ip link del noise
	done
}

merging() { # ksmd, bound to the application's CPU
	local thread=$(pgrep -x ksmd) merger
	$F/source merge 64 >ready &
	merger=$!
	until_true "pages are offered" [ -s ready ]
	taskset -cp 3 $thread >/dev/null || fail "ksmd cannot be bound"
	echo 1 >/sys/kernel/mm/ksm/run
	# it must not run at all when stopped; bound elsewhere, it must still run
	on same-page-merging
	sleep 0.1
	struck_while sched/sched_switch 'next_comm=ksmd' sleep 2
	none "ksmd" "$struck"
	off
	vanishes sched/sched_switch 'next_comm=ksmd' "ksmd" kernel-threads sleep 1
	echo 2 >/sys/kernel/mm/ksm/run
	echo 0 >/sys/kernel/mm/ksm/run
	taskset -cp 0-3 $thread >/dev/null
	kill $merger
	wait $merger
}

watchdog() { # each CPU's timer that looks for soft lockups, every 4 s by default
	local ours
	ours=$(cat /proc/sys/kernel/watchdog_thresh)
	echo 10 >/proc/sys/kernel/watchdog_thresh
	vanishes timer/hrtimer_expire_entry 'function=watchdog_timer_fn' "the watchdog's timer" watchdogs sleep 9
	echo "$ours" >/proc/sys/kernel/watchdog_thresh
}

# The workers of a disk. The disk has one queue for all CPUs and takes one request at a time, so a worker submits the
# next request. Which CPUs a queue's workers may use is fixed when the queue is created.
queues() {
	if ! newer_than 6.9; then
		note "before Linux 6.10 nothing keeps a disk's workers from the application: not counted"
		return
	fi
	on partition
	add_disk
	struck_while workqueue/workqueue_execute_start 'function blk_mq_run_work_fn' read_disk
	rmmod null_blk
	off
	none "a disk's worker" "$struck"
	[ "$elsewhere" -gt 0 ] || fail "the disk had no worker at all"
	add_disk
	at_last workqueue/workqueue_execute_start 'function blk_mq_run_work_fn' "a disk's worker" read_disk
	rmmod null_blk
}

add_disk() {
	modprobe null_blk nr_devices=1 submit_queues=1 queue_mode=2 irqmode=2 completion_nsec=1000000 hw_queue_depth=1 ||
		fail "null_blk"
	echo mq-deadline >/sys/block/nullb0/queue/scheduler || fail "the disk has no scheduler"
}

read_disk() {
	local reader readers=
	for reader in 1 2 3 4; do
		taskset -c 0-1 dd if=/dev/nullb0 of=/dev/null bs=4k count=25 iflag=direct status=none &
		readers="$readers $!"
	done
	for reader in $readers; do
		wait $reader || fail "the disk cannot be read"
	done
}

write_back() {
	modprobe brd rd_nr=1 rd_size=4096 || fail "brd"
	vanishes workqueue/workqueue_execute_start 'function wb_workfn' "writeback" writeback dirty_a_disk
	rmmod brd
}

dirty_a_disk() {
	local cpu
	for cpu in 0 1 2 3; do
		# a process that closes a disk writes its dirty pages itself
		taskset -c $cpu sh -c 'exec 7>/dev/ram0; head -c 64k /dev/zero >&7; sync' || fail "a disk in memory"
	done
}

# TLB flushes of a neighbour, which has threads on all CPUs that it may use. The application computes, so that its CPUs
# do not idle with the neighbour's address space loaded, because then they would get its flushes.
flushes() {
	local before others
	on partition
	compute_on_application "$T-tune" run --
	before=$(table /proc/interrupts TLB $application)
	others=$(table /proc/interrupts TLB $system)
	$F/source unmap 8 200
	none "a neighbour's flush" $(($(table /proc/interrupts TLB $application) - before))
	[ "$(table /proc/interrupts TLB $system)" -gt "$others" ] || fail "the neighbour caused no flush"
	compute_no_more
	off
	compute_on_application
	before=$(table /proc/interrupts TLB $application)
	$F/source unmap 8 200
	some "a neighbour's flush" $(($(table /proc/interrupts TLB $application) - before))
	compute_no_more
}

# A CPU's memory statistics, added to the node's. This comes last: the kernel reads the interval only when the old one
# is over, so an undo takes effect only then.
statistics() {
	at_last workqueue/workqueue_execute_start 'function vmstat_update' "a fold of statistics" use_memory
	on vmstat
	use_memory	# the last ones that were due
	struck_while workqueue/workqueue_execute_start 'function vmstat_update' use_memory
	off
	none "a fold of statistics" "$struck"
}

use_memory() { # on the application's CPU; a CPU that sleeps would skip the work
	taskset -c 3 timeout 3 bash -c 'while :; do head -c 4M /dev/zero >/dev/shm/noise; done'
	rm -f /dev/shm/noise
}

vanish() {
	local what
	counted=
	for what in daemon device workers sampler grace_periods hurry merging watchdog queues write_back flushes statistics; do
		$what
	done
	small_again
	note "without countermeasures:$counted"
}

# The tick. Its countermeasure is a boot parameter, which this node has for the application's CPUs.
tick() {
	local spinner tries valid=
	[ "$(cat /sys/devices/system/cpu/nohz_full)" = 2-3 ] || fail "the node was not booted with nohz_full=2-3"
	taskset -c 1 $F/source spin &
	spinner=$!
	compute_on_application
	# earlier work may cause a timer interrupt or two, so one window without them is enough; a window does not count
	# if the host stopped the emulator meanwhile
	for tries in $(seq 20); do
		struck_while timer/hrtimer_expire_entry 'function=tick_' sleep 2
		[ "$elsewhere" -gt 100 ] || continue
		valid=$struck
		[ "$struck" != 0 ] || break
	done
	[ "$valid" ] || fail "the other CPUs had $elsewhere ticks"
	compute_no_more
	kill $spinner
	wait $spinner
	small_again
	none "the tick" "$valid"
	note "ticks in 2 s on CPUs 0 and 1: $elsewhere; window $tries"
}

scenario "$@"
