# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# oom.sh: hosted programs that Linux kills for lack of memory. Called by the
# runner with the name of a function.

. "$F/lib.sh"

# More memory than the control group may have.
group() {
	local group=cgroup/hungry
	mkdir cgroup
	mount -t cgroup2 none cgroup || fail "no control groups"
	echo +memory >cgroup/cgroup.subtree_control || fail "no memory controller"
	mkdir -p $group
	echo 32M >$group/memory.max
	echo 0 >$group/memory.swap.max 2>/dev/null
	up --cpus 1-3	# a core for each thread: behind one that computes each fault takes a turn
	victim compute
	for i in $(seq "$(often 5 30)"); do
		bash -c "echo \$\$ >$group/cgroup.procs && exec $T run --memory linux -- $F/hog" &
		ended $! 137
	done
	grep -q 'oom_kill [1-9]' $group/memory.events || fail "it was not for its memory: $(cat $group/memory.events)"
	alive "$rounds_file"
	kill -9 $victim
	until_true "nothing is hosted" hosted 0
	down
	rmdir $group || fail "a process stays in the group"
	umount cgroup
}

# More memory than the node has.
node() {
	up
	bash -c "echo 1000 >/proc/self/oom_score_adj; exec $T run --memory linux -- $F/hog" &
	ended $! 137
	dmesg | grep -q 'Out of memory: Killed process' || fail "it was not for its memory"
	until_true "nothing is hosted" hosted 0
	down
}

scenario "$@"
