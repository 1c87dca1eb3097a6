# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# objects.sh: the objects of a node that countermeasures change, found without the tool's help, and how to compare
# them. tune.sh and beside.sh source it, after lib.sh.

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
